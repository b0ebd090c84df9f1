"""Usage and samples of connections, from requests made by hand."""

from tests.analyzer.resolve.by_hand import MS, Row, connections, context, events, no_messages, only, requests

from kafkascope_analyzer.resolve.connections.usage_events import UsageEvents
from kafkascope_parsers.api_keys import FETCH, METADATA

ROWS = connections({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.2"})
ASKED: list[Row] = [
    {"ts_ns": 1 * MS, "api_key": FETCH, "client_id": "a", "correlation_id": 11},
    {"ts_ns": 2 * MS, "api_key": METADATA, "client_id": "a", "correlation_id": 12, "n_errors": 1},
    {"ts_ns": 3 * MS, "api_key": FETCH, "client_id": "b", "correlation_id": 2**31 - 1},
    {"ts_ns": 4 * MS, "api_key": FETCH, "client_id": "a", "correlation_id": 13, "status": "undecoded"},
]
ORPHAN: Row = {"conn": 1, "number": -1, "ts_ns": 9 * MS, "correlation_id": 77, "status": "orphan_response"}


def found(source: UsageEvents, kind: str) -> list[Row]:
    return events(table for table in source.finish(ROWS, no_messages) if table.column_names[-1] == kind)


def test_each_kind_of_request_is_one_event_at_its_first_request() -> None:
    source = UsageEvents(context(ROWS))
    source.add_up(requests(*ASKED))
    names = ("conn_id", "at_ns", "seq", "client_id", "api_key", "status", "failed", "n")
    assert sorted(only(found(source, "usage"), *names), key=lambda row: row[1]) == [
        ("c0", 1 * MS, 0, "a", FETCH, "ok", False, 1),
        ("c0", 2 * MS, 1, "a", METADATA, "ok", True, 1),
        ("c0", 3 * MS, 2, "b", FETCH, "ok", False, 1),
        ("c0", 4 * MS, 3, "a", FETCH, "undecoded", True, 1),
    ]


def test_samples_are_listed_by_connection_and_client_id() -> None:
    """A response without its request is a sample of answers; reserved correlation ids are none."""
    source = UsageEvents(context(ROWS))
    source.add_up(requests(*ASKED, ORPHAN))
    names = ("key", "conn_id", "at_ns", "times", "correlation_ids", "of_answers")
    assert only(found(source, "samples"), *names) == [
        ("10.0.0.1", "c0", 1 * MS, [1 * MS, 2 * MS, 4 * MS], [11, 12, 13], False),
        ("10.0.0.2", "c1", 9 * MS, [9 * MS], [77], True),
    ]


def test_a_response_without_its_request_is_no_usage() -> None:
    source = UsageEvents(context(ROWS))
    source.add_up(requests(ORPHAN))
    assert found(source, "usage") == []


def test_requests_of_encrypted_connections_have_no_samples() -> None:
    source = UsageEvents(context(ROWS))
    assert list(source.take_claimed(requests(*ASKED))) == []
    assert (len(found(source, "usage")), found(source, "samples")) == (4, [])


def test_an_append_continues() -> None:
    at_once, first, second = (UsageEvents(context(ROWS)) for _ in range(3))
    rows = requests(*ASKED, ORPHAN)
    at_once.add_up(rows)
    first.add_up(rows.slice(0, 2))
    second.resume(first.added_up())
    second.add_up(rows.slice(2))
    for kind in ("usage", "samples"):
        assert found(second, kind) == found(at_once, kind)


def test_a_bucket_without_requests_has_no_usage() -> None:
    source = UsageEvents(context(ROWS))
    source.resume(UsageEvents(context(ROWS)).added_up())
    assert events(source.finish(ROWS, no_messages)) == []
