"""What each connection did for each topic-partition, counted block by block: who leads what is told from these counts.

Requests name partitions (asked), responses answer them (confirmed or refused). Replicas' fetches do not count, but for
the raft log's.
"""

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.role_rules import PARTITION_LEADER
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name

RAFT_TOPIC, RAFT_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The raft log of KRaft controllers; its id is fixed (org.apache.kafka.common.Uuid)."""

_LEADER_KEYS = pa.array([key for key in api_keys() if api_name(key) in PARTITION_LEADER.apis], pa.int16())
_REFUSALS = pa.array([code for code in error_codes() if error_name(code) in PARTITION_LEADER.refused_by], pa.int16())
_KEYS = ["conn", "api_key", "topic", "topic_id", "partition"]
_SOURCE = [*_KEYS, "number", "ts_ns", "asked_ns", "direction", "error_code", "from_replica", "preferred_read_replica"]
_SUMS = ("n_requests", "n_confirmed", "n_refused")

COUNTS_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("api_key", pa.int16()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in _SUMS),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("confirmed_first_ns", pa.int64()),
        ("confirmed_last_ns", pa.int64()),
        ("confirmed_ns", pa.int64()),
        ("proof", pa.int64()),
        ("preferred", pa.int32()),
    ]
)
"""Counts of one block. first_ns, last_ns: requests, confirmed_first_ns, confirmed_last_ns: those that an answer proved;
confirmed_ns: first confirming answer; proof: number of the first request that was answered;
preferred: a replica that an answer sent the consumer to (KIP-392), null for none.
"""


def count_partitions(partitions: pa.Table) -> pa.Table:
    """Counts of a block's partition rows (COUNTS_SCHEMA). asked_ns: the request's time, of answers too."""
    rows = partitions.select(_SOURCE)
    raft = pc.or_(
        pc.fill_null(pc.equal(rows["topic"], RAFT_TOPIC), False),
        pc.fill_null(pc.equal(rows["topic_id"], RAFT_TOPIC_ID), False),
    )
    rows = rows.filter(pc.and_(pc.is_in(rows["api_key"], _LEADER_KEYS), pc.or_(pc.invert(rows["from_replica"]), raft)))
    answer = pc.and_(pc.equal(rows["direction"], "response"), pc.is_valid(rows["error_code"]))
    confirmed = pc.and_(answer, pc.fill_null(pc.equal(rows["error_code"], 0), False))
    refused = pc.and_(answer, pc.fill_null(pc.is_in(rows["error_code"], _REFUSALS), False))
    table = rows.select(_KEYS)
    for name, values in (
        ("n_requests", pc.cast(pc.equal(rows["direction"], "request"), pa.int64())),
        ("n_confirmed", pc.cast(confirmed, pa.int64())),
        ("n_refused", pc.cast(refused, pa.int64())),
        ("asked_ns", rows["asked_ns"]),
        ("proven_ns", pc.if_else(confirmed, rows["asked_ns"], None)),
        ("confirmed_ns", pc.if_else(confirmed, rows["ts_ns"], None)),
        ("proof", pc.if_else(answer, rows["number"], None)),
        ("preferred", rows["preferred_read_replica"]),
    ):
        table = table.append_column(name, values)
    sums = [(name, "sum") for name in _SUMS]
    firsts = [(name, how) for name in ("asked_ns", "proven_ns") for how in ("min", "max")]
    firsts += [("confirmed_ns", "min"), ("proof", "min"), ("preferred", "max")]
    grouped = table.group_by(_KEYS, use_threads=False).aggregate([*sums, *firsts])
    names = [*_KEYS, *(f"{name}_sum" for name in _SUMS), "asked_ns_min", "asked_ns_max"]
    names += ["proven_ns_min", "proven_ns_max", "confirmed_ns_min", "proof_min", "preferred_max"]
    return pa.table([grouped[name] for name in names], COUNTS_SCHEMA)
