"""Facts about the client and the group of each connection, from its messages and records."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.group_protocols import PROTOCOLS

TERMS = ("session_timeout_ms", "rebalance_timeout_ms", "heartbeat_interval_ms")
_TERMS_IN: Mapping[str, tuple[str, ...]] = {
    "JoinGroup/request": ("session_timeout_ms", "rebalance_timeout_ms"),
    **{
        f"{api}/response": ("heartbeat_interval_ms",)
        for protocol in PROTOCOLS
        for api, messages in protocol.messages.items()
        if messages.assignment
    },
}
"""Messages with time limits of a group (timeouts and intervals), and the fields that hold them."""
ConnectionValues = tuple[pa.Array, pa.Array]
"""Ids of connections, and a value for each."""


def learned_rows(read_messages: MessageReader, producer_ids: Iterable[ConnectionValues]) -> pa.Table:
    """Returns one row per connection with facts: conn_id; servers, the `host:port` of the brokers in Metadata
    responses; producer_ids of the records written on it; the largest value of each of TERMS. producer_ids: results of
    spilled_ids."""
    servers = _distinct(_servers(read_messages), pa.string())
    producers = _distinct(producer_ids, pa.int64())
    terms = _terms(read_messages)
    conn_ids = pc.unique(pa.concat_arrays([servers["conn_id"], producers["conn_id"], terms["conn_id"]]))
    at = pc.index_in(conn_ids, terms["conn_id"])
    return pa.table(
        {
            "conn_id": conn_ids,
            "servers": _lists(conn_ids, servers),
            "producer_ids": _lists(conn_ids, producers),
            **{name: terms[name].take(at) for name in TERMS},
        }
    )


def _servers(read_messages: MessageReader) -> Iterator[ConnectionValues]:
    """Yields connections and the `host:port` of brokers in Metadata responses."""
    for batch in read_messages("Metadata/response", ["conn_id", "brokers"]):
        brokers = batch.column("brokers")
        named = pc.list_flatten(brokers)
        port = pc.struct_field(named, "port").cast(pa.string())
        server = pc.binary_join_element_wise(pc.struct_field(named, "host"), port, ":")
        yield batch.column("conn_id").take(pc.list_parent_indices(brokers)), server


def spilled_ids(spill: Path, conn_ids: pa.Array) -> Iterator[ConnectionValues]:
    """Yields connections and the producer ids of the records in their requests. conn_ids: connection ids by connection
    number."""
    for batch in read_spill(spill, spill_name(PRODUCE, "request"), ["conn", "producer_id"]):
        rows = batch.filter(pc.is_valid(batch["producer_id"])).group_by(batch.column_names, use_threads=False)
        distinct = rows.aggregate([]).combine_chunks()
        yield conn_ids.take(flat(distinct["conn"])), flat(distinct["producer_id"])


def _distinct(pairs: Iterable[ConnectionValues], kind: pa.DataType) -> dict[str, pa.Array]:
    """Returns the distinct pairs (conn_id, value), sorted, without nulls."""
    found = pa.table([pa.array([], pa.string()), pa.array([], kind)], ["conn_id", "value"])
    for conn_id, value in pairs:
        more = pa.table([conn_id, value], found.column_names).filter(pc.is_valid(value))
        found = pa.concat_tables([found, more]).group_by(found.column_names, use_threads=False).aggregate([])
    found = found.sort_by([("conn_id", "ascending"), ("value", "ascending")]).combine_chunks()
    return {
        name: pa.concat_arrays([pa.array([], found[name].type), *found[name].chunks]) for name in found.column_names
    }


def _lists(conn_ids: pa.Array, pairs: dict[str, pa.Array]) -> pa.Array:
    """Returns the values of each connection as a list, empty where there are none. pairs: a result of _distinct."""
    place = pc.index_in(pairs["conn_id"], conn_ids).to_numpy().astype(np.int64)
    order = np.argsort(place, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(conn_ids)))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pairs["value"].take(pa.array(order)))


def _terms(read_messages: MessageReader) -> dict[str, pa.Array]:
    """Returns conn_id and TERMS of the connections on which one of those messages was sent."""
    schema = pa.schema([("conn_id", pa.string()), *((name, pa.int32()) for name in TERMS)])
    found = schema.empty_table()
    largest = [(name, "max") for name in TERMS]
    for message, fields in _TERMS_IN.items():
        for batch in read_messages(message, ["conn_id", *fields]):
            n = batch.num_rows
            columns = [
                batch.column(f.name) if f.name in fields else pa.nulls(n, f.type) for f in schema if f.name in TERMS
            ]
            more = pa.table([batch.column("conn_id"), *columns], schema)
            found = pa.concat_tables([found, more]).group_by("conn_id", use_threads=False).aggregate(largest)
            found = found.select(["conn_id", *(f"{name}_max" for name in TERMS)]).rename_columns(schema.names)
    return _columns(found)


def _columns(table: pa.Table) -> dict[str, pa.Array]:
    """Returns the columns of a table, each as one array."""
    return {f.name: pa.concat_arrays([pa.array([], f.type), *table[f.name].chunks]) for f in table.schema}
