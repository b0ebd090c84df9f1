"""What is in the capture: files, times, connections, brokers, and what the requests were.

One pass over each table; memory grows with the number of distinct servers, nodes and APIs, not with the rows.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, rows, scan
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, ERRORS, REQUESTS, TOPOLOGY
from kafkascope_analyzer.report.broker_releases import cluster_releases
from kafkascope_analyzer.report.latency import Histogram
from kafkascope_analyzer.report.words import absolute, address

MOST_ERRORS = 40
MOST_BROKERS = 200
"""Clusters have a few dozen brokers; behind a gateway with a port for each there may be more."""


def capture(dataset: Dataset) -> dict[str, Any]:
    """Files, times, packets, and how much of the streams was decoded."""
    columns = [
        "path",
        "format",
        "linktype",
        "snaplen",
        "n_packets",
        "n_truncated",
        "n_dropped",
        "n_duplicates",
        "size_bytes",
        "cut_at_byte",
        "cut_why",
        "unread_bytes",
        "first_ns",
        "last_ns",
    ]
    files = list(rows(dataset, CAPTURES, columns))
    starts = [f["first_ns"] for f in files if f["first_ns"] is not None]
    ends = [f["last_ns"] for f in files if f["last_ns"] is not None]
    start_ns, end_ns = (min(starts), max(ends)) if starts and ends else (None, None)
    return {
        "files": files,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "start": None if start_ns is None else absolute(start_ns),
        "duration_us": None if start_ns is None or end_ns is None else (end_ns - start_ns) // 1000,
        "n_packets": sum(f["n_packets"] or 0 for f in files),
        "n_truncated": sum(f["n_truncated"] or 0 for f in files),
        "n_duplicates": sum(f["n_duplicates"] or 0 for f in files),
        "n_dropped": sum(f["n_dropped"] or 0 for f in files)
        if any(f["n_dropped"] is not None for f in files)
        else None,
        "ledger": {
            key: dataset.manifest.ledger.get(key, 0)
            for key in ("stream_bytes", "decoded_bytes", "undecoded_bytes", "missing_bytes")
        }
        | {"zookeeper_bytes": _zookeeper_bytes(dataset)},
    }


def _zookeeper_bytes(dataset: Dataset) -> int:
    """Stream bytes of ZooKeeper's protocol, both ways, which nobody expects to be decoded as Kafka."""
    found = 0
    for batch in scan(dataset, CONNECTIONS, ["client_bytes", "server_bytes"], one_of("protocol", ["zookeeper"])):
        found += sum(pc.sum(batch.column(name)).as_py() or 0 for name in ("client_bytes", "server_bytes"))
    return found


def counted(dataset: Dataset, table: Table, columns: list[str]) -> dict[str, Counter[Any]]:
    """How often each value of these columns occurs."""
    found: dict[str, Counter[Any]] = {column: Counter() for column in columns}
    for batch in scan(dataset, table, columns):
        for column in columns:
            pairs: Any = pc.value_counts(batch.column(column))
            for pair in pairs.to_pylist():
                found[column][pair["values"]] += pair["counts"]
    return found


def most_first(counter: Counter[Any], key: str) -> list[dict[str, Any]]:
    """A counter as rows, the most frequent first, then by name."""
    return [{key: name, "n": n} for name, n in sorted(counter.items(), key=lambda item: (-item[1], str(item[0])))]


def connections(dataset: Dataset) -> dict[str, Any]:
    """How many connections, what they speak, how they began and ended."""
    found = counted(dataset, CONNECTIONS, ["protocol", "close_kind", "opened_by"])
    return {
        "n": sum(found["protocol"].values()),
        "by_protocol": most_first(found["protocol"], "protocol"),
        "by_close": most_first(found["close_kind"], "close_kind"),
        "by_opening": most_first(found["opened_by"], "opened_by"),
    }


@dataclass(slots=True)
class _Broker:
    addresses: Counter[str] = field(default_factory=Counter)
    advertised: dict[str, None] = field(default_factory=dict)
    rack: str | None = None
    n_connections: int = 0
    n_requests: int = 0
    n_errors: int = 0


def cluster(dataset: Dataset) -> dict[str, Any]:
    """Cluster id, controller and brokers: node ids, the addresses they answered at, what Metadata says of them."""
    brokers: dict[int, _Broker] = defaultdict(_Broker)
    unnamed: Counter[str] = Counter()
    cluster_ids: dict[str, None] = {}
    controllers: dict[int, None] = {}
    facts = ["kind", "node_id", "host", "port", "rack", "cluster_id"]
    for batch in scan(dataset, TOPOLOGY, facts, one_of("kind", ["broker", "controller", "cluster"])):
        for fact in _distinct(batch, facts):
            if fact["cluster_id"]:
                cluster_ids[fact["cluster_id"]] = None
            if fact["node_id"] is None or fact["node_id"] < 0:
                continue
            if fact["kind"] == "controller":
                controllers[fact["node_id"]] = None
            elif fact["kind"] == "broker" and fact["host"] is not None:
                known = brokers[fact["node_id"]]
                known.advertised[address(fact["host"], fact["port"]) or ""] = None
                known.rack = known.rack or fact["rack"]
    _add_servers(dataset, brokers, unnamed)
    releases = cluster_releases(dataset)
    listed = [
        {
            "node_id": node_id,
            "addresses": [a for a, _ in sorted(b.addresses.items(), key=lambda item: (-item[1], item[0]))],
            "advertised": sorted(b.advertised),
            "rack": b.rack,
            "releases": [
                {"release": span.release.text, "first_ns": span.first_ns, "last_ns": span.last_ns}
                for span in releases.of_node(node_id)
            ],
            "n_connections": b.n_connections,
            "n_requests": b.n_requests,
            "n_errors": b.n_errors,
        }
        for node_id, b in sorted(brokers.items())
    ]
    return {
        "cluster_ids": sorted(cluster_ids),
        "controllers": sorted(controllers),
        "mode": releases.mode,
        "sentence": releases.sentence,
        "n_brokers": len(listed),
        "brokers": listed[:MOST_BROKERS],
        "servers_without_node_id": [{"address": a, "n_connections": n} for a, n in unnamed.most_common(MOST_BROKERS)],
    }


def _add_servers(dataset: Dataset, brokers: dict[int, _Broker], unnamed: Counter[str]) -> None:
    """Adds what the Kafka connections say of their servers."""
    columns = ["server_ip", "server_port", "node_id", "n_requests", "n_errors"]
    for batch in scan(dataset, CONNECTIONS, columns, one_of("protocol", ["kafka"])):
        grouped = pa.Table.from_batches([batch]).group_by(columns[:3], use_threads=False)
        totals = grouped.aggregate([("n_requests", "sum"), ("n_errors", "sum"), ("server_ip", "count")])
        for row in totals.to_pylist():
            where = address(row["server_ip"], row["server_port"]) or ""
            if row["node_id"] is None:
                unnamed[where] += row["server_ip_count"]
                continue
            known = brokers[row["node_id"]]
            known.addresses[where] += row["server_ip_count"]
            known.n_connections += row["server_ip_count"]
            known.n_requests += row["n_requests_sum"] or 0
            known.n_errors += row["n_errors_sum"] or 0


def _distinct(batch: pa.RecordBatch, columns: list[str]) -> list[dict[str, Any]]:
    """The batch's different rows."""
    distinct: list[dict[str, Any]] = (
        pa.Table.from_batches([batch]).group_by(columns, use_threads=False).aggregate([]).to_pylist()
    )
    return distinct


@dataclass(slots=True)
class _Api:
    latency: Histogram = field(default_factory=Histogram)
    versions: set[int] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    n: int = 0
    n_with_errors: int = 0
    request_bytes: int = 0
    response_bytes: int = 0


def apis(dataset: Dataset) -> list[dict[str, Any]]:
    """Each API that was asked for: how often, in which versions, how fast the brokers answered, how many errors."""
    found: dict[str, _Api] = defaultdict(_Api)
    columns = ["api_name", "api_version", "latency_us", "error_code", "status", "request_bytes", "response_bytes"]
    for batch in scan(dataset, REQUESTS, columns):
        names = batch.column("api_name").dictionary_encode()
        codes = names.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for code, name in enumerate(names.dictionary.to_pylist()):
            _add_requests(found[str(name)], batch.filter(pa.array(codes == code)))
    by_count = sorted(found.items(), key=lambda item: (-item[1].n, item[0]))
    return [
        {
            "api_name": name,
            "n": api.n,
            "versions": sorted(api.versions),
            "p50_us": api.latency.percentile(0.5),
            "p99_us": api.latency.percentile(0.99),
            "max_us": api.latency.max_us,
            "n_with_errors": api.n_with_errors,
            "statuses": dict(sorted(api.statuses.items())),
            "request_bytes": api.request_bytes,
            "response_bytes": api.response_bytes,
        }
        for name, api in by_count
    ]


def _add_requests(api: _Api, batch: pa.RecordBatch) -> None:
    api.n += batch.num_rows
    api.versions.update(v for v in pc.unique(batch.column("api_version")).to_pylist() if v is not None)
    statuses: Any = pc.value_counts(batch.column("status"))
    for pair in statuses.to_pylist():
        api.statuses[pair["values"] or "unknown"] += pair["counts"]
    codes = batch.column("error_code").fill_null(0).to_numpy(zero_copy_only=False)
    api.n_with_errors += int(np.count_nonzero(codes))
    api.request_bytes += pc.sum(batch.column("request_bytes")).as_py() or 0
    api.response_bytes += pc.sum(batch.column("response_bytes")).as_py() or 0
    api.latency.add(batch.column("latency_us").drop_null().to_numpy(zero_copy_only=False).astype(np.int64, copy=False))


def errors(dataset: Dataset) -> dict[str, Any]:
    """Which error codes the brokers answered, to which API, how often, and when first and last."""
    found: dict[tuple[str, str], list[int]] = {}
    columns = ["error_name", "api_name", "ts_ns"]
    for batch in scan(dataset, ERRORS, columns):
        grouped = pa.Table.from_batches([batch]).group_by(columns[:2], use_threads=False)
        for row in grouped.aggregate([("ts_ns", "count"), ("ts_ns", "min"), ("ts_ns", "max")]).to_pylist():
            known = found.setdefault(
                (row["error_name"] or "?", row["api_name"] or "?"), [0, row["ts_ns_min"], row["ts_ns_max"]]
            )
            known[:] = known[0] + row["ts_ns_count"], min(known[1], row["ts_ns_min"]), max(known[2], row["ts_ns_max"])
    listed: list[dict[str, Any]] = [
        {"error_name": error, "api_name": api, "n": n, "first_ns": first, "last_ns": last}
        for (error, api), (n, first, last) in found.items()
    ]
    listed.sort(key=lambda row: (-row["n"], row["error_name"], row["api_name"]))
    return {"n": sum(row["n"] for row in listed), "n_kinds": len(listed), "kinds": listed[:MOST_ERRORS]}
