"""Silences of clients as events: with the requests at their ends, and the records that were sent around them."""

from typing import Any

from tests.analyzer.resolve.by_hand import (
    SECOND,
    Row,
    connections,
    context,
    events,
    no_messages,
    only,
    partitions,
    requests,
    rows_of,
)

from kafkascope_analyzer.resolve.connections.silence_events import SilenceEvents
from kafkascope_analyzer.resolve.servers.client_silences import NO_SILENCES
from kafkascope_analyzer.resolve.servers.rows import ServerRows
from kafkascope_parsers.api_keys import FETCH, HEARTBEAT, PRODUCE

ROWS = connections({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.2"})
SILENCE: Row = {"conn_id": "c1", "first_ns": 100 * SECOND, "first_packet": 5, "last_ns": 108 * SECOND, "clock_ns": 0}
BEFORE: Row = {"conn": 1, "number": 4, "api_key": HEARTBEAT, "ts_ns": 99 * SECOND, "request_last_ns": 100 * SECOND}
AFTER: Row = {"conn": 1, "number": 5, "api_key": FETCH, "ts_ns": 108 * SECOND, "request_last_ns": 109 * SECOND}


def source_of(*silences: Row) -> SilenceEvents:
    silent = rows_of(NO_SILENCES.schema, silences)
    return SilenceEvents(context(ROWS, servers=ServerRows(silences=silent)))


def found(source: SilenceEvents) -> list[dict[str, Any]]:
    return events(source.finish(ROWS, no_messages))


def test_the_request_before_ends_with_the_silence_and_the_one_after_begins_there() -> None:
    source = source_of(SILENCE)
    others = [BEFORE | {"conn": 0}, AFTER | {"conn": 0}, BEFORE | {"number": -1}, AFTER | {"ts_ns": 108 * SECOND + 1}]
    assert list(source.take_requests(requests(*others, BEFORE | {"generation_or_epoch": 2**31 - 1}, AFTER))) == []
    names = ("key", "conn_id", "packet_no", "request_id", "api_key", "generation_or_epoch", "failed", "next_request_id")
    assert only(found(source), *names) == [
        ("10.0.0.2", "c1", 5, "c1-4", HEARTBEAT, 2**31 - 1, False, "c1-5"),
    ]


def test_a_request_that_failed_or_was_throttled_is_marked() -> None:
    for wrong in ({"n_errors": 1}, {"throttle_ms": 2**31 - 1}, {"status": "unanswered"}):
        source = source_of(SILENCE)
        list(source.take_requests(requests(BEFORE | wrong)))
        assert only(found(source), "failed", "next_request_id") == [(True, None)]


def produced(at_s: float, n: int, made_s: tuple[float, float] | None = None, conn: int = 1) -> Row:
    row = {"conn": conn, "ts_ns": round(at_s * SECOND), "n_records": n}
    first, last = (-1, -1) if made_s is None else (round(1_000 * at) for at in made_s)
    return row | {"first_timestamp_ms": first, "max_timestamp_ms": last}


def test_records_are_counted_before_for_its_length_and_after_for_a_quarter() -> None:
    source = source_of(SILENCE)
    rows = [(91.9, 1), (92, 2), (99.9, 4), (100, 8), (107, 16), (108, 32), (109.9, 64), (110, 128)]
    list(source.take_partitions(partitions(*(produced(*row) for row in rows)), PRODUCE, "request"))
    list(source.take_partitions(partitions(produced(95, 256, conn=0)), PRODUCE, "request"))
    assert only(found(source), "n_sent_before", "n_sent_after", "n_made_meanwhile") == [(2 + 4, 32 + 64, 0)]


def test_records_are_made_meanwhile_where_their_middle_is_within_without_an_eighth_at_either_end() -> None:
    source = source_of(SILENCE)
    made = [((100.0, 101.8), 1), ((101, 101), 2), ((100.0, 110.0), 4), ((107, 107), 8), ((106.9, 106.9), 16)]
    made += [((103.0, -1.0), 32)]
    rows = [*(produced(109, n, made_s) for made_s, n in made), produced(109, 64)]
    list(source.take_partitions(partitions(*rows), PRODUCE, "request"))
    assert only(found(source), "n_made_meanwhile") == [(2 + 4 + 16 + 32,)]


def test_times_of_records_are_by_the_clock_of_the_client() -> None:
    """Its clock is 104 s behind the capture's; a record without a time was made at no known one."""
    source = source_of(SILENCE | {"clock_ns": 104 * SECOND})
    rows = [produced(109, 1, (0, 0)), produced(109, 2, (-0.001, -0.001)), produced(109, 4, (1, 1))]
    list(source.take_partitions(partitions(*rows, produced(109, 8, (104, 104))), PRODUCE, "request"))
    assert only(found(source), "n_made_meanwhile") == [(1 + 4,)]


def test_without_a_clock_nobody_knows_what_was_made_meanwhile() -> None:
    source = source_of(SILENCE | {"clock_ns": None})
    list(source.take_partitions(partitions(produced(109, 5, (104, 104))), PRODUCE, "request"))
    assert only(found(source), "n_sent_after", "n_made_meanwhile") == [(5, None)]


def test_only_produce_requests_of_silent_connections_are_wanted() -> None:
    source = source_of(SILENCE)
    wanted = source.wants_partitions(PRODUCE, "request")
    assert wanted is not None
    assert wanted.tolist() == [False, True]
    assert source.wants_partitions(PRODUCE, "response") is None
    assert source.wants_partitions(FETCH, "request") is None


def test_the_last_request_of_each_connection_is_kept_as_a_silence_may_follow() -> None:
    source = source_of(SILENCE)
    """A request of another connection at the time of the silence's end is not at its end."""
    at_end = {"ts_ns": 108 * SECOND, "request_last_ns": 100 * SECOND}
    rows = [{"conn": 0, "number": n} | at_end for n in (0, 2, 1)]
    rows += [BEFORE, AFTER, {"conn": 1, "number": 6, "ts_ns": 9, "request_last_ns": 9}, {"conn": 1, "number": -1}]
    assert source.keeps(requests(*rows)).tolist() == [False, True, False, True, True, True, False]


def test_an_end_that_an_earlier_run_did_not_look_for_needs_all_requests() -> None:
    """The earlier run kept the last request of connection 1, at 200 s, and knew of no silence."""
    first = source_of()
    first.keeps(requests(BEFORE, {"conn": 1, "number": 9, "ts_ns": 200 * SECOND, "request_last_ns": 200 * SECOND}))
    second = source_of(SILENCE)
    second.resume(first.added_up())
    assert second.needs_all_requests().tolist() == [False, True]
    third = source_of(SILENCE, SILENCE | {"conn_id": "c0", "last_ns": None})
    third.keeps(requests({"conn": 1, "number": 9, "ts_ns": 200 * SECOND, "request_last_ns": 200 * SECOND}))
    fourth = source_of(SILENCE)
    fourth.resume(third.added_up())
    assert not fourth.needs_all_requests().any(), "the third run did look for it"
    assert not source_of(SILENCE).needs_all_requests().any(), "there is no earlier run"


def test_the_first_request_of_a_connection_may_be_at_an_end() -> None:
    source = source_of(SILENCE)
    rows = requests(BEFORE | {"number": 0}, AFTER | {"number": 1})
    assert source.keeps(rows).tolist() == [True, True]
    list(source.take_requests(rows))
    assert only(found(source), "request_id", "next_request_id") == [("c1-0", "c1-1")]
    assert source_of().keeps(requests({"number": 0})).tolist() == [True]


def test_a_silence_that_has_not_ended_has_no_next_request() -> None:
    source = source_of(SILENCE | {"last_ns": None, "last_packet": None, "ended_by": "open"})
    list(source.take_requests(requests(BEFORE, AFTER)))
    assert only(found(source), "request_id", "next_request_id", "n_sent_after") == [("c1-4", None, 0)]


def test_silences_of_other_buckets_are_not_written() -> None:
    assert found(source_of()) == []
    source = source_of(SILENCE | {"conn_id": "c9"})
    list(source.take_requests(requests(BEFORE, AFTER)))
    assert found(source) == []
