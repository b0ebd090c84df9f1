"""Time to recover against the clients' own logs: from the line that tells the error to the one that tells success."""

import gzip
import json
import pathlib
from typing import Any

import pytest

from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.stall import StallLimits

from .event_rows import event_row

LOGGED = sorted((pathlib.Path(__file__).parents[4] / "fixtures" / "recoveries" / "logged").glob("*.json.gz"))
MS = 1_000_000
LATE_MS = 60
"""A Java client prints its first line of a kind some 50 ms late: its virtual machine loads the classes for it."""


def load(path: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def episodes(recorded: dict[str, Any]) -> list[ClientRecovery]:
    machine = ClientStories(tuple(recorded["capture_ns"]), StallLimits(recorded["capture_ns"][1], 1_000_000_000))
    rows = [*machine.feed(event_row(row) for row in recorded["events"]), *machine.finish()]
    found = [row for row in rows if isinstance(row, ClientRecovery)]
    return [row for row in found if row.first_error_name == recorded["error"]]


def test_three_kinds_of_fault_were_logged() -> None:
    assert {load(path)["error"] for path in LOGGED} == {
        "TOPIC_AUTHORIZATION_FAILED",
        "UNKNOWN_MEMBER_ID",
        "INCONSISTENT_GROUP_PROTOCOL",
    }


@pytest.mark.parametrize("path", LOGGED, ids=[path.name.partition(".")[0] for path in LOGGED])
def test_time_to_recover_is_what_the_client_logged(path: pathlib.Path) -> None:
    recorded = load(path)
    log = recorded["log"]
    (row,) = episodes(recorded)
    assert row.outcome == "recovered"
    assert abs((row.recovered_ns - row.start_ns) - (log["success_ns"] - log["error_ns"])) < 50 * MS
    for rows, logged in ((row.start_ns, log["error_ns"]), (row.recovered_ns, log["success_ns"])):
        assert 0 <= logged - rows < LATE_MS * MS
