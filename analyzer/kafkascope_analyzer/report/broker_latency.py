"""How fast each broker answered each API, and how much of it was the broker's and how much the network's.

broker: last byte of the request to first byte of the answer, as the capture saw it (`requests.latency_us`). network:
the bytes' own time on the way, first to last byte of the request and of the answer. What the way there and back adds
to the broker's time depends on where the capture was taken: `round_trip`, from SYN to SYN-ACK, tells.
Memory grows with the number of brokers and APIs.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_analyzer.report.latency import Histogram
from kafkascope_analyzer.report.words import address

Row = dict[str, Any]
Server = tuple[int | None, str | None]

MOST_PAIRS = 500
"""Pairs of API and broker in report.json, those with the most requests."""
_PLACE = ["node_id", "server_ip", "server_port"]
_TIMES = ["ts_ns", "request_last_ns", "response_ns", "response_last_ns"]


@dataclass(slots=True)
class _Pair:
    broker: Histogram = field(default_factory=Histogram)
    network: Histogram = field(default_factory=Histogram)


def broker_latency(dataset: Dataset) -> Row:
    """`brokers`: round trips by broker; `listed`: API and broker, the pairs with most requests first."""
    pairs: dict[tuple[str, Server], _Pair] = defaultdict(_Pair)
    for batch in scan(dataset, REQUESTS, ["api_name", *_PLACE, "latency_us", *_TIMES]):
        answered = batch.filter(pc.is_valid(batch.column("latency_us")))
        network_us = _network_us(answered)
        latencies_us = answered.column("latency_us").to_numpy(zero_copy_only=False)
        for (api, *place), picked in _groups(answered, ["api_name", *_PLACE]):
            pair = pairs[api or "?", _server(*place)]
            pair.broker.add(latencies_us[picked])
            pair.network.add(network_us[picked])
    listed = [_told(api, server, pair) for (api, server), pair in pairs.items()]
    listed.sort(key=lambda row: (-row["n"], row["api_name"], row["node_id"] or -1, row["address"] or ""))
    return {"brokers": _round_trips(dataset), "n": len(listed), "listed": listed[:MOST_PAIRS]}


def _server(node_id: int | None, ip: str | None, port: int | None) -> Server:
    """A broker by its node id; by its address where that is not known."""
    return (node_id, None) if node_id is not None else (None, address(ip, port))


def _network_us(batch: pa.RecordBatch) -> np.ndarray[Any, np.dtype[np.int64]]:
    """First to last byte of the request and of the answer, int64 microseconds."""
    first, last, answer, end = (batch.column(name) for name in _TIMES)
    way = pc.add(pc.subtract(pc.coalesce(last, first), first), pc.subtract(pc.coalesce(end, answer), answer))
    nanoseconds = way.fill_null(0).to_numpy(zero_copy_only=False)
    found: np.ndarray[Any, np.dtype[np.int64]] = nanoseconds // 1000
    return found


def _groups(batch: pa.RecordBatch, names: list[str]) -> Any:
    """(values of the columns, row numbers) of each group of the batch, in order of appearance."""
    table = pa.Table.from_batches([batch]).select(names).append_column("row", pa.array(np.arange(batch.num_rows)))
    grouped = table.group_by(names, use_threads=False).aggregate([("row", "list")])
    picked = grouped.column("row_list").combine_chunks()
    for number, key in enumerate(grouped.select(names).to_pylist()):
        yield tuple(key[name] for name in names), picked[number].values.to_numpy(zero_copy_only=False)


def _told(api: str, server: Server, pair: _Pair) -> Row:
    told = {"api_name": api, "node_id": server[0], "address": server[1], "n": pair.broker.n}
    for name, found in (("broker", pair.broker), ("network", pair.network)):
        told |= {f"{name}_p50_us": found.percentile(0.5), f"{name}_p99_us": found.percentile(0.99)}
    return {**told, "max_us": pair.broker.max_us}


def _round_trips(dataset: Dataset) -> list[Row]:
    """Handshakes by broker: how many, median and 99th percentile."""
    found: dict[Server, Histogram] = defaultdict(Histogram)
    for batch in scan(dataset, CONNECTIONS, [*_PLACE, "handshake_us"], one_of("protocol", ["kafka"])):
        seen = batch.filter(pc.is_valid(batch.column("handshake_us")))
        handshakes_us = seen.column("handshake_us").to_numpy(zero_copy_only=False)
        for place, picked in _groups(seen, _PLACE):
            found[_server(*place)].add(handshakes_us[picked])
    in_order = sorted(found.items(), key=lambda item: (item[0][0] is None, item[0][0] or 0, item[0][1] or ""))
    return [
        {
            "node_id": node_id,
            "address": where,
            "n_handshakes": known.n,
            "round_trip_p50_us": known.percentile(0.5),
            "round_trip_p99_us": known.percentile(0.99),
        }
        for (node_id, where), known in in_order[:MOST_PAIRS]
    ]
