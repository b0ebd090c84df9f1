#!/usr/bin/env python3
"""Measures how much `arrow_without_pandas` and `end_process` save: processor time of `kafkascope ingest` of a small
capture, as it is and without each of them.

python -m benchmarks.startup fixtures/captures/healthy_basic.pcap.zst --runs 9

The runs alternate, so that all meet the same load; prints the median of each and the difference as a share.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import run

WITHOUT = {
    "arrow_without_pandas": """
import kafkascope_analyzer.dataset.hidden_pandas as hidden_pandas
hidden_pandas.arrow_without_pandas = lambda: None
""",
    "end_process": """
import sys
import kafkascope_analyzer.cli.startup as startup
startup.end_process = sys.exit
""",
}
"""What takes the place of each function."""
COMMAND = "from kafkascope_analyzer.cli import main; main()"


def main() -> None:
    """Measures, and prints a line for each function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    cpu_s: dict[str, list[float]] = {name: [] for name in ("", *WITHOUT)}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.runs + 1):
            for name, times in cpu_s.items():
                out = str(Path(scratch) / "small.kscope")
                ingest = ["ingest", str(options.capture), "-o", out, "--overwrite", "-q", "--jobs", "1"]
                done = run([sys.executable, "-c", WITHOUT.get(name, "") + COMMAND, *ingest], Path(scratch))
                if done.exit_code:
                    raise SystemExit(done.stderr)
                if number:  # the first run may compile kernels
                    times.append(done.cpu_s)
    seconds = statistics.median(cpu_s[""])
    for name in WITHOUT:
        without = statistics.median(cpu_s[name])
        print(f"ingest: {seconds:.2f} s of processor time, {without:.2f} s without {name}: ", end="")
        print(f"it saves {1 - seconds / without:.0%}")


if __name__ == "__main__":
    main()
