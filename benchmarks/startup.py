#!/usr/bin/env python3
"""What `arrow_without_pandas` buys: processor time of `kafkascope ingest` of a small capture with it and without it.

python -m benchmarks.startup fixtures/captures/healthy_basic.pcap.zst --runs 9

The runs alternate, so that both meet the same load; prints the median of each and the difference as a share.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import run

WITHOUT = """
import kafkascope_analyzer.cli.startup as startup
startup.arrow_without_pandas = lambda: None
"""
COMMAND = "from kafkascope_analyzer.cli import main; main()"


def main() -> None:
    """Measures, and prints one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    cpu_s: dict[str, list[float]] = {"": [], WITHOUT: []}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.runs + 1):
            for code, times in cpu_s.items():
                out = str(Path(scratch) / "small.kscope")
                ingest = ["ingest", str(options.capture), "-o", out, "--overwrite", "-q", "--jobs", "1"]
                done = run([sys.executable, "-c", code + COMMAND, *ingest], Path(scratch))
                if done.exit_code:
                    raise SystemExit(done.stderr)
                if number:  # the first run may compile kernels
                    times.append(done.cpu_s)
    seconds, without = (statistics.median(times) for times in cpu_s.values())
    print(f"ingest: {seconds:.2f} s of processor time, {without:.2f} s without arrow_without_pandas: ", end="")
    print(f"it saves {1 - seconds / without:.0%}")


if __name__ == "__main__":
    main()
