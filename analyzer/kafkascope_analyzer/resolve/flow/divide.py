"""The task of a bucket: counts the records of its producers, and divides the rows of its connections among the shares
(flow.shares)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import block_parts, blocks
from kafkascope_analyzer.resolve.flow.counts import RECOUNTED
from kafkascope_analyzer.resolve.flow.rows import BucketFlow
from kafkascope_analyzer.resolve.flow.shares import AGAIN, LAST, SETTLED, Parts
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, SERVED
from kafkascope_analyzer.scan.spill import END, Spill


@dataclass(frozen=True, slots=True)
class Divided:
    """Results of the task of a bucket: the batches that may have waited (CANDIDATES); the state after the settled
    rows, None where it is not saved; and the topic-partitions of responses that were not counted because of the limits.
    """

    candidates: pa.Table
    state: dict[str, Any] | None
    n_left_out: int


@dataclass(frozen=True, slots=True)
class DivideBucket:
    """The task of a bucket (resolve.tasks.SpillTask). spill: name of the folder of its spill; connections: rows of
    FlowBasis.connections; saved: the state of an earlier run, None without one; changed: the connections whose batches
    have another age than in that run."""

    spill: str
    connections: NDArray[np.int64]
    topics: TopicNames
    slices: tuple[int, int]
    """The length of a slice, and the number of shares."""
    parts: Parts
    saved: Mapping[str, Any] | None
    changed: NDArray[np.bool_]

    def reads(self) -> list[tuple[str, str]]:
        """Returns the spilled tables of served requests, and the ends of blocks."""
        return [(self.spill, name) for name in (*SERVED, BLOCK_ENDS)]

    def __call__(self, folder: Path) -> Divided:
        """Counts the records of the bucket's producers, and writes the rows of each share."""
        directory, parts = folder / self.spill, self.parts
        spill, since = Spill(directory, parts.counted), np.full(len(self.connections), -1)
        flow = BucketFlow(self.connections, self.slices[0], spill, self.slices[1])
        if self.saved is not None:
            flow.resume(self.saved["flow"], self.changed)
            since[: len(self.saved["since"])] = self.saved["since"]
            since[self.changed] = parts.counted
            self._recount(flow, directory)
        for part in parts.again:
            self._take(flow, directory, [part], AGAIN)
        self._take(flow, directory, parts.new, SETTLED)
        state = deepcopy({"flow": flow.state(), "since": since}) if parts.is_saved else None
        flow.begin_end()
        self._take(flow, directory, [part for part in block_parts(directory) if part == END], LAST)
        flow.finish()
        conn = np.flatnonzero(since >= 0)
        spill.gather(RECOUNTED, pa.table({"conn": pa.array(conn), "part": pa.array(since[conn])}))
        spill.close()
        return Divided(flow.candidates(), state, flow.n_left_out)

    def _take(self, flow: BucketFlow, directory: Path, parts: Sequence[int], stage: str) -> None:
        for block in blocks(directory, self.topics, parts):
            flow.take(block, stage)

    def _recount(self, flow: BucketFlow, directory: Path) -> None:
        """Counts the batches of producers again whose clocks are better known now."""
        for block in blocks(directory, self.topics, self.parts.kept) if self.changed.any() else ():
            for named in block[BATCHES]:
                flow.recount(named, self.changed)
