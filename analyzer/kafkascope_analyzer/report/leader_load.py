"""How evenly the brokers that lead partitions share the clients' reads and writes.

Memory grows with the number of brokers, and with the number of partitions up to MOST_PARTITIONS.
"""

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS, ROLE_ROWS
from kafkascope_parsers.api_keys import FETCH, PRODUCE, SHARE_FETCH

Row = dict[str, Any]

MOST_PARTITIONS = 500_000
MOST_BROKERS = 200


def leader_load(dataset: Dataset) -> Row:
    """Brokers by node id with what clients wrote to and read from them; `skew` is the most loaded one's share of the
    bytes over an even share (1.0 is even), null with fewer than two leaders.
    """
    found: dict[int, Counter[str]] = defaultdict(Counter)
    only = (
        ds.field("api_key").isin(pa.array([PRODUCE, FETCH, SHARE_FETCH], pa.int16())) & ds.field("node_id").is_valid()
    )
    only &= ds.field("replica_id").is_null() | (ds.field("replica_id") < 0)
    for batch in scan(dataset, REQUESTS, ["node_id", "api_key", "record_bytes", "n_records"], only):
        grouped = pa.Table.from_batches([batch]).group_by(["node_id", "api_key"], use_threads=False)
        sums = [("record_bytes", "sum"), ("n_records", "sum"), ("api_key", "count")]
        for row in grouped.aggregate(sums).to_pylist():
            what = "produce" if row["api_key"] == PRODUCE else "fetch"
            counted = found[row["node_id"]]
            counted[f"n_{what}"] += row["api_key_count"]
            counted[f"{what}_bytes"] += row["record_bytes_sum"] or 0
            counted[f"{what}_records"] += row["n_records_sum"] or 0
    led, known = _led(dataset)
    names = ("n_produce", "produce_bytes", "produce_records", "n_fetch", "fetch_bytes", "fetch_records")
    listed = [
        {"node_id": node_id, "n_partitions": led[node_id] if known else None, **{n: counted[n] for n in names}}
        for node_id, counted in sorted(found.items())
    ]
    return {"n": len(listed), "skew": _skew(listed), "listed": listed[:MOST_BROKERS]}


def _skew(listed: list[Row]) -> float | None:
    loads: list[int] = [row["produce_bytes"] + row["fetch_bytes"] for row in listed]
    if len(loads) < 2 or not sum(loads):
        return None
    return 100 * max(loads) * len(loads) // sum(loads) / 100


def _led(dataset: Dataset) -> tuple[Counter[int], bool]:
    """Node id -> partitions that it was seen to lead at any time; False where there are too many to count."""
    nodes: dict[str, int] = {}
    for batch in scan(dataset, CONNECTIONS, ["conn_id", "node_id"], ds.field("node_id").is_valid()):
        if len(nodes) > MOST_PARTITIONS:
            return Counter(), False
        nodes.update(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
    partitions: set[tuple[int, str]] = set()
    only = one_of("role", ["partition_leader"]) & one_of("verdict", ["confirmed"])
    for batch in scan(dataset, ROLE_ROWS, ["conn_id", "subject"], only):
        if len(partitions) > MOST_PARTITIONS:
            return Counter(), False
        for conn_id, subject in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            if conn_id in nodes and subject:
                partitions.add((nodes[conn_id], subject))
    return Counter(node_id for node_id, _ in partitions), True
