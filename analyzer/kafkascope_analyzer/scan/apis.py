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
"""APIs that wait for no other broker and no other client, or not longer than they say (max_wait_ms). Heartbeat is none
of them: since Kafka 4.0 a coordinator responds when replicas have what it wrote before (CoordinatorRuntime)."""
COORDINATOR_APIS = (
    frozenset({OFFSET_COMMIT, HEARTBEAT, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT})
    | GROUP_HEARTBEATS
)
"""What a client asks its coordinator all the time."""
EARLY_APIS = GROUP_HEARTBEATS | {LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, ADD_PARTITIONS_TO_TXN}
"""APIs that a start needs several times: the early requests of a connection are all events."""
RECORD_APIS = frozenset({PRODUCE, FETCH, SHARE_FETCH, SHARE_ACKNOWLEDGE})
"""APIs that write or read the records of a partition."""
PARTITION_APIS = RECORD_APIS | {LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH}
"""APIs whose partitions are followed after an error."""
_MOST_KEYS = 1 << 10


class ApiSet:
    """Tells for many API keys at once whether each is in a set."""

    def __init__(self, keys: Collection[int]) -> None:
        self._is_in = np.zeros(_MOST_KEYS + 1, np.bool_)
        self._is_in[list(keys)] = True

    def has(self, api_keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each key is in the set; -1 is none."""
        places = np.where((api_keys >= 0) & (api_keys < _MOST_KEYS), api_keys, _MOST_KEYS)
        return np.asarray(self._is_in[places], np.bool_)


def int_column(table: pa.Table, name: str, null: int) -> NDArray[np.int64]:
    """A column of integers, nulls replaced."""
    column = table[name]
    if column.null_count == len(column):
        return np.full(len(column), null, np.int64)
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(null)
    return np.asarray(column.to_numpy().astype(np.int64, copy=False))
