"""Numbers for the topic-partitions of connections, the same through all blocks of a scan."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.client_event import flat

Longs = NDArray[np.int64]
NO_PLACE = -1
_TOPIC_BITS, _PARTITION_BITS = 20, 20
_MOST_TOPICS = 1 << _TOPIC_BITS
_MOST_PARTITIONS = 1 << _PARTITION_BITS
"""Kafka clusters have less of both; what is beyond comes from frames that are not what they seem."""


class TopicPartitions:
    """Codes of topic-partitions: topics are those of a name and an id, either of which may be missing."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str | None, str | None], int] = {}

    def of(self, rows: pa.Table) -> Longs:
        """The code of each row's topic and partition; NO_PLACE where there are too many. rows: topic and topic_id
        (with dictionaries), partition."""
        names, ids = flat(rows["topic"]), flat(rows["topic_id"])
        name_texts, id_texts = [*names.dictionary.to_pylist(), None], [*ids.dictionary.to_pylist(), None]
        of_name = names.indices.fill_null(len(name_texts) - 1).to_numpy().astype(np.int64)
        of_id = ids.indices.fill_null(len(id_texts) - 1).to_numpy().astype(np.int64)
        pairs, index = np.unique(of_name * len(id_texts) + of_id, return_inverse=True)
        codes = [self._code((name_texts[pair // len(id_texts)], id_texts[pair % len(id_texts)])) for pair in pairs]
        topics = np.array(codes, np.int64)[index]
        partitions = rows["partition"].to_numpy().astype(np.int64)
        is_known = (topics >= 0) & (partitions >= 0) & (partitions < _MOST_PARTITIONS)
        return np.where(is_known, topics << _PARTITION_BITS | partitions, NO_PLACE)

    def _code(self, topic: tuple[str | None, str | None]) -> int:
        if len(self._codes) >= _MOST_TOPICS:
            return self._codes.get(topic, NO_PLACE)
        return self._codes.setdefault(topic, len(self._codes))

    def columns(self, codes: Longs) -> dict[str, pa.Array]:
        """topic, topic_id and partition of each code."""
        names = pa.array([name for name, _ in self._codes], pa.string())
        ids = pa.array([topic_id for _, topic_id in self._codes], pa.string())
        topics = pa.array(codes >> _PARTITION_BITS)
        partitions = (codes & (_MOST_PARTITIONS - 1)).astype(np.int32)
        return {"topic": names.take(topics), "topic_id": ids.take(topics), "partition": pa.array(partitions)}


class Slots:
    """Numbers keys from 0, in the order in which they come. Memory: 16 bytes a key."""

    def __init__(self) -> None:
        self._keys, self._numbers = np.empty(0, np.int64), np.empty(0, np.int64)

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._keys)

    def of(self, keys: Longs) -> Longs:
        """The number of each key; new ones are added."""
        distinct, index = np.unique(keys, return_inverse=True)
        at = np.searchsorted(self._keys, distinct)
        is_new = np.ones(len(distinct), np.bool_)
        inside = at < len(self._keys)
        is_new[inside] = self._keys[at[inside]] != distinct[inside]
        if is_new.any():
            numbers = np.arange(len(self._keys), len(self._keys) + int(is_new.sum()))
            self._numbers = np.insert(self._numbers, at[is_new], numbers)
            self._keys = np.insert(self._keys, at[is_new], distinct[is_new])
            at = np.searchsorted(self._keys, distinct)
        return np.asarray(self._numbers[at][index])
