#!/usr/bin/env python3
"""Analyzes captures and compares each dataset with the truth beside the capture.

score_all.py SCORE.py CAPTURES_DIRECTORY [NAME...]      (without names: all that have a truth)

Fails where a capture cannot be analyzed, where the sections core and requests of healthy_basic, leader_move or txn fall
short, where a healthy capture has a finding at warning or above, or where a byte ledger does not add up. The other rows
are printed for people to read. Two captures are analyzed at a time, by two processes,
each with one Spark session: starting one for each capture takes most of the time.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_spark.stories import write_stories

STRICT = ("healthy_basic", "leader_move", "txn")
PROCESSES = 2
DECIDES = ("core", "requests", "findings")
"""Sections that can fail a capture; people read the others."""
Row = dict[str, Any]


def files_of(captures: Path, name: str) -> list[Path]:
    """The capture of that name; or the parts of one that is rotated."""
    return sorted(captures.glob(f"{name}.pcap*")) or sorted(captures.glob(f"{name}-part*.pcap*"))


def rows_of(score: Path, dataset: Path, truth: Path) -> tuple[list[Row], str]:
    """The rows of all sections; or none, and what SCORE.py said instead."""
    command = [sys.executable, str(score), str(dataset), str(truth), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1 or not done.stdout:
        return [], done.stderr
    return json.loads(done.stdout), ""


def as_text(row: Row) -> str:
    """A row as SCORE.py prints it, with what is wrong below."""
    told = f"{'ok   ' if row['ok'] else 'SHORT'} {row['section']:12} {row['name']:62} {row['figure']}  ({row['must']})"
    return "\n".join([told, *(f"                     {one}" for one in row["wrong"] if not row["ok"])])


def faults(name: str, rows: list[Row]) -> Iterator[str]:
    """What must hold and does not."""
    held = {section: all(row["ok"] for row in rows if row["section"] == section) for section in DECIDES}
    if name in STRICT and not (held["core"] and held["requests"]):
        yield "core and requests must hold"
    if not any(row["ok"] and row["section"] in ("core", "requests") and "ledger" in row["name"] for row in rows):
        yield "the byte ledger must add up"
    if not held["findings"]:
        yield "the findings must be those that the scenario shows, and none where all is well"


def judged(score: Path, captures: Path, name: str) -> tuple[list[str], list[str]]:
    """Lines to print about a capture, and what must hold and does not."""
    truth = captures / f"{name}.truth.json"
    with tempfile.TemporaryDirectory() as work:
        dataset = Path(work) / f"{name}.kscope"
        try:
            ingest(files_of(captures, name), dataset)
            write_stories(dataset)
        except (CaptureError, UsageError) as error:
            return [], [f"analyze: {error}"]
        rows, complaint = rows_of(score, dataset, truth)
    if not rows:
        return [], [f"{score.name}: {complaint}"]
    decides = [as_text(row) for row in rows if row["section"] in DECIDES]
    others = [as_text(row) for row in rows if row["section"] not in DECIDES]
    return decides + [f"   {line}" for row in others for line in row.splitlines()], list(faults(name, rows))


def main() -> int:
    score, captures, *names = sys.argv[1:]
    names = names or [path.name.removesuffix(".truth.json") for path in sorted(Path(captures).glob("*.truth.json"))]
    names = [name for name in names if files_of(Path(captures), name)]
    failed = 0
    # Not forked: a JVM and numba's threads do not survive it.
    with ProcessPoolExecutor(min(PROCESSES, len(names) or 1), mp_context=get_context("spawn")) as pool:
        judge = partial(judged, Path(score), Path(captures))
        for name, (lines, wrong) in zip(names, pool.map(judge, names), strict=True):
            print("\n".join([f"== {name}", *lines, *(f"FAILED {name}: {what}" for what in wrong)]), flush=True)
            failed += bool(wrong)
    print(f"================ {len(names) - failed} passed, {failed} failed ================")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
