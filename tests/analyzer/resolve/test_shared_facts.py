"""Facts about the connections of all buckets: by hand, each from the bucket that has it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.analyzer.resolve.by_hand import SECOND, Row, only, rows_of, run_here, spilled, spilled_connections

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FailureTimes
from kafkascope_analyzer.resolve.shared_facts import SharedFacts, gather_shared_facts
from kafkascope_analyzer.scan.failed_requests import FAILED_REQUESTS
from kafkascope_analyzer.scan.transaction_picks import COORDINATOR_REQUESTS
from kafkascope_analyzer.scan.unanswered import UNANSWERED_PARTITIONS
from kafkascope_parsers.api_keys import FETCH, OFFSET_COMMIT, PRODUCE

A, B = "10.0.0.8", "10.0.0.9"
CLIENTS = pa.chunked_array([[A, B]])
ERROR = pa.schema(
    [
        ("conn", pa.int64()),
        ("api_key", pa.int16()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("error_code", pa.int16()),
        ("ts_ns", pa.int64()),
    ]
)
_OF_PARTITION = [field for field in ERROR if field.name not in ("api_key", "error_code")]
WAITING = pa.schema([("number", pa.int64()), *_OF_PARTITION])
FAILED = pa.schema(
    [
        ("conn", pa.int64()),
        ("api_key", pa.int16()),
        ("group_id", pa.string()),
        ("transactional_id", pa.string()),
        ("ts_ns", pa.int64()),
    ]
)


def gathered(folder: Path, first: dict[str, pa.Table], second: dict[str, pa.Table], **more: Any) -> SharedFacts:
    """Of two buckets, whose only connections are from A and from B."""
    spills = []
    for n, (client, tables) in enumerate(((A, first), (B, second))):
        rows = spilled_connections({"client_ip": client, "conn_id": f"{n:016x}"} | more.get("ends", {}))
        named = {name.replace(".", "__"): table for name, table in tables.items()}
        spills.append(spilled(folder / str(n), connections=rows, **named))
    cluster: Any = SimpleNamespace(
        topics=TopicNames.of({"aa": "t"}), nodes={}, advertised={}, encrypted=frozenset(), followers=frozenset()
    )
    return gather_shared_facts(spills, cluster, run_here(folder), more.get("uncovered", Uncovered()))


def times_of(failures: FailureTimes, client: int, *columns: pa.Array) -> list[int]:
    """The times of failures of one subject of a client."""
    clients = failures.clients(CLIENTS)[[client]]
    (subject,) = failures.subjects(clients, list(columns)).tolist()
    if subject == NO_SUBJECT:
        return []
    return [int(at) for at in failures.times[failures.starts[subject] : failures.starts[subject + 1]]]


def of_partition(failures: FailureTimes, client: int, topic: str, partition: int) -> list[int]:
    return times_of(failures, client, pa.array([topic]), pa.array([partition], pa.int32()))


def test_failures_of_partitions_are_those_of_errors_and_of_lost_answers(tmp_path: Path) -> None:
    def error(**row: Any) -> Row:
        return {"conn": 0, "api_key": FETCH, "topic": "t", "partition": 0, "error_code": 6, "ts_ns": 5} | row

    errors = [error(), error(topic=None, topic_id="aa", ts_ns=3), error(error_code=0, ts_ns=9)]
    errors += [error(api_key=OFFSET_COMMIT, ts_ns=9), error(partition=2**31 - 1)]
    waiting = {"conn": 0, "number": 4, "topic": "t", "partition": 0, "ts_ns": 7}
    first = {"errors": rows_of(ERROR, errors), UNANSWERED_PARTITIONS: rows_of(WAITING, [waiting])}
    found = gathered(tmp_path, first, {"errors": rows_of(ERROR, [error(ts_ns=4)])}).partition_failures.partitions
    assert of_partition(found, 0, "t", 0) == [3, 5, 7]
    assert of_partition(found, 1, "t", 0) == [4]
    assert of_partition(found, 0, "t", 2**31 - 1) == [5]
    assert len(found) == 5


def test_failures_of_requests_are_those_of_all_buckets(tmp_path: Path) -> None:
    def failed(**row: Any) -> Row:
        return {"conn": 0, "api_key": PRODUCE, "ts_ns": 5} | row

    rows = [failed(), failed(group_id="g"), failed(transactional_id="x", ts_ns=1), failed(ts_ns=2)]
    first, second = ({FAILED_REQUESTS: rows_of(FAILED, each)} for each in (rows, [failed(ts_ns=8)]))
    found = gathered(tmp_path, first, second).request_failures
    subject = [pa.array([PRODUCE], pa.int16()), *(pa.nulls(1, pa.string()) for _ in range(2))]
    assert times_of(found, 0, *subject) == [2, 5]
    assert times_of(found, 1, *subject) == [8]
    assert times_of(found, 0, subject[0], pa.array(["g"]), subject[2]) == [5]
    assert times_of(found, 0, subject[0], subject[1], pa.array(["x"])) == [1]


def test_transactional_ids_of_any_bucket_are_known(tmp_path: Path) -> None:
    asked = {"transactional_id": ["x"], "producer_id": [7], "ts_ns": [5], "is_bound": [True]}
    found = gathered(tmp_path, {}, {COORDINATOR_REQUESTS: pa.table(asked)}).transactions
    assert found.transactional_ids(pa.array([7, 8])).to_pylist() == ["x", None]
    assert found.bounds["x"].tolist() == [5]


CLOSED = {"close_kind": "fin_server", "close_ns": 9 * SECOND, "idle_before_close_ms": 5_000}


def test_closes_at_a_server_are_those_of_all_buckets(tmp_path: Path) -> None:
    """The server closed both connections, after the same time without a packet."""
    (row,) = gathered(tmp_path, {}, {}, ends=CLOSED).near_closes.to_pylist()
    assert only([row], "server_ip", "server_port", "near_idle_ms", "refused_after") == [("10.0.0.1", 9092, 5_000, 0)]


def test_idle_time_over_a_time_that_no_file_covers_is_not_known(tmp_path: Path) -> None:
    uncovered = Uncovered(((5 * SECOND, 6 * SECOND),))
    found = gathered(tmp_path, {}, {}, ends=CLOSED, uncovered=uncovered)
    assert found.near_closes["near_idle_ms"].to_pylist() == [None]
    assert found.uncovered == uncovered


def test_what_there_is_without_requests(tmp_path: Path) -> None:
    """Slices of the flow are of a second for a capture of eight; each host has a row."""
    found = gathered(tmp_path, {}, {})
    assert (found.slice_ns, found.n_flow_left_out, found.network_times) == (SECOND, 0, None)
    assert sorted(found.servers.hosts["host"].to_pylist()) == [A, B]
    empty = (found.near_closes, found.lag_points, found.fetch_runs, found.produce_waits, found.claims)
    assert [table.num_rows for table in empty] == [0] * 5
    assert (len(found.request_failures), len(found.partition_failures.topics)) == (0, 0)


def test_a_capture_without_connections_has_no_facts(tmp_path: Path) -> None:
    cluster: Any = SimpleNamespace(topics=TopicNames.of({}), nodes={}, advertised={}, encrypted=frozenset())
    found = gather_shared_facts([tmp_path], cluster, run_here(tmp_path))
    assert (found.servers.hosts.num_rows, found.near_closes.num_rows, len(found.request_failures)) == (0, 0, 0)
    assert np.array_equal(found.request_failures.times, [])
