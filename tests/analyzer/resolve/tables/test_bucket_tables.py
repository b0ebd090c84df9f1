"""The tables of a bucket whose spill is made by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.analyzer.resolve.by_hand import (
    SECOND,
    Row,
    only,
    rows_of,
    run_here,
    spilled,
    spilled_connections,
    spilled_requests,
)

from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.resolve.learned import learn
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.bucket_tables import finish_bucket
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.scan.cluster_ids import CLUSTER_IDS, CLUSTER_IDS_SCHEMA
from kafkascope_parsers.api_keys import JOIN_GROUP, METADATA

ONE, OTHER = "OneOneOneOneOneOneOneO", "OtherOtherOtherOtherOt"
NEAR = {"conn_id": "a" * 16}
FAR = {"conn_id": "b" * 16, "server_ip": "10.1.0.1", "client_ip": "10.1.0.9"}
ASKED: Row = {
    "api_key": METADATA,
    "api_version": 12,
    "ts_ns": 2 * SECOND,
    "request_last_ns": 2 * SECOND,
    "client_id": "x",
}


def finished(folder: Path, **tables: pa.Table) -> Finished:
    """Finishes a bucket with these spilled tables."""
    spill = spilled(folder / "0", **{"connections": spilled_connections()} | tables)
    learned = learn([spill], HostNames(), run_here(folder), [(SECOND, 9 * SECOND)])
    return finish_bucket(Bucket(spill, folder / "out", "bucket=0/part-0-RUN.parquet"), learned)


def written(folder: Path, table: str) -> list[Row]:
    """The rows of the files of a table."""
    files = sorted((folder / "out" / table).rglob("*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def kinds(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix("kind=") for path in (folder / "out" / "events").rglob("kind=*"))


def ids(*named: tuple[int, str]) -> dict[str, pa.Table]:
    rows = [{"conn": conn, "cluster_id": text, "ts_ns": SECOND, "in_response": True} for conn, text in named]
    return {CLUSTER_IDS.replace(".", "__"): rows_of(CLUSTER_IDS_SCHEMA, rows)}


def lookup(client: str) -> Row:
    row: dict[str, Any] = {"client_ip": client, "name": f"of {client}", "ts_ns": SECOND, "packet_no": 1}
    return row | {"server_ip": "10.0.0.53", "server_port": 53, "aliases": [], "addresses": []}


def test_requests_are_rows_of_their_connection_and_cluster(tmp_path: Path) -> None:
    rows = spilled_requests(ASKED | {"response_ns": 3 * SECOND, "n_errors": 2}, ASKED | {"api_key": JOIN_GROUP})
    found = finished(tmp_path, connections=spilled_connections(NEAR), requests=rows, **ids((0, ONE)))
    assert (found.rows["requests"], found.rows["connections"], found.rows["errors"]) == (2, 1, 0)
    names = ("request_id", "cluster", "client_ip", "api_name", "latency_us")
    assert only(written(tmp_path, "requests"), *names) == [
        ("a" * 16 + "-0", ONE, "10.0.0.9", "Metadata", 1_000_000),
        ("a" * 16 + "-1", ONE, "10.0.0.9", "JoinGroup", None),
    ]
    names = ("cluster", "protocol", "client_ids", "n_requests", "n_responses", "n_errors")
    assert only(written(tmp_path, "connections"), *names) == [(ONE, "kafka", ["x"], 2, 1, 2)]
    assert {"connection", "request", "server_host", "usage"} <= set(kinds(tmp_path))
    events = [row for row in written(tmp_path, "events") if row.get("request")]
    assert len(written(tmp_path, "events")) == found.rows["events"]
    assert only([row["request"] for row in events], "request_id") == [("a" * 16 + "-0",), ("a" * 16 + "-1",)]


def test_connections_of_two_clusters_are_told_apart(tmp_path: Path) -> None:
    rows = spilled_requests(ASKED, ASKED | {"conn": 1, "number": 0})
    both = spilled_connections(NEAR, FAR)
    found = finished(tmp_path, connections=both, requests=rows, **ids((0, ONE), (1, OTHER)))
    assert (found.rows["requests"], found.rows["connections"]) == (2, 2)
    for table in ("requests", "connections"):
        assert sorted(only(written(tmp_path, table), "conn_id", "cluster")) == [("a" * 16, ONE), ("b" * 16, OTHER)]
    clusters = {(row["conn_id"], row["cluster"]) for row in written(tmp_path, "events")}
    assert clusters == {("a" * 16, ONE), ("b" * 16, OTHER)}


def test_look_ups_belong_to_the_cluster_to_which_their_client_talks(tmp_path: Path) -> None:
    """The table has each once; a client that talks to none has its look-ups in a cluster by themselves."""
    rows = [lookup(client) for client in ("10.0.0.9", "10.1.0.9", "10.9.9.9")]
    both = spilled_connections(NEAR, FAR)
    found = finished(tmp_path, connections=both, dns=rows_of(DNS.schema, rows), **ids((0, ONE), (1, OTHER)))
    assert (found.rows["dns"], len(written(tmp_path, "dns"))) == (3, 3)
    events = [row for row in written(tmp_path, "events") if row.get("lookup")]
    clusters = {row["client_ip"]: row["cluster"] for row in events}
    assert (clusters["10.0.0.9"], clusters["10.1.0.9"], len(events)) == (ONE, OTHER, 3)
    assert clusters["10.9.9.9"] not in (ONE, OTHER)


def test_a_bucket_with_look_ups_alone_has_their_events(tmp_path: Path) -> None:
    found = finished(tmp_path, dns=rows_of(DNS.schema, [lookup("10.0.0.9")]))
    assert found.rows == {"dns": 1, "events": 1}
    assert kinds(tmp_path) == ["lookup"]


def test_an_empty_bucket_has_no_files(tmp_path: Path) -> None:
    assert finished(tmp_path).rows == {"dns": 0}
    assert not list((tmp_path / "out").rglob("*.parquet"))
