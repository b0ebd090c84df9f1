#!/usr/bin/env python3
"""Measures a day of hourly appends against one run over the same captures: processor time of all processes.

python -m benchmarks.day DIR --megabytes 60        makes the captures (any others do as well)
python -m benchmarks.appends DIR OUT               `kafkascope analyze --append` of each hour, and `analyze` of all
python -m benchmarks.appends DIR OUT --stages      `ingest`, `stories` and `report` in turn instead of `analyze`

Prints one JSON object a command, and last the ratio, and by how much an append becomes slower with each hour before it.
OUT: the folder of the two datasets.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from benchmarks.starts import KAFKASCOPE, measured

ANALYZE, STAGES = ("analyze",), ("ingest", "stories", "report")


def seconds_of(commands: tuple[str, ...], captures: list[Path], place: Path, label: dict[str, int]) -> float:
    """Runs the commands over these captures and a dataset, prints what each took, and returns the sum. `ingest` and
    `analyze` append the captures to the dataset. Raises SystemExit if one fails."""
    cpu_s = 0.0
    for command in commands:
        reads = command in ("ingest", "analyze")
        inputs = [*map(str, captures), "-o", str(place), "--append", "--jobs", "1"] if reads else [str(place)]
        took = measured([*KAFKASCOPE, command, *inputs, "-q"])
        print(json.dumps({"command": command} | label | took), flush=True)
        if took["exit_code"]:
            raise SystemExit(1)
        cpu_s += took["cpu_s"]
    return cpu_s


def compare(captures: list[Path], out: Path, commands: tuple[str, ...]) -> dict[str, float]:
    """Appends the captures one after the other to one dataset, and reads all of them into another."""
    out.mkdir(parents=True, exist_ok=True)
    whole = seconds_of(commands, captures, out / "whole.kscope", {"captures": len(captures)})
    grown = out / "grown.kscope"
    each = [seconds_of(commands, [capture], grown, {"append": n}) for n, capture in enumerate(captures, 1)]
    slope = float(np.polyfit(np.arange(len(each)), each, 1)[0]) if len(each) > 1 else 0.0
    return {"whole_s": whole, "appends_s": sum(each), "ratio": sum(each) / whole, "more_each_hour_s": slope}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--stages", action="store_true")
    args = parser.parse_args()
    commands = STAGES if args.stages else ANALYZE
    found = compare(sorted(args.captures.glob("*.pcap")), args.out, commands)
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
