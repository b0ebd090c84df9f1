"""Consecutive numbers from 0 on for a given set of topic-partitions, whatever their partition numbers are, for use as
array indices and parts of keys.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Longs = NDArray[np.int64]
UNKNOWN = -1
_PARTITION_BITS = 32
"""A partition is an int32 from 0 on (dataset.ranges); a code of a topic is one of Arrow's dictionary indices, which are
int32 too."""


class KnownPlaces:
    """The topic-partitions of some rows. topics: texts without nulls; partitions: the partition of each row."""

    def __init__(self, topics: pa.Array, partitions: Longs) -> None:
        coded = topics.dictionary_encode()
        self._topics = coded.dictionary
        keys = coded.indices.to_numpy().astype(np.int64) << _PARTITION_BITS | partitions
        self._keys, self.of_rows = np.unique(keys, return_inverse=True)
        """of_rows: the number of each row's topic-partition."""

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> Longs:
        """Returns the number of the topic-partition of each of other rows; UNKNOWN where it is not one of these."""
        if not len(self._keys):
            return np.full(len(partitions), UNKNOWN)
        of_code = pc.fill_null(pc.index_in(topics.dictionary, self._topics), UNKNOWN).to_numpy().astype(np.int64)
        codes = np.append(of_code, UNKNOWN)[pc.fill_null(topics.indices, len(of_code)).to_numpy()]
        keys = codes << _PARTITION_BITS | partitions.to_numpy()
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where((codes >= 0) & (self._keys[at] == keys), at, UNKNOWN)
