"""Batches of producers with what their responses say, against plain Python that keeps every request."""

from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.scan.batches import ProducedBatches
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_parsers.api_keys import FETCH, PRODUCE

UNANSWERED, SILENT = (REQUEST_STATUSES.index(name) for name in ("unanswered", "no_response_expected"))
NAMES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 5)), max_size=4)
"""Topic, partition and number of records of each batch of a request."""
STEPS = st.lists(st.tuples(st.integers(0, 1), NAMES, st.sampled_from(["answered", "unanswered", "silent"])), max_size=8)
"""Connection of each request, its batches, and what becomes of it."""


def named(conn: int, number: int, batches: list[tuple[str, int, int]], **columns: int) -> pa.Table:
    """Rows of `partitions` of one message."""
    topics, partitions, records = ([batch[place] for batch in batches] for place in range(3))
    heads = {"conn": conn, "number": number, "partition": partitions, "topic": topics, "topic_id": None} | columns
    n = len(batches)
    values = {name: value if isinstance(value, list) else [value] * n for name, value in heads.items()}
    types = {"topic": CODED_TEXT, "topic_id": CODED_TEXT, "error_code": pa.int16()}
    arrays = {name: pa.array(each, types.get(name, pa.int64())) for name, each in values.items()}
    return pa.table(arrays | {"n_records": pa.array(records, pa.int64())})


def settled(conn: int, number: int, status: int) -> pa.Table:
    """One settled Produce request."""
    row = {"conn": conn, "number": number, "status": status, "api_key": PRODUCE, "request_last_ns": number}
    return pa.table({name: pa.array([value], pa.int64()) for name, value in row.items()})


def request(conn: int, number: int, batches: list[tuple[str, int, int]]) -> pa.Table:
    """What a Produce request names."""
    times = {"ts_ns": number, "record_bytes": 7, "first_timestamp_ms": 3, "max_timestamp_ms": None}
    return named(conn, number, batches, **times)


def response(conn: int, number: int, batches: list[tuple[str, int, int]]) -> pa.Table:
    """What the response to it names."""
    return named(conn, number, batches, ts_ns=1_000 + number, partition_offset=40, error_code=0)


@given(STEPS)
def test_each_batch_comes_once_with_its_response_or_without(steps):
    followed, expected, found = ProducedBatches(), [], []
    requests = [(conn, number, names, fate) for number, (conn, names, fate) in enumerate(steps)]
    for conn, number, names, _ in requests:
        assert followed.take(request(conn, number, names), PRODUCE, "request") is None
    for conn, number, names, fate in reversed(requests):
        asked = {(topic, partition): n for topic, partition, n in reversed(names) if n}  # the first one named counts
        if fate == "answered":
            distinct = list({batch[:2]: batch for batch in names}.values())
            found.append(followed.take(response(conn, number, distinct), PRODUCE, "response"))
            expected += [(conn, number, *batch[:2], 1_000 + number, asked.get(batch[:2])) for batch in distinct]
        else:
            status = UNANSWERED if fate == "unanswered" else SILENT
            found.append(followed.settle(settled(conn, number, status)))
            kept = [batch for batch in names if batch[2]] if fate == "unanswered" else []
            expected += [(conn, number, topic, partition, None, n) for topic, partition, n in kept]
    rows = [row for table in found if table is not None for row in table.to_pylist()]
    columns = ("conn", "number", "topic", "partition", "ts_ns", "n_records")
    assert sorted(map(str, (tuple(row[name] for name in columns) for row in rows))) == sorted(map(str, expected))
    assert all((row["sent_ns"], row["record_bytes"]) == (row["number"], 7) for row in rows if row["n_records"])
    assert all(row["first_timestamp_ms"] is row["sent_ns"] is None for row in rows if not row["n_records"])


def test_a_batch_waits_for_its_response_from_one_run_to_the_next(tmp_path: Path) -> None:
    followed = ProducedBatches()
    followed.take(request(3, 5, [("a", 0, 9)]), PRODUCE, "request")
    save_state(tmp_path / "state", followed)
    rows = load_state(tmp_path / "state").take(response(3, 5, [("a", 0, 0)]), PRODUCE, "response")
    assert rows.select(["conn", "number", "sent_ns", "ts_ns", "n_records"]).to_pylist() == [
        {"conn": 3, "number": 5, "sent_ns": 5, "ts_ns": 1_005, "n_records": 9}
    ]


def test_settled_requests_wait_no_more_and_other_messages_are_not_looked_at() -> None:
    followed = ProducedBatches()
    followed.take(request(0, 1, [("a", 0, 9)]), PRODUCE, "request")
    assert followed.take(response(0, 1, [("a", 0, 0)]), FETCH, "response") is None
    assert followed.settle(settled(0, 1, SILENT)) is None
    rows = followed.take(response(0, 1, [("a", 0, 0)]), PRODUCE, "response")
    assert rows.select(["sent_ns", "n_records"]).to_pylist() == [{"sent_ns": None, "n_records": None}]
