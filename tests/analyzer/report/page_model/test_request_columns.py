"""The requests' columns: ids, units and what a page's column may hold."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.report.page_model.request_columns import (
    NO_TIME,
    ORPHANS,
    Requests,
    is_failed,
    load_requests,
    narrow,
    numbers_of,
    packed,
    places,
    unit_of,
)


def batch(pairs: list[tuple[str, str]]) -> pa.RecordBatch:
    ids, conns = zip(*pairs, strict=True) if pairs else ((), ())
    columns = {"request_id": pa.array(ids, pa.string()), "conn_id": pa.array(conns, pa.string())}
    return pa.RecordBatch.from_pydict(columns)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["aa", "bb", "a-longer-one"]), st.booleans(), st.integers(0, 2**31 - 1))))
def test_the_number_at_the_end_of_an_id(rows: list[tuple[str, bool, int]]) -> None:
    pairs = [(f"{conn}-{'r' if orphan else ''}{n}", conn) for conn, orphan, n in rows]
    assert numbers_of(batch(pairs)).tolist() == [n + (ORPHANS if orphan else 0) for _, orphan, n in rows]


@given(st.integers(0, 10**19))
def test_the_unit_is_the_finest_that_four_bytes_hold(duration_ns: int) -> None:
    unit = unit_of(duration_ns)
    assert duration_ns // unit < 2**32 - 1
    assert unit == 10 or duration_ns // (unit // 10) >= 2**32 - 1


def test_places_and_narrow_columns() -> None:
    column = pa.array(["b", None, "a", "z"], pa.string())
    assert places(column, {"a": 0, "b": 1}).tolist() == [1, -1, 0, -1]
    assert narrow(np.array([2**40, -(2**40), 5])).tolist() == [2**31 - 1, -(2**31), 5]


@pytest.fixture
def requests(dataset, tmp_path) -> Requests:
    found = Dataset.open(dataset())
    return load_requests(found, {"c0": 0, "c1": 1}, (found.capture_span or (0, 0)))


def test_requests_of_other_connections_are_counted(requests: Requests) -> None:
    assert (requests.n_seen, requests.n_unplaced) == (6, 1)
    assert requests.columns["weight"].sum() == 6
    assert requests.apis.listed[2:] == ["JoinGroup", "Metadata", "Produce"]
    assert (requests.keys >> 32).tolist() == [0, 1, 1, 1, 1, 1]


def test_packed_columns_are_differences_that_add_up(requests: Requests) -> None:
    start_ns = int(requests.columns["ts"].min())
    unit, columns = packed(requests, start_ns, start_ns + 10**10)
    ticks = np.cumsum(columns["d_ts"].astype(np.int64)) % 2**32
    assert (ticks * unit + start_ns == requests.columns["ts"] // unit * unit).all()
    assert (np.cumsum(columns["d_conn"].astype(np.int64)) % 2**32).tolist() == [0, 1, 1, 1, 1, 1]
    failed = requests.columns["error"] > 0
    assert columns["failed"].tolist() == failed.astype(int).tolist() == is_failed(requests.columns).astype(int).tolist()
    assert set(columns["took"][~failed]) == {NO_TIME}
    assert columns["took"][failed].tolist() == [10_000]
    assert columns["status"].max() < len(REQUEST_STATUSES)
