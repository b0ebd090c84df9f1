"""Order and place of transactions' events: by hand, and against plain Python."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import connections, events, only

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import TransactionSeen
from kafkascope_analyzer.resolve.transactions.rows import events_of_kind, seq_of, with_seq


def test_rows_of_one_time_and_connection_are_numbered_in_their_order() -> None:
    rows = pa.table({"conn_id": ["b", "a", "a", "a"], "ts_ns": [5, 5, 4, 5], "name": ["x", "z", "y", "w"]})
    found = with_seq(rows, ["name"]).to_pylist()
    assert only(found, "conn_id", "ts_ns", "name", "seq") == [
        ("a", 4, "y", 0),
        ("a", 5, "w", 0),
        ("a", 5, "z", 1),
        ("b", 5, "x", 0),
    ]
    assert with_seq(rows.slice(0, 0), ["name"]).num_rows == 0


@pytest.mark.parametrize("seed", range(3))
def test_each_row_has_a_place_of_its_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pa.table({name: rng.integers(0, 4, 80) for name in ("ts_ns", "number")})
    rows = rows.append_column("conn_id", pa.array(rng.choice(["a", "b", "c"], 80)))
    found = only(with_seq(rows, ["number"]).to_pylist(), "conn_id", "ts_ns", "number", "seq")
    assert found == sorted(found)
    so_far: Counter[tuple[str, int]] = Counter()
    for conn_id, ts_ns, _, seq in found:
        assert seq == so_far[conn_id, ts_ns]
        so_far[conn_id, ts_ns] += 1


def test_events_are_ordered_by_request_then_by_place_in_its_message() -> None:
    numbers, places = pa.array([0, 0, 1, 1, 2]), pa.array([0, 1, 0, 65_535, 0])
    found = seq_of(numbers, places).to_pylist()
    assert found == sorted(set(found))
    assert seq_of(numbers).to_pylist() == seq_of(numbers, pa.array([0] * 5)).to_pylist()


def test_numbers_that_are_too_large_stay_within_32_bits() -> None:
    found = seq_of(pa.array([2**40, 2**15 - 1, 5]), pa.array([0, 2**31 - 1, 2**62])).to_pylist()
    assert found == [0, 2**31 - 1, 5 << 16 | 65_535]


def test_the_client_is_that_of_the_row_or_else_of_its_connection() -> None:
    rows = pa.table({"key": ["t"], "conn_id": ["c1"], "ts_ns": [5], "seq": pa.array([3], pa.int32())})
    known = connections({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.2"})
    names = ("key", "client_ip", "conn_id", "at_ns", "packet_no", "seq")
    found = events([events_of_kind(TransactionSeen, rows, known)])
    assert only(found, *names) == [("t", "10.0.0.2", "c1", 5, 0, 3)]
    named = rows.append_column("client_ip", pa.array(["10.0.0.7"])).append_column("packet_no", pa.array([4]))
    for some in (None, known):
        found = events([events_of_kind(TransactionSeen, named, some)])
        assert only(found, *names) == [("t", "10.0.0.7", "c1", 5, 4, 3)]
