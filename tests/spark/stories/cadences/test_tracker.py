from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_analyzer.dataset.tables.event_kinds.requests import Request
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.cadences.tracker import Cadences, Gaps
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Any]


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=60))
def test_percentiles_are_those_of_the_sorted_gaps(gaps_ms: list[int]) -> None:
    gaps, at = Gaps(), 0
    gaps.at(at)
    for gap in gaps_ms:
        at += gap * MS
        gaps.at(at)
    measured = gaps.measured("", "metadata_refresh")
    assert measured is not None
    ordered = sorted(gaps_ms)
    assert measured.n == len(ordered)
    assert measured.p50 == ordered[(len(ordered) + 1) // 2 - 1]
    assert measured.max == ordered[-1]


def test_one_round_is_no_gap() -> None:
    gaps = Gaps()
    gaps.at(5)
    assert gaps.measured("", "metadata_refresh") is None


def test_rows_of_a_consumer(
    instance: Callable[..., Instance], connection: Callable[..., Connection], request_row: Callable[..., Request]
) -> None:
    used = {api_keys.JOIN_GROUP, api_keys.FETCH}
    loops = [
        LoopStatistics("poll_gap", 9, 1, 2, 3, conn_id="c1"),
        LoopStatistics("heartbeat", 9, 3_000, 3_001, 3_002, conn_id="c1"),
    ]
    one = connection("c1", 0, 700_000, apis=used, session_timeout_ms=30_000, cadences=loops, idle_ms=600_050)
    cadences = Cadences(instance(one))
    for at in (1, 2_001, 4_001):
        cadences.on_request(request_row(api_keys.METADATA, at, at + 1))
    rows = cadences.finish()
    verdicts = [(r.cadence, r.conn_id, r.p50_ms, r.expected_from, r.verdict) for r in rows]
    assert verdicts == [
        ("metadata_refresh", None, 2_000, "default", "as_expected"),
        ("heartbeat", "c1", 3_000, "join_group", "as_expected"),
        ("poll_gap", "c1", 1, "default", "as_expected"),
        ("idle_before_close", "c1", 600_050, "default", "as_expected"),
    ]


def test_a_producer_has_no_poll_gap(instance: Callable[..., Instance], connection: Callable[..., Connection]) -> None:
    one = connection("c1", apis={api_keys.PRODUCE}, cadences=[LoopStatistics("poll_gap", 9, 1, 2, 3, conn_id="c1")])
    assert Cadences(instance(one)).finish() == []
