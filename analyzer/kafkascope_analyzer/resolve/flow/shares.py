"""The division of the rows about topic-partitions into shares, so that each task follows the records of some of them.

The rows of a topic-partition are on connections of any bucket, and messages name its topic by name or by id. So a task
for each bucket completes the names, and spills the rows for each share; a task for each share reads these from all
buckets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.spill import END

ACCEPTED, FETCHED = "accepted", "fetched"
AGAIN, SETTLED, LAST = "again", "settled", "last"
"""Stages of the rows of a share: those of earlier runs that are read again; those that no later run changes; and those
of the scan's end."""
PLACES = "flow.places"
"""Spilled table: topic, partition: the topic-partitions of a bucket, by the number that the rows for the shares have
(place)."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the spills. kept: those that were counted in earlier runs; again: those of them whose rows have to be
    read again; new: further ones that no later run changes; is_saved: whether the state after these is to be saved."""

    kept: Sequence[int]
    again: Sequence[int]
    new: Sequence[int]
    is_saved: bool

    @property
    def counted(self) -> int:
        """The part into which the counts of the new ones are spilled."""
        return self.new[-1] if self.new else END


def share_table(stage: str, kind: str, share: int) -> str:
    """Returns the name of the spilled table with a bucket's rows for a share."""
    return f"flow.{stage}.{kind}.{share}"


def shares_of(topics: pa.DictionaryArray, partitions: NDArray[np.int64], n_shares: int) -> NDArray[np.uint16]:
    """Returns the share of each topic-partition. Neighbouring partitions of a topic are in different shares."""
    hashes = np.array([crc32(topic.encode()) for topic in topics.dictionary.to_pylist()], np.int64)
    return np.asarray((hashes[topics.indices.to_numpy()] + partitions) % n_shares, np.uint16)
