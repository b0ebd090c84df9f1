"""Analyzes captures and compares each dataset with the truth beside the capture.

python -m scripts.score_all SCORE.py CAPTURES_DIRECTORY... [NAME...]      (without names: all that have a truth)

Fails if a capture cannot be analyzed, if the sections core and requests of healthy_basic, leader_move or txn are not
good enough, if a healthy capture has a finding at warning or above, or if a byte ledger does not add up. The other rows
are printed for people to read. For captures of old clusters every row counts, except those that the capture or its
truth cannot show (EXCUSED). One process makes the stories of all captures, with one Spark session for their findings:
to start one for each capture, or to give Spark the story job too, would take most of the time.
"""

import io
import json
import runpy
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.compute as pc
import pyarrow.dataset as ds
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_spark.session import open_session

STRICT = ("healthy_basic", "leader_move", "txn")
DECIDES = ("core", "requests", "findings")
"""Sections that can fail a capture; the others are for people."""
OLD = "zk28-"
"""Captures of a cluster with ZooKeeper, for which every row counts."""
OPEN = ("diagnosis",)
"""Sections about things that the stories do not have yet: printed for people, also for old clusters."""
HEALTHY = "nothing at warning or above in a healthy capture"
_LOGGED = "each request the brokers logged, API, version, correlation id"
_READY = "ready time against the client's own log"
_END = "it ends when service was back"
_CODES = "error code as the broker logged it"
EXCUSED: dict[str, dict[str, str]] = {
    "txn": {_CODES: "the log has no partitionErrorCode; the responses to AddPartitionsToTxn have it (packet 690: 51)"},
    "zk28-healthy_old": {
        _LOGGED: "the recorder lost 106 packets",
        _READY: "consumers of 0.10.2 and 1.0 log their first record 164 to 255 ms after the wire has it",
        "each client's group_coordinator connection found": "a client keeps its offsets in ZooKeeper (OffsetCommit 0), "
        "and so at no coordinator; the truth counts it",
    },
    "zk28-coordinator_move": {
        _END: "without the clients' lines about records the truth does not know that a group stalled until 36.1 s: "
        "kafkajs met NOT_COORDINATOR (packet 19370) and fetched the next record in packet 22449",
    },
    "zk28-rolling_restart": {
        _END: "without the clients' lines about records the truth does not know that a group stalled until 36.8 s: "
        "kafkajs got NOT_COORDINATOR until packet 31169, and its first commit is accepted in packet 31269",
    },
    "zk28-rebalance": {
        _READY: "clients log their first record up to 116 ms after the wire has it (offset 0 of partition 3 is in "
        "packet 506)",
        "no unrecovered episode before the first fault": "static members are refused, and give up",
        "expected ones are there": "static members are refused, so that there is no conflict of two",
    },
    "zk28-txn_coordinator_move": {
        _LOGGED: "the recorder lost 3,986 packets",
        "start time against the kernel's connect": "a process has two client objects, and the truth one start",
    },
}
"""Capture -> row -> why the capture or its truth cannot show it."""
Row = dict[str, Any]


def files_of(captures: Path, name: str) -> list[Path]:
    """The capture of that name; or the parts of one that is rotated."""
    return sorted(captures.glob(f"{name}.pcap*")) or sorted(captures.glob(f"{name}-part*.pcap*"))


def name_of(truth: Path) -> str:
    """The name of the capture with this file of its truth."""
    return truth.name.removesuffix(".truth.json")


def rows_of(score: Path, dataset: Path, truth: Path) -> list[Row]:
    """The rows of all sections. SCORE.py runs in this process: what it imports is imported once for all captures."""
    told = io.StringIO()
    with (
        patch.object(sys, "argv", [str(score), str(dataset), str(truth), "--json"]),
        patch.object(sys, "path", [str(score.parent), *sys.path]),
        redirect_stdout(told),
        suppress(SystemExit),  # its code says whether all rows hold, and each row says it too
    ):
        runpy.run_path(str(score), run_name="__main__")
    rows: list[Row] = json.loads(told.getvalue())
    return rows


def as_text(row: Row) -> str:
    """A row as SCORE.py prints it, with what is wrong below."""
    told = f"{'ok   ' if row['ok'] else 'SHORT'} {row['section']:12} {row['name']:62} {row['figure']}  ({row['must']})"
    return "\n".join([told, *(f"                     {one}" for one in row["wrong"] if not row["ok"])])


def with_old_versions(name: str, rows: list[Row], dataset: Path) -> list[Row]:
    """The rows; a healthy capture of an old cluster may find its old clients, and nothing else."""
    if not name.startswith(OLD):
        return rows
    loud = pc.field("severity").isin(["warning", "error"])
    rules = ds.dataset(dataset / "stories" / "findings").to_table(columns=["rule"], filter=loud)["rule"].to_pylist()
    return [row | {"ok": set(rules) <= {"old_versions"}} if row["name"] == HEALTHY else row for row in rows]


def faults(name: str, rows: list[Row]) -> Iterator[str]:
    """What must hold and does not."""
    excused = EXCUSED.get(name, {})
    rows = [row for row in rows if row["name"] not in excused]
    if name.startswith(OLD):
        yield from (f"{row['section']}: {row['name']}" for row in rows if not row["ok"] and row["section"] not in OPEN)
        return
    held = {section: all(row["ok"] for row in rows if row["section"] == section) for section in DECIDES}
    if name in STRICT and not (held["core"] and held["requests"]):
        yield "core and requests must hold"
    if not any(row["ok"] and row["section"] in ("core", "requests") and "ledger" in row["name"] for row in rows):
        yield "the byte ledger must add up"
    if not held["findings"]:
        yield "the findings must be those that the scenario shows, and none where all is well"


def judged(score: Path, truth: Path) -> tuple[list[str], list[str]]:
    """Lines to print about a capture, and what must hold and does not. truth: its file, beside the capture."""
    captures, name = truth.parent, name_of(truth)
    with tempfile.TemporaryDirectory() as work:
        dataset = Path(work) / f"{name}.kscope"
        try:
            ingest(files_of(captures, name), dataset)
            write_stories_in_process(dataset, open_session())
        except (CaptureError, UsageError) as error:
            return [], [f"analyze: {error}"]
        rows = with_old_versions(name, rows_of(score, dataset, truth), dataset)
    decides = [as_text(row) for row in rows if row["section"] in DECIDES]
    others = [as_text(row) for row in rows if row["section"] not in DECIDES]
    return decides + [f"   {line}" for row in others for line in row.splitlines()], list(faults(name, rows))


def main() -> int:
    score, *asked = sys.argv[1:]
    folders, names = (
        [Path(one) for one in asked if Path(one).is_dir()],
        {one for one in asked if not Path(one).is_dir()},
    )
    truths = [truth for folder in folders for truth in sorted(folder.glob("*.truth.json"))]
    truths = [truth for truth in truths if name_of(truth) in (names or {name_of(truth)})]
    missing = names.difference(map(name_of, truths))
    if missing:
        print(f"no such directory or capture: {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    truths = [truth for truth in truths if files_of(truth.parent, name_of(truth))]
    failed = 0
    for truth in truths:
        name, (lines, wrong) = name_of(truth), judged(Path(score), truth)
        print("\n".join([f"== {name}", *lines, *(f"FAILED {name}: {what}" for what in wrong)]), flush=True)
        failed += bool(wrong)
    print(f"================ {len(truths) - failed} passed, {failed} failed ================")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
