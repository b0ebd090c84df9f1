"""Counts of requests and answers by connection and topic-partition, block by block, from which leadership is derived. A
key has one row or several in each block, so a rule joins the rows of all blocks before it judges them.

Requests name partitions (asked), responses answer them (confirmed or refused). Fetches of replicas do not count, except
those of the raft log.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.role_rules import PARTITION_LEADER
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name

RAFT_TOPIC, RAFT_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The raft log of KRaft controllers; its id is fixed (org.apache.kafka.common.Uuid)."""

_NONE, _NO_TEXT, _NO_CODE = -(1 << 63), -1, -(1 << 15)
_NO_REPLICA = -1


class PartitionArrays(NamedTuple):
    """Partition rows for the kernel, n of each, all read-only; empty where a message has no such field.

    topic, topic_id: codes, _NO_TEXT for none; error_code: _NO_CODE for null, empty in requests; preferred: the replica
    that an answer sends the consumer to, below zero for none.
    """

    conn: NDArray[np.int64]
    topic: NDArray[np.int32]
    topic_id: NDArray[np.int32]
    partition: NDArray[np.int32]
    error_code: NDArray[np.int16]
    from_replica: NDArray[np.bool_]
    ts_ns: NDArray[np.int64]
    asked_ns: NDArray[np.int64]
    number: NDArray[np.int64]
    preferred: NDArray[np.int32]


class Answer(NamedTuple):
    """One row of a response. (Kernels pass this instead of the arrays, whose reference counting costs more.)"""

    number: int
    asked_ns: int
    ts_ns: int
    error_code: int


N_KEYS = 5
PROBE_LIMIT = 64
_HASH_BITS, _SPREAD_BITS = (1 << 43) - 1, (1 << 31) - 1
"""Masks that keep the products of the hash below 64 bits."""
_SUMS = ("n_requests", "n_confirmed", "n_refused")


def _flags(chosen: set[int]) -> NDArray[np.bool_]:
    """Returns a lookup table: whether each number is among them."""
    return np.isin(np.arange(max(chosen) + 1), list(chosen))


_IS_LEADER_API = _flags({key for key in api_keys() if api_name(key) in PARTITION_LEADER.apis})
_IS_REFUSAL = _flags({code for code in error_codes() if error_name(code) in PARTITION_LEADER.refused_by})

PROOFS = ("proof", "second_proof", "third_proof")

COUNTS_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("api_key", pa.int16()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("preferred", pa.int32()),
        *((name, pa.int64()) for name in _SUMS),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("confirmed_first_ns", pa.int64()),
        ("confirmed_last_ns", pa.int64()),
        ("answered_first_ns", pa.int64()),
        ("answered_last_ns", pa.int64()),
        *((name, pa.int64()) for name in PROOFS),
    ]
)
"""Counts of one block, by connection, API, topic-partition and preferred: the replica to which answers sent the
consumer (KIP-392), null for none. first_ns, last_ns: times of requests, confirmed_first_ns, confirmed_last_ns: times of
requests that an answer confirmed; answered_first_ns, answered_last_ns: times of confirming answers; PROOFS: numbers of
the first three requests that were confirmed.
"""
_NO_COUNTS = COUNTS_SCHEMA.empty_table()


N_REQUESTS, N_CONFIRMED, N_REFUSED, FIRST_NS, _, CONFIRMED_FIRST_NS, _, ANSWERED_FIRST_NS, _, PROOF, _, _ = range(
    N_KEYS, N_KEYS + 12
)
"""Indices in a row of the kernel: COUNTS_SCHEMA without api_key; the first N_KEYS are the key."""
_NULLS = {"topic": _NO_TEXT, "topic_id": _NO_TEXT, "preferred": _NO_REPLICA}
_COUNTED = [field for field in COUNTS_SCHEMA if field.name != "api_key"]


def count_partitions(partitions: pa.Table, api_key: int, direction: str) -> pa.Table:
    """Returns counts of the partitions in the messages of one API and direction in a block (COUNTS_SCHEMA).

    partitions: conn, ts_ns, number, partition, topic and topic_id (dictionary-encoded), asked_ns (the request's time,
    for answers too), from_replica (whether a broker sent the request), and error_code and preferred_read_replica, where
    the message has them.
    """
    if not (0 <= api_key < len(_IS_LEADER_API) and _IS_LEADER_API[api_key]):
        return _NO_COUNTS
    topics = {name: partitions[name].combine_chunks() for name in ("topic", "topic_id")}
    raft = [_code_of(topics[name], text) for name, text in (("topic", RAFT_TOPIC), ("topic_id", RAFT_TOPIC_ID))]
    found = np.empty((partitions.num_rows, len(_COUNTED)), np.int64)
    slots = np.full(1 << max(2 * partitions.num_rows - 1, 15).bit_length(), -1, np.int32)
    n = count_rows(_arrays(partitions, topics), direction == "response", np.array(raft, np.int64), slots, found)
    columns = {"api_key": pa.repeat(pa.scalar(api_key, pa.int16()), n)}
    for at, field in enumerate(_COUNTED):
        counts = found[:n, at]
        null = counts == _NULLS.get(field.name, _NONE)
        if field.name in topics:
            columns[field.name] = topics[field.name].dictionary.take(pa.array(counts, mask=null))
        else:
            columns[field.name] = pa.array(counts.astype(field.type.to_pandas_dtype()), field.type, mask=null)
    return pa.table([columns[field.name] for field in COUNTS_SCHEMA], COUNTS_SCHEMA)


def _arrays(partitions: pa.Table, topics: dict[str, pa.DictionaryArray]) -> PartitionArrays:
    """Returns the rows as arrays for the kernel: only flags, and columns with nulls, are copied."""

    def values(name: str, none: int, dtype: type[np.generic]) -> NDArray[Any]:
        if name not in partitions.column_names:
            values = np.empty(0, dtype)
        else:
            column = topics[name].indices if name in topics else partitions[name].combine_chunks()
            column = column.fill_null(none) if column.null_count else column
            values = column.to_numpy(zero_copy_only=False)
        values.flags.writeable = False
        return values

    return PartitionArrays(
        values("conn", -1, np.int64),
        values("topic", _NO_TEXT, np.int32),
        values("topic_id", _NO_TEXT, np.int32),
        values("partition", -1, np.int32),
        values("error_code", _NO_CODE, np.int16),
        values("from_replica", False, np.bool_),
        values("ts_ns", 0, np.int64),
        values("asked_ns", 0, np.int64),
        values("number", -1, np.int64),
        values("preferred_read_replica", _NO_REPLICA, np.int32),
    )


def _code_of(texts: pa.DictionaryArray, text: str) -> int:
    """Returns the code of a text; a code that no row has, where the text does not occur."""
    code = pc.index(texts.dictionary, text).as_py()
    return int(code) if code >= 0 else _NO_TEXT - 1


@kernel
def count_rows(
    rows: PartitionArrays,
    answers: bool,
    raft: NDArray[np.int64],
    slots: NDArray[np.int32],
    out: NDArray[np.int64],
) -> int:
    """Aggregates rows of one key. answers: whether the rows belong to responses; raft: codes of the raft log's topic
    and id; slots: slots of a hash table, -1 each, a power of two and at least twice the number of rows; out: int64[n,
    _COUNTED], in which the first rows are written, by the first row of each key. Returns their number.
    """
    n = 0
    for i in range(len(rows.conn)):
        if rows.from_replica[i] and rows.topic[i] != raft[0] and rows.topic_id[i] != raft[1]:
            continue
        at, g = _slot(slots, out, rows, i)
        if g < 0:
            g, n = n, n + 1
            if at >= 0:
                slots[at] = g
            _begin(out, g, rows, i)
        _widen(out, g, FIRST_NS, rows.asked_ns[i])
        if answers:
            _add_answer(out, g, _answer_of(rows, i))
        else:
            out[g, N_REQUESTS] += 1
    return n


@kernel
def _begin(out: NDArray[np.int64], g: int, rows: PartitionArrays, i: int) -> None:
    """Starts count g for row i's key."""
    out[g, 0], out[g, 1], out[g, 2], out[g, 3] = rows.conn[i], rows.topic[i], rows.topic_id[i], rows.partition[i]
    out[g, 4] = _preferred(rows, i)
    out[g, N_KEYS:FIRST_NS] = 0
    out[g, FIRST_NS:] = _NONE


@kernel
def _slot(slots: NDArray[np.int32], out: NDArray[np.int64], rows: PartitionArrays, i: int) -> tuple[int, int]:
    """Returns the slot of row i's key and its count, -1 for none yet; -1 as slot where PROBE_LIMIT slots were taken.
    The key then gets several counts, which are added later, so that no capture can make the search long.
    """
    mixed, preferred = np.int64(0), _preferred(rows, i)
    for part in (np.int64(rows.topic[i]), np.int64(rows.topic_id[i]), np.int64(rows.partition[i]), rows.conn[i]):
        mixed = (mixed * 1_000_003 + part) & _HASH_BITS
    spread = ((mixed ^ (mixed >> 21)) & _SPREAD_BITS) * 0x9E3779B1  # Knuth's multiplicative hash
    at = (spread >> 16) & (len(slots) - 1)
    for _ in range(PROBE_LIMIT):
        g = slots[at]
        if g < 0 or (
            out[g, 0] == rows.conn[i]
            and out[g, 3] == rows.partition[i]
            and out[g, 1] == rows.topic[i]
            and out[g, 2] == rows.topic_id[i]
            and out[g, 4] == preferred
        ):
            return int(at), int(g)
        at = (at + 1) & (len(slots) - 1)
    return -1, -1


@kernel
def _answer_of(rows: PartitionArrays, i: int) -> Answer:
    """Returns row i of a response."""
    error = int(rows.error_code[i]) if len(rows.error_code) else _NO_CODE
    return Answer(rows.number[i], rows.asked_ns[i], rows.ts_ns[i], error)


@kernel
def _preferred(rows: PartitionArrays, i: int) -> int:
    """Returns the replica to which row i sends the consumer."""
    return max(int(rows.preferred[i]), _NO_REPLICA) if len(rows.preferred) else _NO_REPLICA


@kernel
def _add_answer(out: NDArray[np.int64], g: int, answer: Answer) -> None:
    """Adds an answer to count g; without an error code it proves nothing."""
    _prove(out, g, answer.number)
    if answer.error_code == 0:
        out[g, N_CONFIRMED] += 1
        _widen(out, g, CONFIRMED_FIRST_NS, answer.asked_ns)
        _widen(out, g, ANSWERED_FIRST_NS, answer.ts_ns)
    elif 0 < answer.error_code < len(_IS_REFUSAL) and _IS_REFUSAL[answer.error_code]:
        out[g, N_REFUSED] += 1


@kernel
def _least(out: NDArray[np.int64], g: int, at: int, value: int) -> None:
    """Keeps the smaller of the stored and the new value."""
    out[g, at] = value if out[g, at] == _NONE else min(out[g, at], value)


@kernel
def _prove(out: NDArray[np.int64], g: int, number: int) -> None:
    """Adds a request's number to the smallest ones that count g has, each once."""
    if out[g, PROOF + len(PROOFS) - 1] != _NONE and number > out[g, PROOF + len(PROOFS) - 1]:
        return  # the usual case: requests come in order
    for at in range(PROOF, PROOF + len(PROOFS)):
        known = out[g, at]
        if known == number:
            return
        if known == _NONE or number < known:
            out[g, at] = number
            if known == _NONE:
                return
            number = known


@kernel
def _widen(out: NDArray[np.int64], g: int, at: int, value: int) -> None:
    """Updates the first and the last value, which are in neighbouring columns."""
    _least(out, g, at, value)
    out[g, at + 1] = max(out[g, at + 1], value)
