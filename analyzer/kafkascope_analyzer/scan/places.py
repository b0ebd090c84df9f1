"""Numbers for the topic-partitions of connections, the same in all blocks of a scan."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.kernels import inlined, kernel

Longs = NDArray[np.int64]
NO_PLACE = -1
_TOPIC_BITS, _PARTITION_BITS = 20, 20
_MOST_TOPICS = 1 << _TOPIC_BITS
_MOST_PARTITIONS = 1 << _PARTITION_BITS
"""Limits of topics and partitions. Kafka clusters have less of both; larger numbers come from corrupt frames."""


class TopicPartitions:
    """Codes of topic-partitions. A topic is identified by a name and an id, either of which may be missing."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str | None, str | None], int] = {}

    def of(self, rows: pa.Table) -> Longs:
        """Returns the code of each row's topic and partition; NO_PLACE where there are too many. rows: topic and
        topic_id (dictionary-encoded), partition."""
        names, ids = flat(rows["topic"]), flat(rows["topic_id"])
        name_texts, id_texts = [*names.dictionary.to_pylist(), None], [*ids.dictionary.to_pylist(), None]
        of_name = names.indices.fill_null(len(name_texts) - 1).to_numpy().astype(np.int64)
        of_id = ids.indices.fill_null(len(id_texts) - 1).to_numpy().astype(np.int64)
        pairs, index = _distinct(of_name * len(id_texts) + of_id, len(name_texts) * len(id_texts))
        codes = [self._code((name_texts[pair // len(id_texts)], id_texts[pair % len(id_texts)])) for pair in pairs]
        return _places(np.array(codes, np.int64)[index], rows["partition"])

    def of_names(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> Longs:
        """Returns the code of each topic, which has a name, and partition; NO_PLACE without a name, or where there are
        too many."""
        codes = [self._code((name, None)) for name in topics.dictionary.to_pylist()]
        of_name = np.array([*codes, NO_PLACE], np.int64)
        return _places(of_name[topics.indices.fill_null(len(codes)).to_numpy()], partitions)

    def _code(self, topic: tuple[str | None, str | None]) -> int:
        if len(self._codes) >= _MOST_TOPICS:
            return self._codes.get(topic, NO_PLACE)
        return self._codes.setdefault(topic, len(self._codes))

    def columns(self, codes: Longs) -> dict[str, pa.Array]:
        """Returns topic, topic_id and partition of each code."""
        known = list(self._codes)  # a copy, because another thread may be adding topics
        names = pa.array([name for name, _ in known], pa.string())
        ids = pa.array([topic_id for _, topic_id in known], pa.string())
        topics = pa.array(codes >> _PARTITION_BITS)
        partitions = (codes & (_MOST_PARTITIONS - 1)).astype(np.int32)
        return {"topic": names.take(topics), "topic_id": ids.take(topics), "partition": pa.array(partitions)}


def _places(topics: Longs, partitions: pa.ChunkedArray) -> Longs:
    """Returns codes of topics and their partitions in one number."""
    partition = partitions.to_numpy().astype(np.int64)
    is_known = (topics >= 0) & (partition >= 0) & (partition < _MOST_PARTITIONS)
    return np.where(is_known, topics << _PARTITION_BITS | partition, NO_PLACE)


_FEW = 1 << 16


def _distinct(values: Longs, end: int) -> tuple[Longs, Longs]:
    """Returns the distinct values, which are between 0 and end, and the index of each value among them."""
    if end > _FEW:
        return np.unique(values, return_inverse=True)
    occurs = np.zeros(end, np.bool_)
    occurs[values] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


_LEAST_ROOM = 1 << 10


class Slots:
    """Numbers keys from 0, in the order of their first occurrence. Memory: some 40 bytes per key."""

    def __init__(self) -> None:
        self._keys = Growing[np.int64](np.int64)
        self._table = np.full(_LEAST_ROOM, NO_PLACE)

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._keys)

    @property
    def keys(self) -> Longs:
        """The keys by their number."""
        return self._keys.rows

    def of(self, keys: Longs) -> Longs:
        """Returns the number of each key; new keys are added."""
        numbers = np.empty(len(keys), np.int64)
        done = 0
        while done < len(keys):
            room = np.empty(len(self._table) // 2, np.int64)
            n_before = len(self._keys)
            room[:n_before] = self._keys.rows
            done, n = number_keys(keys, done, (self._table, room), n_before, numbers)
            self._keys.add(room[n_before:n])
            if done < len(keys):
                self._grow()
        return numbers

    def _grow(self) -> None:
        """Makes room for twice as many keys."""
        self._table = np.full(2 * len(self._table), NO_PLACE)
        known = self._keys.rows.copy()
        number_keys(known, 0, (self._table, np.empty(len(known), np.int64)), 0, np.empty(len(known), np.int64))


@inlined
def spread(first, second):  # type: ignore[no-untyped-def]
    """Returns a hash of two numbers, for tables whose size is a power of two."""
    low, high = first & 0x7FFFFFFF, (first >> 31) & 0x7FFFFFFF
    folded = (second ^ (second >> 20)) & 0x7FFFFFFF
    return ((low * 0x9E3779B1) ^ (high * 0x85EBCA6B) ^ (folded * 0xC2B2AE35)) >> 20


@kernel
def number_keys(keys, start, room, n, numbers):  # type: ignore[no-untyped-def]
    """Numbers keys from index `start` on, until there is no room for another. room: a hash table with the numbers of
    keys, NO_PLACE where it is free, its size a power of two; and the n keys by number. numbers[i]: number of keys[i].
    Returns the index of the first key that was not numbered, and the number of keys."""
    table, known = room
    mask = len(table) - 1
    for i in range(start, len(keys)):
        key = keys[i]
        at = spread(key, 0) & mask
        while table[at] != NO_PLACE and known[table[at]] != key:
            at = (at + 1) & mask
        if table[at] == NO_PLACE:
            if n == len(known):
                return i, n
            known[n] = key
            table[at] = n
            n += 1
        numbers[i] = table[at]
    return len(keys), n
