"""Events of groups from messages made by hand: bodies, closes, members and lag."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from tests.analyzer.resolve.by_hand import (
    Row,
    connections,
    context,
    events,
    no_messages,
    only,
    requests,
    rows_of,
)

from kafkascope_analyzer.resolve.groups.events import GroupEvents
from kafkascope_analyzer.resolve.groups.lag import LAG_POINTS
from kafkascope_parsers.schema import keys_by_name

KEYS = keys_by_name()
ROWS = connections({"close_ns": 900, "close_kind": "fin_client"}, {"client_ip": "10.0.0.2"})
INTS = ("session_timeout_ms", "rebalance_timeout_ms", "generation_id")
MESSAGES: dict[str, list[Row]] = {
    "JoinGroup/request": [
        {"request_id": "c0-0", "session_timeout_ms": 2**31 - 1, "member_id": ""},
        {"request_id": "c7-0", "session_timeout_ms": 6, "member_id": "of another bucket"},
    ],
    "JoinGroup/response": [{"request_id": "c0-0", "member_id": "m", "generation_id": -(2**31)}],
}


def read_messages(name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    if name in MESSAGES:
        rows = [{column: row.get(column) for column in columns} for row in MESSAGES[name]]
        types = [pa.int32() if column in INTS else _OTHERS.get(column, pa.string()) for column in columns]
        yield from pa.Table.from_pylist(rows, pa.schema(list(zip(columns, types, strict=True)))).to_batches()


_OTHERS = {
    "protocols": pa.list_(pa.struct([("name", pa.string()), ("metadata", pa.binary())])),
    "members": pa.list_(pa.struct([("member_id", pa.string()), ("group_instance_id", pa.string())])),
}


def source_of(*lag: Row) -> GroupEvents:
    return GroupEvents(context(ROWS, lag_points=rows_of(LAG_POINTS, lag)))


def of_kind(source: GroupEvents, kind: str, read: Any = no_messages) -> list[Row]:
    return events(table for table in source.finish(ROWS, read) if table.column_names[-1] == kind)


def join(**more: object) -> Row:
    return {"api_key": KEYS["JoinGroup"], "group_id": "g", "ts_ns": 5, "request_packet_no": 4} | more


def test_a_request_that_forms_a_group_has_both_bodies_and_the_end_of_its_connection() -> None:
    source = source_of()
    rows = requests(join(response_ns=8, response_last_ns=9), join(conn=1, error_name="NOT_COORDINATOR"))
    assert list(source.take_requests(rows)) == []
    found = of_kind(source, "group_request", read_messages)
    names = ("key", "conn_id", "at_ns", "packet_no", "seq", "response_ns", "close_ns", "close_kind", "error_name")
    assert only(found, *names) == [
        ("g", "c0", 5, 4, 0, 9, 900, "fin_client", None),
        ("g", "c1", 5, 4, 1, None, None, None, "NOT_COORDINATOR"),
    ]
    assert only([found[0]["request"]], "session_timeout_ms", "member_id") == [(2**31 - 1, "")]
    assert only([found[0]["response"]], "member_id", "generation_id") == [("m", -(2**31))]
    assert (found[1]["request"], found[1]["response"]) == (None, None)


def test_a_group_whose_messages_were_not_read_has_no_bodies() -> None:
    source = source_of()
    list(source.take_requests(requests(join())))
    assert only(of_kind(source, "group_request"), "request", "response") == [(None, None)]


def test_a_member_that_keeps_its_place_is_one_event() -> None:
    source = source_of()
    beats = [
        {"api_key": KEYS["Heartbeat"], "group_id": "g", "member_id": "m", "generation_or_epoch": 3, "ts_ns": at}
        for at in (20, 10, 30)
    ]
    source.add_up(requests(*beats))
    names = ("key", "conn_id", "at_ns", "seq", "member_id", "generation_or_epoch", "last_ns", "n")
    expected = [("g", "c0", 10, 1, "m", 3, 30, 3)]
    assert only(of_kind(source, "group_member"), *names) == expected
    later, state = source_of(), source.added_up()
    assert state is not None
    later.resume(state)
    assert only(of_kind(later, "group_member"), *names) == expected


def test_lag_points_are_events_of_the_buckets_own_connections() -> None:
    point = {"group_id": "g", "topic": "t", "partition": 0, "ts_ns": 5, "number": 7, "generation_or_epoch": -1}
    source = source_of(
        point | {"conn_id": "c9", "partition_offset": 1},
        point | {"conn_id": "c1", "partition_offset": 2**63 - 1, "high_watermark": -1},
    )
    names = ("key", "client_ip", "conn_id", "at_ns", "seq", "committed_offset", "high_watermark")
    expected = [("g", "10.0.0.2", "c1", 5, 7, 2**63 - 1, -1)]
    assert only(of_kind(source, "group_lag"), *names) == expected


def test_requests_that_may_form_a_group_are_kept() -> None:
    rows = requests(join(), {"api_key": KEYS["Fetch"]})
    assert source_of().keeps(rows).tolist() == [True, False]


def test_a_bucket_without_groups_has_no_events() -> None:
    source = source_of()
    list(source.take_requests(requests({"api_key": KEYS["Fetch"]})))
    source.add_up(requests({"api_key": KEYS["Fetch"]}))
    assert source.added_up() is None
    assert events(source.finish(ROWS, no_messages)) == []
