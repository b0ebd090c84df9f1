"""What each connection did for each topic-partition, counted block by block: who leads what is told from these counts.

Requests name partitions (asked), responses answer them (confirmed or refused). Replicas' fetches do not count, but for
the raft log's.
"""

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from kafkascope_analyzer.connections.role_rules import PARTITION_LEADER
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name

RAFT_TOPIC, RAFT_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The raft log of KRaft controllers; its id is fixed (org.apache.kafka.common.Uuid)."""

_LEADER_KEYS = frozenset(key for key in api_keys() if api_name(key) in PARTITION_LEADER.apis)
_REFUSALS = np.array([code for code in error_codes() if error_name(code) in PARTITION_LEADER.refused_by], np.int16)
_SUMS = ("n_requests", "n_confirmed", "n_refused")
_ASKED, _CONFIRMED, _REFUSED, _OTHER = range(4)
_NEVER = np.iinfo(np.int64).max
_HASH = np.uint64(0x9E3779B97F4A7C15)

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
        ("confirmed_ns", pa.int64()),
        ("proof", pa.int64()),
        ("preferred", pa.int32()),
    ]
)
"""Counts of one block and direction; confirmed_ns: first confirming answer; proof: number of the first request that was
answered; preferred: a replica that an answer sent the consumer to (KIP-392), null for none.
"""
_FIRST, _LAST, _CONFIRMED_AT, _PROOF, _PREFERRED = range(len(_SUMS), len(_SUMS) + 5)
_N_TOTALS = len(_SUMS) + 5


def count_partitions(rows: pa.Table, api_key: int, direction: str, from_replica: NDArray[np.bool_]) -> pa.Table:
    """Counts of the partitions that one message names (COUNTS_SCHEMA).

    rows: conn, number, ts_ns and the columns of its part_schema; from_replica: bool per row, whether a broker fetches.
    """
    if api_key not in _LEADER_KEYS:
        return COUNTS_SCHEMA.empty_table()
    topic, topic_id = (rows[name].combine_chunks() for name in ("topic", "topic_id"))
    kept = np.flatnonzero(~from_replica | _coded(topic, RAFT_TOPIC) | _coded(topic_id, RAFT_TOPIC_ID))
    columns = (rows["conn"].to_numpy(), _codes(topic), _codes(topic_id), rows["partition"].to_numpy())
    keys = np.stack([column[kept].astype(np.int64, copy=False) for column in columns], 1)
    facts = np.stack(
        [
            rows["number"].to_numpy()[kept],
            rows["ts_ns"].to_numpy()[kept],
            _verdicts(rows, direction)[kept],
            _numbers(rows, "preferred_read_replica", -1)[kept],
        ],
        1,
    )
    first, totals = np.empty(len(keys), np.int64), np.empty((len(keys), _N_TOTALS), np.int64)
    slots = np.zeros(1 << int(2 * len(keys) + 1).bit_length(), np.int32)
    n = _count(keys, facts, slots, first, totals)
    return _counts(keys[first[:n]], totals[:n], api_key, (topic.dictionary, topic_id.dictionary))


def _counts(
    keys: NDArray[np.int64], totals: NDArray[np.int64], api_key: int, texts: tuple[pa.Array, pa.Array]
) -> pa.Table:
    conn, topic, topic_id, partition = keys.T
    columns = {
        "conn": pa.array(np.ascontiguousarray(conn)),
        "api_key": pa.array(np.full(len(keys), api_key, np.int16)),
        "topic": texts[0].take(pa.array(topic, mask=topic < 0)),
        "topic_id": texts[1].take(pa.array(topic_id, mask=topic_id < 0)),
        "partition": pa.array(partition.astype(np.int32)),
        "first_ns": pa.array(np.ascontiguousarray(totals[:, _FIRST])),
        "last_ns": pa.array(np.ascontiguousarray(totals[:, _LAST])),
        "preferred": pa.array(totals[:, _PREFERRED].astype(np.int32), mask=totals[:, _PREFERRED] < 0),
    }
    columns |= {name: pa.array(np.ascontiguousarray(totals[:, i])) for i, name in enumerate(_SUMS)}
    for name, i in (("confirmed_ns", _CONFIRMED_AT), ("proof", _PROOF)):
        columns[name] = pa.array(np.ascontiguousarray(totals[:, i]), mask=totals[:, i] == _NEVER)
    return pa.table([columns[name] for name in COUNTS_SCHEMA.names], COUNTS_SCHEMA)


def _codes(texts: pa.DictionaryArray) -> NDArray[np.int64]:
    """Codes of dictionary-coded texts, -1 for null."""
    return np.asarray(texts.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False))


def _coded(texts: pa.DictionaryArray, wanted: str) -> NDArray[np.bool_]:
    """Which of dictionary-coded texts are the wanted one."""
    at = texts.dictionary.index(wanted).as_py()
    return _codes(texts) == at if at >= 0 else np.zeros(len(texts), np.bool_)


def _numbers(rows: pa.Table, name: str, default: int) -> NDArray[np.int64]:
    """An integer column with a default for nulls; all default where the table has none."""
    if name not in rows.column_names:
        return np.full(rows.num_rows, default, np.int64)
    return np.asarray(rows[name].cast(pa.int64()).fill_null(default).to_numpy())


def _verdicts(rows: pa.Table, direction: str) -> NDArray[np.int64]:
    """What each row says of its partition."""
    if direction == "request":
        return np.full(rows.num_rows, _ASKED, np.int64)
    no_code = np.iinfo(np.int16).max
    codes = _numbers(rows, "error_code", no_code)
    refused = np.where(np.isin(codes, _REFUSALS), _REFUSED, _OTHER)
    return np.where(codes == 0, _CONFIRMED, np.where(codes == no_code, -1, refused))


@njit(cache=True, nogil=True)
def _count(keys, facts, slots, first, totals):  # type: ignore[no-untyped-def]
    """Groups rows by their keys int64[n, 4] and adds up facts int64[n, 4] (number, ts_ns, verdict, preferred).

    slots: zeros, a power of two above twice n. Fills first (row that opened each group) and totals; returns the number
    of groups, in the order of their first rows.
    """
    n_groups = 0
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        h = np.uint64(0)
        for k in range(keys.shape[1]):
            h = (h ^ np.uint64(keys[i, k])) * _HASH
            h ^= h >> np.uint64(29)
        at = h & mask
        group = -1
        while slots[at] != 0:
            group = slots[at] - 1
            same = True
            for k in range(keys.shape[1]):
                same = same and keys[first[group], k] == keys[i, k]
            if same:
                break
            group = -1
            at = (at + np.uint64(1)) & mask
        if group < 0:
            group = n_groups
            n_groups += 1
            slots[at] = n_groups
            first[group] = i
            totals[group, :_FIRST] = 0
            totals[group, _FIRST:] = _NEVER
            totals[group, _LAST] = facts[i, 1]
            totals[group, _PREFERRED] = -1
        number, ts_ns, verdict, preferred = facts[i, 0], facts[i, 1], facts[i, 2], facts[i, 3]
        totals[group, _FIRST] = min(totals[group, _FIRST], ts_ns)
        totals[group, _LAST] = max(totals[group, _LAST], ts_ns)
        totals[group, _PREFERRED] = max(totals[group, _PREFERRED], preferred)
        if verdict >= 0 and verdict < _FIRST:
            totals[group, verdict] += 1
        if verdict == _CONFIRMED:
            totals[group, _CONFIRMED_AT] = min(totals[group, _CONFIRMED_AT], ts_ns)
        if verdict > _ASKED:
            totals[group, _PROOF] = min(totals[group, _PROOF], number)
    return n_groups
