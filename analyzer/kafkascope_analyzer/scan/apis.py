"""Sets of APIs, by key, that decide which requests become events."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FETCH,
    FIND_COORDINATOR,
    GROUP_HEARTBEATS,
    HEARTBEAT,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
)

PROMPT_APIS = frozenset({FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR, OFFSET_FOR_LEADER_EPOCH})
"""APIs whose responses wait for no other broker and no other client, or not longer than the request says (max_wait_ms).
Heartbeat is not one of them: since Kafka 4.0 a coordinator responds when replicas have what it wrote before
(CoordinatorRuntime)."""
COORDINATOR_APIS = (
    frozenset({OFFSET_COMMIT, HEARTBEAT, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT})
    | GROUP_HEARTBEATS
)
"""Requests that a client sends to its coordinator continuously."""
EARLY_APIS = GROUP_HEARTBEATS | {LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, ADD_PARTITIONS_TO_TXN}
"""APIs that a client calls several times during its start: the early requests of a connection are all events."""
RECORD_APIS = frozenset({PRODUCE, FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE})
"""APIs that write or read the records of a partition."""
PARTITION_APIS = RECORD_APIS | {LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH}
"""APIs whose partitions are followed after an error."""
_MOST_KEYS = 1 << 10


class ApiSet:
    """A set of APIs with a vectorized membership test."""

    def __init__(self, keys: Collection[int]) -> None:
        self._is_in = np.zeros(_MOST_KEYS + 1, np.bool_)
        self._is_in[list(keys)] = True

    def has(self, api_keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each key is in the set; -1 stands for no key and is never in it."""
        places = np.where((api_keys >= 0) & (api_keys < _MOST_KEYS), api_keys, _MOST_KEYS)
        return np.asarray(self._is_in[places], np.bool_)


def int_column(table: pa.Table, name: str, null: int) -> NDArray[np.int64]:
    """Returns a column of integers with nulls replaced."""
    column = table[name]
    if column.null_count == len(column):
        return np.full(len(column), null, np.int64)
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(null)
    return np.asarray(column.to_numpy().astype(np.int64, copy=False))
