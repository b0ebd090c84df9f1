"""Heartbeats behind a long poll on the same connection (https://github.com/confluentinc/librdkafka/issues/1671)."""

from collections.abc import Callable, Collection
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.groups.held_members import give_held
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.long_polls import HeldRequest, held_requests
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import NS, MakeRow, Row

CAPTURE = Path(__file__).parents[4] / "fixtures" / "reported" / "heartbeats_behind_fetch.pcap.zst"


class Held(Packets):
    """Has these held requests."""

    def __init__(self, *held: HeldRequest) -> None:
        super().__init__()
        self._rows = held

    def held(self, request_ids: Collection[str]) -> list[HeldRequest]:
        return [row for row in self._rows if row.request_id in request_ids]


def incident_of(recovery: Row, client: Row, max_wait_ms: int, held_s: int) -> Row:
    held = HeldRequest("beat", "Heartbeat", 5 * NS, (5 + held_s) * NS, max_wait_ms, 7)
    machine = Incidents(0, packets=Held(held))
    for row in (recovery, client):
        machine.take(row)  # type: ignore[arg-type]
    (row,) = batch_of_rows(IncidentRow, [r for r in machine.finish() if isinstance(r, IncidentRow)]).to_pylist()
    assert isinstance(row, dict)
    return row


@pytest.mark.parametrize(
    ("max_wait_ms", "held_s", "found"), [(300_000, 59, True), (500, 59, False), (300_000, 3, False)]
)
def test_a_member_whose_heartbeats_waited_behind_a_fetch_was_not_silent(
    recovery: MakeRow, client: MakeRow, max_wait_ms: int, held_s: int, found: bool
) -> None:
    group = {"resource_kind": "group", "resource": "g", "first_api_key": 12, "evidence": ("beat",)}
    lost = recovery("UNKNOWN_MEMBER_ID", 21, 1, 60, None, **group)
    row = incident_of(lost, client(21, "librdkafka", session_timeout_ms=30_000), max_wait_ms, held_s)
    assert row["kind"] == "member"
    assert ("behind a Fetch on the same connection" in row["sentence"]) is found
    assert ("Lower fetch.wait.max.ms (librdkafka), now 300000 ms" in advised(row)) is found
    assert ("poll more often" in advised(row)) is not found


def test_the_heartbeats_behind_a_fetch_are_found_in_the_packets(ingested: Callable[..., Path]) -> None:
    """Twice twenty, one every 3 s, from 1 s after each Fetch until it is answered after 60 s."""
    request_ids = pq.read_table(ingested(CAPTURE) / "requests", columns=["request_id"])["request_id"].to_pylist()
    held = held_requests(Dataset.open(ingested(CAPTURE)), set(request_ids))
    assert [row.api_name for row in held] == ["Heartbeat"] * 40
    assert {row.max_wait_ms for row in held} == {300_000}
    assert [round((row.to_ns - row.from_ns) / NS) for row in held] == [*range(59, 0, -3), *range(59, 0, -3)]


@pytest.mark.parametrize(
    ("session_ms", "request_id", "found"),
    [(30_000, "beat", True), (45_000, "beat", True), (60_000, "beat", False), (30_000, "another", False)],
)
def test_a_request_was_held_if_it_outlasted_the_session(
    recovery: MakeRow, client: MakeRow, session_ms: int, request_id: str, found: bool
) -> None:
    """A heartbeat that waited for 45 s behind a Fetch with fetch.wait.max.ms of 300 s."""
    failure = Failure(MEMBER, "group orders-app", 5 * NS, None)
    failure.take_error(recovery("UNKNOWN_MEMBER_ID", 21, 1, 60, None, resource_kind="group", evidence=(request_id,)))
    held = HeldRequest("beat", "Heartbeat", 5 * NS, 50 * NS, 300_000, 7)
    give_held([failure], Held(held), {"ci-21": client(21, session_timeout_ms=session_ms)})
    assert failure.members.held == [held] * found
