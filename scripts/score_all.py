#!/usr/bin/env python3
"""Analyzes captures and compares each dataset with the truth beside the capture.

score_all.py SCORE.py CAPTURES_DIRECTORY [NAME...]      (without names: all that have a truth)

Fails where a capture cannot be analyzed, where the sections core and requests of healthy_basic, leader_move or txn fall
short, where a healthy capture has a finding at warning or above, or where a byte ledger does not add up. The other rows
are printed for people to read. All stories are made by one Spark session: starting one for each takes most of the time.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_spark.stories import write_stories

STRICT = ("healthy_basic", "leader_move", "txn")
READ_BY_PEOPLE = "roles,topology,clients,startups,recoveries,rebalances,transactions"


def files_of(captures: Path, name: str) -> list[Path]:
    """The capture of that name; or the parts of one that is rotated."""
    return sorted(captures.glob(f"{name}.pcap*")) or sorted(captures.glob(f"{name}-part*.pcap*"))


def rows_of(score: Path, dataset: Path, truth: Path, sections: str) -> tuple[bool, list[str]]:
    """Whether all rows hold, and the rows."""
    command = [sys.executable, str(score), str(dataset), str(truth), "--only", sections]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout.splitlines() + (done.stderr.splitlines() if done.returncode > 1 else [])


def faults(score: Path, captures: Path, name: str, dataset: Path) -> Iterator[str]:
    """What must hold and does not; prints the rows."""
    try:
        ingest(list(files_of(captures, name)), dataset)
        write_stories(dataset)
    except (CaptureError, UsageError) as error:
        yield f"analyze: {error}"
        return
    truth = captures / f"{name}.truth.json"
    held, rows = rows_of(score, dataset, truth, "core,requests")
    print("\n".join(rows))
    if name in STRICT and not held:
        yield "core and requests must hold"
    if not any(row.startswith("ok") and "ledger" in row for row in rows):
        yield "the byte ledger must add up"
    held, rows = rows_of(score, dataset, truth, "findings")
    print("\n".join(rows))
    if not held:
        yield "the findings must be those that the scenario shows, and none where all is well"
    print("\n".join(f"   {row}" for row in rows_of(score, dataset, truth, READ_BY_PEOPLE)[1]), flush=True)


def main() -> int:
    score, captures, *names = sys.argv[1:]
    places = [Path(captures) / f"{name}.truth.json" for name in names] or sorted(Path(captures).glob("*.truth.json"))
    failed = passed = 0
    for truth in places:
        name = truth.name.removesuffix(".truth.json")
        if not files_of(Path(captures), name):
            continue
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as work:
            wrong = list(faults(Path(score), Path(captures), name, Path(work) / f"{name}.kscope"))
        for what in wrong:
            print(f"FAILED {name}: {what}", flush=True)
        failed, passed = failed + bool(wrong), passed + (not wrong)
    print(f"================ {passed} passed, {failed} failed ================")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
