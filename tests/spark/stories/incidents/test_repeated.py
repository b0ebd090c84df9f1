"""Places that fail several times in short order, from rows by hand and from a recording."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_spark.stories.incidents.extent.repeated import APART_NS, SHORT_NS, with_repeated
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_silent import BROKER_SILENT
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.servers.table import BrokerState

from .conftest import NS, MakeStall, MakeState
from .test_machine import tell

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
NEAR_NS = NS // 2


def flaps(state: MakeState, *times: tuple[float, float]) -> list[BrokerState]:
    """Node 2 is silent to a host in these times; other nodes serve it."""
    at, rows = 0.0, [state(node, 21, "serving", 0, 90) for node in (1, 3)]
    for begin, end in times:
        rows += [state(2, 21, "serving", at, begin), state(2, 21, "silent", begin, end)]
        at = end
    return [*rows, state(2, 21, "serving", at, 90)]


def test_a_place_that_fails_again_and_again_is_one_incident_whose_harm_counts_once(
    state: MakeState, stall: MakeStall
) -> None:
    times = [(10, 12), (16, 18), (22, 24)]
    stalls = [stall("produce", 21, 2, begin, end + 1, n_records_late=5) for begin, end in times]
    (incident,), kinds = tell(flaps(state, *times), stalls)
    assert set(kinds.values()) == {"broker_silent"}
    assert [(each["start_ns"], each["end_ns"]) for each in incident["stretches"]] == [
        (begin * NS, end * NS) for begin, end in times
    ]
    assert (incident["n_stalls"], incident["n_records_late"], incident["longest_ms"]) == (3, 15, 3000)
    assert (incident["fault_start_ns"], incident["fault_end_ns"], incident["end_ns"]) == (10 * NS, 24 * NS, 25 * NS)
    assert "to 00:24.000, 3 times (2.00 s, 2.00 s, 2.00 s)" in incident["sentence"]


@pytest.mark.parametrize("times", [[(10, 12), (40, 42)], [(10, 12), (16, 26)]])
def test_one_that_fails_again_long_after_or_for_long_has_failed_twice(
    state: MakeState, stall: MakeStall, times: list[tuple[float, float]]
) -> None:
    stalls = [stall("produce", 21, 2, begin, end + 1) for begin, end in times]
    first, second = tell(flaps(state, *times), stalls)[0]
    (alone,), _ = tell(flaps(state, (10, 12)), stalls[:1])
    assert first["stretches"] == second["stretches"] == []
    assert first["incident_id"] == alone["incident_id"]


def test_a_stall_that_lasts_over_several_stretches_is_no_stall_of_an_earlier_incident(
    state: MakeState, stall: MakeStall
) -> None:
    (incident,), _ = tell(flaps(state, (10, 12), (14, 18)), [stall("produce", 21, 2, 10, 19)])
    assert (incident["earlier_stalls"], incident["n_stalls"], incident["end_ns"]) == ([], 1, 19 * NS)


@pytest.mark.spark
def test_a_recorded_link_that_flaps_is_one_incident(dataset_of: Callable[..., Path]) -> None:
    events = json.loads((PIECES / "flapping_link.truth.json").read_text())["events"]
    down, up = ([e["ts_ns"] for e in events if e["kind"] == kind] for kind in ("broker_link_down", "broker_link_up"))
    rows = pq.read_table(dataset_of("flapping_link") / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["severity"] != "info")
    assert (row["kind"], row["place"], row["node_id"]) == ("broker_silent", "broker", 1)
    assert len(row["stretches"]) == len(down) == 2
    assert row["fault_start_after_ns"] - NEAR_NS <= down[0] <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= up[-1] <= row["fault_end_ns"] + NEAR_NS


def silent_for(state: MakeState, start: float, end: float, node: int = 2) -> Failure:
    failure = Failure(BROKER_SILENT, f"node {node}", int(start * NS), int(end * NS), node_id=node)
    failure.states = [state(node, 21, "silent", start, end)]
    return failure


@pytest.mark.parametrize(
    ("second", "joined"),
    [
        ((12 + APART_NS / NS, 24), True),
        ((12.5 + APART_NS / NS, 24), False),
        ((15, 15 + SHORT_NS / NS), True),
        ((15, 15.5 + SHORT_NS / NS), False),
    ],
)
def test_how_short_and_how_near_repeated_failures_are(
    state: MakeState, second: tuple[float, float], joined: bool
) -> None:
    failures = [silent_for(state, 10, 12), silent_for(state, *second)]
    assert len(with_repeated(failures)) == (1 if joined else 2)


def test_what_followed_from_a_later_stretch_followed_from_the_whole(state: MakeState) -> None:
    first, again, elsewhere = silent_for(state, 10, 12), silent_for(state, 15, 17), silent_for(state, 11, 13, node=3)
    moves = [Failure(LEADER_MOVE, "orders-0", at * NS, 18 * NS, root=root) for at, root in ((16, again), (14, None))]
    kept = with_repeated([again, *moves, elsewhere, first])
    assert kept == [first, elsewhere, moves[1], moves[0]], "in order of time"
    assert (moves[0].root, moves[1].root) == (first, None)


def test_moves_of_leaders_that_errors_show_are_not_joined() -> None:
    """Errors do not say when a fault was over."""
    moves = [Failure(LEADER_MOVE, "orders-0", at * NS, (at + 1) * NS) for at in (10, 12)]
    assert len(with_repeated(moves)) == 2
