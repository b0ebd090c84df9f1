"""Percentiles of the time between requests of a loop, by hand and against plain Python."""

import statistics
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from tests.analyzer.resolve.by_hand import MS, Row, connections, context, events, no_messages, only, requests

from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.resolve.connections import loop_events
from kafkascope_analyzer.resolve.connections.loop_events import LoopEvents
from kafkascope_parsers.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH, HEARTBEAT, METADATA, OFFSET_COMMIT, PRODUCE

ROWS = connections({}, {})


def found(*rows: Row, uncovered: Uncovered = NOTHING_UNCOVERED) -> list[tuple[object, ...]]:
    source = LoopEvents(context(ROWS, uncovered=uncovered))
    if rows:
        source.add_up(requests(*rows))
    return only(events(source.finish(ROWS, no_messages)), "conn_id", "cadence", "n", "p50", "p99", "max")


def at(ms: int, api_key: int = HEARTBEAT, **more: object) -> Row:
    return {"ts_ns": ms * MS, "api_key": api_key} | more


def test_heartbeats_of_any_protocol_are_one_loop() -> None:
    """The 99th percentile of three values lies between the two largest."""
    rows = [at(0), at(3_000), at(6_000, CONSUMER_GROUP_HEARTBEAT), at(7_000, METADATA), at(9_100)]
    assert found(*rows) == [("c0", "heartbeat", 3, 3_000, 3_098, 3_100)]


def test_polls_are_the_time_from_the_last_byte_of_an_answer_to_the_next_fetch() -> None:
    rows = [at(0, FETCH, response_ns=400 * MS, response_last_ns=500 * MS), at(510, FETCH, response_ns=600 * MS)]
    rows += [at(640, FETCH), at(901, FETCH)]
    assert found(*rows) == [("c0", "fetch", 3, 261, 505, 510), ("c0", "poll_gap", 2, 25, 39, 40)]


def test_a_fetch_that_is_sent_before_the_answer_has_no_pause() -> None:
    rows = [at(0, FETCH, response_ns=400 * MS), at(100, FETCH)]
    assert found(*rows) == [("c0", "fetch", 1, 100, 100, 100), ("c0", "poll_gap", 1, 0, 0, 0)]


def test_produce_counts_the_requests_in_flight() -> None:
    rows = [at(n, PRODUCE, in_flight=depth) for n, depth in enumerate([5, 1, 5, None])]
    rows.append(at(9, PRODUCE, in_flight=5, number=-1))
    assert found(*rows) == [("c0", "in_flight", 3, 5, 5, 5)]


def test_a_gap_over_a_time_that_no_file_covers_is_not_known() -> None:
    uncovered = Uncovered(((4_000 * MS, 5_000 * MS),))
    assert found(at(0), at(3_000), at(6_000), at(9_500), uncovered=uncovered) == [
        ("c0", "heartbeat", 2, 3_250, 3_495, 3_500)
    ]


@pytest.mark.parametrize("rows", [[], [at(0)], [at(0), at(5, conn=1)], [at(0, METADATA), at(5, METADATA)]])
def test_one_round_is_no_loop(rows: list[Row]) -> None:
    assert found(*rows) == []


def test_answers_without_a_request_are_no_rounds() -> None:
    assert found(at(0), at(100, number=-1), at(300)) == [("c0", "heartbeat", 1, 300, 300, 300)]


def test_numbers_of_apis_and_depths_from_the_wire_may_be_any() -> None:
    rows = [at(n, api_key) for n, api_key in enumerate([-(2**15), 2**15 - 1, -(2**15)])]
    rows += [at(9, PRODUCE, in_flight=depth) for depth in (2**31 - 1, -(2**31))]
    assert found(*rows) == [("c0", "in_flight", 1, 2**31 - 1, 2**31 - 1, 2**31 - 1)]


@pytest.mark.parametrize("most", [1, 1 << 20])
@pytest.mark.parametrize("seed", range(3))
def test_percentiles_by_chance_whatever_the_batches_and_appends(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_events, "_MOST_KEPT", most)
    rng = np.random.default_rng(seed)
    sent = np.cumsum(rng.choice([0, 1, 5, 3_000], 300))
    rows = [
        at(int(ms), int(rng.choice([HEARTBEAT, OFFSET_COMMIT])), conn=int(rng.integers(0, 2)), number=n)
        for n, ms in enumerate(sent)
    ]
    source = LoopEvents(context(ROWS))
    for begin in range(0, 300, 70):
        source.add_up(requests(*rows[begin : begin + 70]))
        state, source = source.added_up(), LoopEvents(context(ROWS))
        source.resume(state)
    times = defaultdict(list)
    for row in rows:
        cadence = "heartbeat" if row["api_key"] == HEARTBEAT else "commit"
        times[f"c{row['conn']}", cadence].append(row["ts_ns"] // MS)
    expected = []
    for (conn, cadence), of_loop in times.items():
        gaps = sorted(later - before for before, later in pairwise(of_loop))
        cuts = [int(cut) for cut in statistics.quantiles(gaps, n=100, method="inclusive")]
        expected.append((conn, cadence, len(gaps), cuts[49], cuts[98], gaps[-1]))
    names = ("conn_id", "cadence", "n", "p50", "p99", "max")
    assert sorted(only(events(source.finish(ROWS, no_messages)), *names)) == sorted(expected)
