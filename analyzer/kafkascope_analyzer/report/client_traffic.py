"""How each client sends and fetches: records a request, batch sizes, acks, compression, empty fetches.

A client is an address and a client id, so that this needs no stories. A Produce request carries one batch a partition
(Kafka 0.11 and later), so its bytes over its partitions are a batch. Compression is known where batches were read
(`--record-batches`). Memory grows with the number of clients, up to MOST_KNOWN.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, RECORD_BATCHES, REQUESTS
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH

Row = dict[str, Any]
Client = tuple[str | None, str | None]

MOST_CLIENTS = 200
MOST_KNOWN = 20_000
"""Clients that are counted apart; those that come after are counted together."""
_OTHERS: Client = (None, "(other clients)")
_CLIENT = ["client_ip", "client_id"]
_SUMS = ["n_records", "record_bytes", "n_partitions", "request_bytes", "response_bytes"]


@dataclass(slots=True)
class _Traffic:
    """What is counted of a client: by `produce` and `fetch`, requests and the sums of _SUMS."""

    n_requests: int = 0
    produce: Counter[str] = field(default_factory=Counter)
    fetch: Counter[str] = field(default_factory=Counter)
    acks: Counter[int] = field(default_factory=Counter)
    max_wait_ms: Counter[int] = field(default_factory=Counter)
    min_bytes: Counter[int] = field(default_factory=Counter)
    codecs: Counter[str] = field(default_factory=Counter)


def client_traffic(dataset: Dataset) -> Row:
    """Clients by the bytes of records that they moved; `codecs_known` says whether compression was read."""
    found: dict[Client, _Traffic] = {}
    columns = [*_CLIENT, "api_key", "acks", "max_wait_ms", "min_bytes", "replica_id", *_SUMS]
    for batch in scan(dataset, REQUESTS, columns, _of_a_client()):
        _add(found, batch)
    known = _add_codecs(dataset, found)
    busy = [(client, traffic) for client, traffic in found.items() if traffic.produce or traffic.fetch]
    busy.sort(key=lambda item: (-item[1].produce["record_bytes"] - item[1].fetch["record_bytes"], *map(str, item[0])))
    return {
        "codecs_known": known,
        "n": len(busy),
        "listed": [_told(client, traffic) for client, traffic in busy[:MOST_CLIENTS]],
    }


def _of_a_client() -> ds.Expression:
    """The filter: no follower's fetch."""
    return ds.field("replica_id").is_null() | (ds.field("replica_id") < 0)


def _of(found: dict[Client, _Traffic], client: Client) -> _Traffic:
    if client not in found and len(found) >= MOST_KNOWN:
        client = _OTHERS
    return found.setdefault(client, _Traffic())


def _add(found: dict[Client, _Traffic], batch: pa.RecordBatch) -> None:
    table = pa.Table.from_batches([batch])
    empty = pc.equal(pc.fill_null(table["n_records"], 0), 0)
    table = table.append_column("empty", empty)
    sums = [*((name, "sum") for name in _SUMS), ("empty", "sum"), ("api_key", "count")]
    for row in table.group_by([*_CLIENT, "api_key"], use_threads=False).aggregate(sums).to_pylist():
        traffic = _of(found, (row["client_ip"], row["client_id"]))
        traffic.n_requests += row["api_key_count"]
        counted = {PRODUCE: traffic.produce, FETCH: traffic.fetch, SHARE_FETCH: traffic.fetch}.get(row["api_key"])
        if counted is not None:
            counted.update({name: row[f"{name}_sum"] or 0 for name in [*_SUMS, "empty"]})
            counted["n"] += row["api_key_count"]
    for name in ("acks", "max_wait_ms", "min_bytes"):
        some = table.filter(pc.is_valid(table[name])).group_by([*_CLIENT, name], use_threads=False)
        for row in some.aggregate([("api_key", "count")]).to_pylist():
            getattr(_of(found, (row["client_ip"], row["client_id"])), name)[row[name]] += row["api_key_count"]


def _add_codecs(dataset: Dataset, found: dict[Client, _Traffic]) -> bool:
    """Counts batches that clients sent by compression; False where none were read."""
    by_connection: Counter[tuple[str, str]] = Counter()
    only = (ds.field("api_key") == PRODUCE) & ds.field("control").is_null()
    for batch in scan(dataset, RECORD_BATCHES, ["conn_id", "codec", "bytes"], only):
        grouped = pa.Table.from_batches([batch]).group_by(["conn_id", "codec"], use_threads=False)
        for row in grouped.aggregate([("bytes", "count")]).to_pylist():
            by_connection[row["conn_id"], row["codec"] or "unknown"] += row["bytes_count"]
    conn_ids = sorted({conn_id for conn_id, _ in by_connection})
    columns = ["conn_id", "client_ip", "client_ids"]
    who: dict[str, Client] = {}
    for batch in scan(dataset, CONNECTIONS, columns, one_of("conn_id", conn_ids)):
        for row in batch.to_pylist():
            who[row["conn_id"]] = row["client_ip"], next(iter(row["client_ids"] or ()), None)
    for (conn_id, codec), n in sorted(by_connection.items()):
        if conn_id in who:
            _of(found, who[conn_id]).codecs[codec] += n
    return bool(by_connection)


def _told(client: Client, traffic: _Traffic) -> Row:
    produce, fetch = traffic.produce, traffic.fetch
    return {
        "client_ip": client[0],
        "client_id": client[1],
        "n_requests": traffic.n_requests,
        "produce": None
        if not produce
        else {
            **_figures(produce),
            "bytes_a_batch": _over(produce["record_bytes"], produce["n_partitions"]),
            "acks": {str(acks): n for acks, n in sorted(traffic.acks.items())},
            "codecs": dict(sorted(traffic.codecs.items())),
        },
        "fetch": None
        if not fetch
        else {
            **_figures(fetch),
            "n_empty": fetch["empty"],
            "max_wait_ms": _commonest(traffic.max_wait_ms),
            "min_bytes": _commonest(traffic.min_bytes),
        },
        "requests_a_record": _over(traffic.n_requests, produce["n_records"] + fetch["n_records"], 1000),
    }


def _figures(counted: Counter[str]) -> Row:
    return {
        "n": counted["n"],
        "n_records": counted["n_records"],
        "record_bytes": counted["record_bytes"],
        "records_a_request": _over(counted["n_records"], counted["n"], 1000),
        "bytes_a_request": _over(counted["record_bytes"], counted["n"]),
    }


def _over(part: int, whole: int, scale: int = 1) -> int | float | None:
    """The quotient, rounded down to a whole number, or to thousandths; None over nothing."""
    if not whole:
        return None
    return part // whole if scale == 1 else part * scale // whole / scale


def _commonest(counted: Counter[int]) -> int | None:
    return min(counted, key=lambda value: (-counted[value], value)) if counted else None
