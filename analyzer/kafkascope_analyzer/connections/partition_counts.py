"""What each connection did for each topic-partition, counted block by block: who leads what is told from these counts.

Requests name partitions (asked), responses answer them (confirmed or refused). Replicas' fetches do not count, but for
the raft log's.
"""

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.role_rules import PARTITION_LEADER
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name

RAFT_TOPIC, RAFT_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The raft log of KRaft controllers; its id is fixed (org.apache.kafka.common.Uuid)."""

_NONE, _NO_TEXT, _NO_CODE, _NO_ANSWER = -(1 << 63), -1, -(1 << 15), -(1 << 31)
_ROW = {
    "conn": -1,
    "api_key": -1,
    "topic": _NO_TEXT,
    "topic_id": _NO_TEXT,
    "partition": -1,
    "error_code": _NO_CODE,
    "from_replica": False,
    "ts_ns": 0,
    "asked_ns": 0,
    "number": -1,
    "preferred_read_replica": -1,
}
"""What the kernel takes of a row, in this order, and what stands for null; the first N_KEYS are the key."""
_, API_KEY, TOPIC, TOPIC_ID, _, ERROR_CODE, FROM_REPLICA, TS_NS, ASKED_NS, NUMBER, PREFERRED_READ_REPLICA = range(11)
N_KEYS = 5
PROBE_LIMIT = 64
_HASH_BITS, _SPREAD_BITS = (1 << 43) - 1, (1 << 31) - 1
"""What the multipliers of the hash leave below 64 bits."""
_SUMS = ("n_requests", "n_confirmed", "n_refused")


def _flags(chosen: set[int]) -> NDArray[np.bool_]:
    """Whether each number is among them."""
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
        *((name, pa.int64()) for name in _SUMS),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("confirmed_first_ns", pa.int64()),
        ("confirmed_last_ns", pa.int64()),
        ("confirmed_ns", pa.int64()),
        *((name, pa.int64()) for name in PROOFS),
        ("preferred", pa.int32()),
    ]
)
"""Counts of one block. first_ns, last_ns: requests, confirmed_first_ns, confirmed_last_ns: those that an answer proved;
confirmed_ns: first confirming answer; PROOFS: numbers of the first three requests that were answered;
preferred: a replica that an answer sent the consumer to (KIP-392), null for none.
"""


N_REQUESTS, N_CONFIRMED, N_REFUSED, FIRST_NS, _, CONFIRMED_FIRST_NS, _, CONFIRMED_NS, PROOF, _, _, PREFERRED = range(
    5, 17
)
"""Places in COUNTS_SCHEMA."""


def count_partitions(partitions: pa.Table, api_key: int, direction: str) -> pa.Table:
    """Counts of the partitions that the messages of one API and direction name in a block (COUNTS_SCHEMA).

    partitions: the columns of _ROW but api_key, those that the message has; topics coded. asked_ns: the request's time,
    of answers too; from_replica: whether a broker asked.
    """
    if not (0 <= api_key < len(_IS_LEADER_API) and _IS_LEADER_API[api_key]):
        return COUNTS_SCHEMA.empty_table()
    topics = {name: partitions[name].combine_chunks() for name in ("topic", "topic_id")}
    raft = [_code_of(topics[name], text) for name, text in (("topic", RAFT_TOPIC), ("topic_id", RAFT_TOPIC_ID))]
    rows = np.empty((len(_ROW), partitions.num_rows), np.int64)
    for at, (name, none) in enumerate(_ROW.items()):
        if name in topics:
            rows[at] = pc.fill_null(topics[name].indices, none).to_numpy()
        elif name in partitions.column_names:
            rows[at] = pc.fill_null(partitions[name].combine_chunks(), none).to_numpy(zero_copy_only=False)
        else:
            rows[at] = api_key if at == API_KEY else none
    if direction == "request":
        rows[ERROR_CODE] = _NO_ANSWER
    found = np.empty((partitions.num_rows, len(COUNTS_SCHEMA)), np.int64)
    counts = found[: count_rows(rows, np.array(raft, np.int64), found)]
    columns = []
    for at, field in enumerate(COUNTS_SCHEMA):
        values = pa.array(counts[:, at], mask=counts[:, at] == (_NO_TEXT if field.name in topics else _NONE))
        columns.append(topics[field.name].dictionary.take(values) if field.name in topics else values.cast(field.type))
    return pa.table(columns, COUNTS_SCHEMA)


def _code_of(texts: pa.DictionaryArray, text: str) -> int:
    """The code of a text; one that no row has, where none has the text."""
    code = pc.index(texts.dictionary, text).as_py()
    return int(code) if code >= 0 else _NO_TEXT - 1


@nb.njit(cache=True, nogil=True)
def count_rows(rows: NDArray[np.int64], raft: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    """Adds up rows of one key. rows: int64[_ROW, n]; raft: codes of the raft log's topic and id; out: int64[n,
    COUNTS_SCHEMA], of which the first rows are written, by the first row of each key; returns how many.
    """
    n, size = 0, 16
    while size < 2 * rows.shape[1]:
        size *= 2
    slots = np.full(size, -1, np.int64)
    for i in range(rows.shape[1]):
        if rows[FROM_REPLICA, i] and rows[TOPIC, i] != raft[0] and rows[TOPIC_ID, i] != raft[1]:
            continue
        at, g = _slot(slots, out, rows, i)
        if g < 0:
            g, n = n, n + 1
            if at >= 0:
                slots[at] = g
            out[g, :N_KEYS] = rows[:N_KEYS, i]
            out[g, N_KEYS:FIRST_NS] = 0
            out[g, FIRST_NS:] = _NONE
        _add(out, g, rows, i)
    return n


@nb.njit(cache=True, nogil=True)
def _slot(slots: NDArray[np.int64], out: NDArray[np.int64], rows: NDArray[np.int64], i: int) -> tuple[int, int]:
    """The slot of row i's key and its count, -1 for none yet; without a slot (-1) where PROBE_LIMIT were taken: that
    gives a key several counts, which are added up later, and no capture can make looking long.
    """
    mixed = np.int64(0)
    for k in range(N_KEYS):
        mixed = (mixed * 1_000_003 + rows[k, i]) & _HASH_BITS
    spread = ((mixed ^ (mixed >> 21)) & _SPREAD_BITS) * 0x9E3779B1  # Knuth's multiplicative hash
    at = (spread >> 16) & (len(slots) - 1)
    for _ in range(PROBE_LIMIT):
        if slots[at] < 0 or _same_key(out, slots[at], rows, i):
            return int(at), int(slots[at])
        at = (at + 1) & (len(slots) - 1)
    return -1, -1


@nb.njit(cache=True, nogil=True)
def _same_key(out: NDArray[np.int64], g: int, rows: NDArray[np.int64], i: int) -> bool:
    """Whether row i belongs to count g."""
    for k in range(N_KEYS):  # noqa: SIM110 - numba makes no loop of a generator
        if out[g, k] != rows[k, i]:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def _add(out: NDArray[np.int64], g: int, rows: NDArray[np.int64], i: int) -> None:
    """Adds row i to count g."""
    asked_ns, error = rows[ASKED_NS, i], rows[ERROR_CODE, i]
    _widen(out, g, FIRST_NS, asked_ns)
    if error == _NO_ANSWER:
        out[g, N_REQUESTS] += 1
        return
    _prove(out, g, rows[NUMBER, i])
    if rows[PREFERRED_READ_REPLICA, i] >= 0:
        out[g, PREFERRED] = max(out[g, PREFERRED], rows[PREFERRED_READ_REPLICA, i])
    if error == 0:
        out[g, N_CONFIRMED] += 1
        _widen(out, g, CONFIRMED_FIRST_NS, asked_ns)
        _least(out, g, CONFIRMED_NS, rows[TS_NS, i])
    elif 0 < error < len(_IS_REFUSAL) and _IS_REFUSAL[error]:
        out[g, N_REFUSED] += 1


@nb.njit(cache=True, nogil=True)
def _least(out: NDArray[np.int64], g: int, at: int, value: int) -> None:
    """The smaller of what is there and the value."""
    out[g, at] = value if out[g, at] == _NONE else min(out[g, at], value)


@nb.njit(cache=True, nogil=True)
def _prove(out: NDArray[np.int64], g: int, number: int) -> None:
    """Puts a request's number among the least that count g has, each once."""
    for at in range(PROOF, PROOF + len(PROOFS)):
        known = out[g, at]
        if known == number:
            return
        if known == _NONE or number < known:
            out[g, at] = number
            if known == _NONE:
                return
            number = known


@nb.njit(cache=True, nogil=True)
def _widen(out: NDArray[np.int64], g: int, at: int, value: int) -> None:
    """First and last, which stand side by side."""
    _least(out, g, at, value)
    out[g, at + 1] = max(out[g, at + 1], value)
