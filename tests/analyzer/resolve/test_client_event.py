"""The place of events of a client: its address is the key; what is not known is empty or zero."""

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import event_table

INT64 = (-(2**63), 2**63 - 1)


@pytest.mark.parametrize("chunks", [[["10.0.0.1", None]], [["10.0.0.1"], [None]], [["10.0.0.1"], [], [None]]])
def test_the_key_is_the_clients_address(chunks: list[list[str | None]]) -> None:
    address = pa.chunked_array(chunks, pa.string())
    place = client_place(address, pa.array(["a", "b"]), pa.array([5, 6]), pa.array([7, None], pa.int64()))
    rows = event_table(Lookup, place, {"rcode": pa.array(["x", "y"])}).to_pylist()
    found = [(row["key"], row["client_ip"], row["conn_id"], row["ts_ns"], row["packet_no"]) for row in rows]
    assert found == [("10.0.0.1", "10.0.0.1", "a", 5, 7), ("", "", "b", 6, 0)]
    assert [row["seq"] for row in rows] == [0, 0]
    assert [row["lookup"]["rcode"] for row in rows] == ["x", "y"]


def test_times_and_packets_of_any_size_stay() -> None:
    place = client_place(pa.array(["a", "a"]), pa.array(["c", "c"]), pa.array(INT64), pa.array(INT64), pa.array([1, 2]))
    rows = event_table(Lookup, place, {}).to_pydict()
    assert (tuple(rows["ts_ns"]), tuple(rows["packet_no"]), rows["seq"]) == (INT64, INT64, [1, 2])


def test_no_rows_have_no_place() -> None:
    none = pa.array([], pa.string())
    assert event_table(Lookup, client_place(none, none, pa.array([], pa.int64())), {}).num_rows == 0
