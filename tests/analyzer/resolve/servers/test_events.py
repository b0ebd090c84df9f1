"""Events of servers from rows made by hand: those of the bucket's connections, with the numbers of packets."""

import pyarrow as pa
from tests.analyzer.resolve.by_hand import Row, connections, context, events, no_messages, only

from kafkascope_analyzer.resolve.servers.events import ServerEvents
from kafkascope_analyzer.resolve.servers.rows import ServerRows

MINE, OTHER = f"{1:016x}", f"{2:016x}"
ROWS = connections({"conn_id": f"{0:016x}"}, {"conn_id": MINE})
USUAL: Row = {"conn_id": MINE, "key": "10.0.0.1:9092", "host": "10.0.0.9"}
TIMES: Row = {"first_ns": 5, "first_packet": 6, "last_ns": 7, "last_packet": 8}


TEXTS = ("conn_id", "key", "host", "host_kind", "sender", "close_kind", "layer", "scope", "ended_by")


def typed(rows: list[Row]) -> pa.Table:
    """Rows whose columns are texts or numbers."""
    types = [(name, pa.string() if name in TEXTS else pa.int64()) for name in rows[0]]
    return pa.Table.from_pylist(rows, pa.schema(types))


def found(**tables: list[Row]) -> list[tuple[str, Row]]:
    """The kind of each event, and the event."""
    rows = {name: typed([USUAL | row for row in each]) for name, each in tables.items()}
    source = ServerEvents(context(ROWS, servers=ServerRows(**rows)))
    made = list(source.finish(ROWS, no_messages))
    return [(table.column_names[-1], row) for table in made for row in events([table])]


def test_rows_of_other_buckets_are_not_written() -> None:
    assert found(hosts=[{"conn_id": OTHER, "met_ns": 5, "first_packet": 6}]) == []
    assert found() == []


def test_a_host_is_an_event_of_the_server_when_they_first_met() -> None:
    row = {"met_ns": 4, "first_ns": None, "first_packet": None, "last_ns": None, "host_kind": "client", "served": 0}
    ((kind, event),) = found(hosts=[row, row | {"conn_id": OTHER}])
    assert kind == "server_host"
    names = ("key", "client_ip", "conn_id", "at_ns", "packet_no", "first_ns", "host_kind", "served")
    assert only([event], *names) == [("10.0.0.1:9092", "10.0.0.9", MINE, 4, 0, None, "client", False)]


def test_each_table_becomes_events_of_its_kind_at_its_first_packet() -> None:
    of_kind = {
        "slow": "slow_process",
        "slow_hosts": "slow_host",
        "lost_flows": "lost_flows",
        "absent": "host_silence",
    }
    for table, kind in of_kind.items():
        ((mine, event),) = found(**{table: [TIMES]})
        names = ("at_ns", "packet_no", "first_packet_no", "last_ns", "last_packet_no")
        assert (mine, only([event], *names)) == (kind, [(5, 6, 6, 7, 8)])


def test_losses_in_both_directions_have_an_order() -> None:
    for table, kind in (("losses", "packet_loss"), ("delays", "packet_delay")):
        rows = found(**{table: [TIMES | {"sender": sender} for sender in ("server", "host")]})
        assert {row[0] for row in rows} == {kind}
        seq = {row["sender"]: row["seq"] for _, row in rows}
        assert sorted(seq.values()) == [0, 1]


def test_a_connection_is_an_event_at_its_end() -> None:
    row = {"began_ns": 1, "began_packet": 2, "ended_ns": 2**63 - 1, "ended_packet": None, "close_kind": "refused"}
    ((kind, event),) = found(lost=[row])
    assert kind == "server_connection"
    names = ("at_ns", "packet_no", "first_ns", "first_packet_no", "last_ns", "last_packet_no", "close_kind")
    assert only([event], *names) == [(2**63 - 1, 0, 1, 2, 2**63 - 1, None, "refused")]


def test_a_wait_for_a_response_names_the_request() -> None:
    """Waits of one packet are ordered: those of layers before those of requests."""
    row = {"asked_ns": 5, "asked_packet": 6, "last_ns": 7, "last_packet": 8, "until_packet": 9}
    waits = [("packet", -1), ("payload", -1), ("request", 0), ("request", 2**31 - 9)]
    rows = found(waits=[row | {"layer": layer, "number": number} for layer, number in waits])
    names = ("layer", "request_id", "first_ns", "first_packet_no", "until_packet_no")
    assert only([row for _, row in rows[:3]], *names) == [
        ("packet", None, 5, 6, 9),
        ("payload", None, 5, 6, 9),
        ("request", f"{MINE}-0", 5, 6, 9),
    ]
    order = [row["seq"] for _, row in rows]
    assert order == sorted(set(order))


def test_a_sign_of_life_has_the_order_of_its_row() -> None:
    ((kind, event),) = found(signs=[TIMES | {"scope": "server", "layer": "payload", "order": 3, "host": None}])
    assert only([event | {"kind": kind}], "kind", "client_ip", "seq", "host", "scope", "first_packet_no") == [
        ("life_sign", "", 3, None, "server", 6)
    ]
