"""Second pass over a bucket: spilled rows become rows of the contract, with names, node ids and topics filled in.

Each function takes one spilled batch and facts about connections and the cluster, and returns the table's rows.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.connections.roles import verdicts
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables import (
    ERRORS,
    OUT_OF_RANGE,
    PARTITIONS,
    RECORD_BATCHES,
    RECORDS,
    REQUEST_STATUSES,
    REQUESTS,
    ROLE_ROWS,
    TCP_EVENT_KINDS,
    TCP_EVENTS,
    TOPOLOGY,
    UNDECODED,
)
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.resolve.cluster_column import coded
from kafkascope_analyzer.scan.errors import coded_error_names, error_names, retriable
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.record_batches import batch_rows
from kafkascope_parsers.schema import api_keys, api_name

_NS_PER_US = 1000
_API_NAMES = pa.array([api_name(key) for key in range(max(api_keys()) + 1)])


@dataclass(frozen=True, slots=True)
class Names:
    """The columns that spilled rows get by connection number, and the topic names and the name of their cluster.

    conn: columns conn_id, client_ip, client_port, server_ip, server_port, node_id, client_side and decoded_by by
    connection number.
    """

    conn: pa.Table
    topics: TopicNames
    cluster: str

    def of(self, rows: pa.Table, table: Table) -> dict[str, pa.ChunkedArray]:
        """Returns the columns of the connection that the table has, for each row; request_id where rows
        have a number."""
        wanted = [name for name in self.conn.column_names if name in table.schema.names]
        taken = self.conn.select(wanted).take(rows["conn"])
        out = {name: taken[name] for name in wanted}
        if "cluster" in table.schema.names:
            out["cluster"] = coded(self.cluster, rows.num_rows)
        if "number" in rows.column_names:
            out["request_id"] = self.request_ids(rows["conn"].to_numpy(), rows["number"].to_numpy())
        return out

    def request_ids(self, conn: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
        """Returns ids of requests from connection number and number on the connection."""
        return request_ids(flat(self.conn["conn_id"]), conn, numbers)

    def coded(self, name: str, conn: NDArray[np.int64]) -> pa.DictionaryArray:
        """Returns a text of the connection for each row, dictionary-encoded; the dictionary holds those that occur."""
        column = flat(self.conn[name])
        occurs = np.zeros(len(column), np.bool_)
        occurs[conn] = True
        code = np.cumsum(occurs, dtype=np.int32) - 1
        return pa.DictionaryArray.from_arrays(pa.array(code[conn]), column.take(pa.array(np.flatnonzero(occurs))))


def _rows(table: Table, columns: dict[str, pa.ChunkedArray | pa.Array], n: int) -> pa.Table:
    """Returns the table's columns, taken from columns by name; `*_ts` are made from `*_ns`, the rest is null. The
    cluster is dictionary-encoded."""
    arrays, schema = [], _coded_cluster(table.schema)
    nulls = cache(partial(pa.nulls, n))  # one array of each type, whose memory its columns share
    for field in schema:
        if field.name in columns:
            values = flat(columns[field.name])
            arrays.append(values if values.type == field.type else values.cast(field.type))
        elif field.name.removesuffix("ts") + "ns" in columns or (field.name == "ts" and "ts_ns" in columns):
            source = "ts_ns" if field.name == "ts" else field.name.removesuffix("ts") + "ns"
            arrays.append(microseconds(flat(columns[source])))
        else:
            arrays.append(nulls(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _coded_cluster(schema: pa.Schema) -> pa.Schema:
    at = schema.get_field_index("cluster")
    return schema if at < 0 else schema.set(at, schema.field(at).with_type(CODED_TEXT))


def _own(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: rows[name] for name in rows.column_names}


def _api_names(keys: pa.ChunkedArray) -> pa.Array:
    return _API_NAMES.take(pc.if_else(pc.and_(pc.greater_equal(keys, 0), pc.less(keys, len(_API_NAMES))), keys, None))


def request_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `requests` from completed exchanges."""
    columns = _own(rows) | names.of(rows, REQUESTS)
    columns["api_name"] = _api_names(rows["api_key"])
    columns["error_name"] = error_names(flat(rows["error_code"]))
    columns["latency_us"] = pc.cast(
        pc.divide(pc.subtract(rows["response_ns"], rows["request_last_ns"]), _NS_PER_US), pa.int64()
    )
    free_ns = pc.add(rows["request_last_ns"], rows["queued_ns"])
    columns["broker_us"] = pc.cast(pc.divide(pc.subtract(rows["response_ns"], free_ns), _NS_PER_US), pa.int64())
    columns["queued_us"] = pc.subtract(columns["latency_us"], columns["broker_us"])
    empty = pc.equal(rows["member_id"], "")
    columns["member_id"] = pc.coalesce(
        pc.if_else(empty, None, rows["member_id"]), rows["answer_member_id"], rows["member_id"]
    )
    columns["producer_id"] = pc.coalesce(rows["producer_id"], rows["answer_producer_id"])
    columns["producer_epoch"] = pc.coalesce(rows["producer_epoch"], rows["answer_producer_epoch"])
    begins = pc.equal(rows["fetch_session_id"], 0)
    columns["fetch_session_id"] = pc.coalesce(
        pc.if_else(begins, None, rows["fetch_session_id"]), rows["answer_fetch_session_id"], rows["fetch_session_id"]
    )
    columns["n_partitions"] = pc.max_element_wise(rows["n_partitions"], rows["answer_n_partitions"])
    columns["n_records"] = pc.coalesce(rows["n_records"], rows["answer_n_records"])
    columns["record_bytes"] = pc.coalesce(rows["record_bytes"], rows["answer_record_bytes"])
    columns["status"] = pa.array(REQUEST_STATUSES).take(rows["status"])
    return _rows(REQUESTS, columns, rows.num_rows)


_CODED_PARTITIONS = pa.schema(
    [f.with_type(CODED_TEXT) if pa.types.is_string(f.type) and f.name != "request_id" else f for f in PARTITIONS.schema]
)


def partition_rows(rows: pa.Table, message: tuple[int, str], names: Names) -> pa.Table:
    """Returns rows of `partitions` of one message (API key, direction), with texts dictionary-encoded: few distinct
    ones occur in many rows."""
    n = rows.num_rows
    conn = rows["conn"].to_numpy()
    columns = {name: flat(rows[name]) for name in rows.column_names}
    columns["request_id"] = names.request_ids(conn, rows["number"].to_numpy())
    columns["conn_id"] = names.coded("conn_id", conn)
    columns["cluster"] = coded(names.cluster, n)
    columns["ts"] = microseconds(columns["ts_ns"])
    columns["api_key"] = pa.array(np.full(n, message[0], np.int16))
    columns["direction"] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([message[1]]))
    columns["topic"] = names.topics.complete_coded(columns["topic"], columns["topic_id"])
    if "error_code" in columns:
        columns["error_name"] = coded_error_names(columns["error_code"])
    nulls = cache(partial(pa.nulls, n))  # one array of each type, whose memory its columns share
    arrays = [columns[f.name] if f.name in columns else nulls(f.type) for f in _CODED_PARTITIONS]
    return pa.Table.from_arrays(arrays, schema=_CODED_PARTITIONS)


def record_batch_rows(sets: pa.Table, batches: NDArray[np.void], names: Names) -> pa.Table:
    """Returns rows of `record_batches`, from record sets and their batches."""
    shared = {name: sets[name] for name in RECORD_BATCHES.schema.names if name in sets.column_names}
    shared |= names.of(sets, RECORD_BATCHES)
    shared["topic"] = names.topics.complete(sets["topic"], sets["topic_id"])
    shared["ts"] = microseconds(flat(sets["ts_ns"]))
    return batch_rows(pa.table(shared), sets["n_batches"].to_numpy(), batches)


def record_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `records`."""
    columns = _own(rows) | names.of(rows, RECORDS)
    columns["topic"] = names.topics.complete(rows["topic"], rows["topic_id"])
    return _rows(RECORDS, columns, rows.num_rows)


def error_table_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `errors`."""
    columns = _own(rows) | names.of(rows, ERRORS)
    topic = names.topics.complete(rows["topic"], rows["topic_id"])
    columns["topic"] = topic
    columns["api_name"] = _api_names(rows["api_key"])
    columns["error_name"] = error_names(flat(rows["error_code"]))
    columns["retriable"] = retriable(flat(rows["error_code"]))
    place = pc.binary_join_element_wise(topic, pc.cast(rows["partition"], pa.string()), "-")
    node = pc.binary_join_element_wise("node", pc.cast(columns["node_id"], pa.string()), " ")
    columns["resource"] = pc.coalesce(place, topic, rows["group_id"], rows["transactional_id"], node)
    return _rows(ERRORS, columns, rows.num_rows)


def topology_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `topology`: a fact keeps the node that it names, not the one that sent it."""
    columns = names.of(rows, TOPOLOGY) | _own(rows)
    columns["topic"] = names.topics.complete(rows["topic"], rows["topic_id"])
    return _rows(TOPOLOGY, columns, rows.num_rows)


def _is_client(rows: pa.Table, names: Names) -> NDArray[np.bool_]:
    """Whether each row's side is the client."""
    side = names.conn["client_side"].to_numpy()[rows["conn"].to_numpy()]
    return np.asarray(rows["side"].to_numpy() == side)


def event_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `tcp_events`."""
    columns = _own(rows) | names.of(rows, TCP_EVENTS)
    columns["side"] = pa.array(["server", "client"]).take(pa.array(_is_client(rows, names).astype(np.int8)))
    columns["event"] = pa.array(TCP_EVENT_KINDS).take(rows["kind"])
    return _rows(TCP_EVENTS, columns, rows.num_rows)


def undecoded_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `undecoded`."""
    columns = _own(rows) | names.of(rows, UNDECODED)
    columns["direction"] = pa.array(["response", "request"]).take(pa.array(_is_client(rows, names).astype(np.int8)))
    return _rows(UNDECODED, columns, rows.num_rows)


def out_of_range_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `out_of_range`."""
    columns = _own(rows) | names.of(rows, OUT_OF_RANGE)
    columns["api_name"] = _api_names(rows["api_key"])
    return _rows(OUT_OF_RANGE, columns, rows.num_rows)


def role_rows(rows: pa.Table, names: Names) -> pa.Table:
    """Returns rows of `roles` from aggregated counts."""
    columns = _own(rows) | names.of(rows, ROLE_ROWS)
    for name in ("first_ns", "last_ns"):
        proven = pc.if_else(pc.greater(rows["n_confirmed"], 0), rows[f"confirmed_{name}"], None)
        columns[name] = pc.coalesce(proven, rows[name])
    columns["verdict"] = verdicts(rows["n_confirmed"], rows["n_refused"])
    evidence = flat(rows["evidence"])
    conn = flat(rows["conn"]).take(pc.list_parent_indices(evidence))
    ids = names.request_ids(conn.to_numpy(), pc.list_flatten(evidence).to_numpy())
    columns["evidence"] = pa.ListArray.from_arrays(evidence.offsets, ids)
    return _rows(ROLE_ROWS, columns, rows.num_rows)
