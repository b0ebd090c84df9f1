"""Between the passes: how records passed through topic-partitions, from the responses to Produce and Fetch of all
buckets in order of time.

Producers, leaders and consumers of a partition are on connections of any bucket. What is counted of a connection is
spilled in its bucket again (flow_counts), for the second pass. Whoever else needs these responses is shown them
meanwhile: they are read once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.ahead import ahead
from kafkascope_analyzer.resolve.flow.blocks import Block, NamedRows, blocks
from kafkascope_analyzer.resolve.flow.clients import readers
from kafkascope_analyzer.resolve.flow.counts import LATE_NS, FlowCounts
from kafkascope_analyzer.resolve.flow.produce_facts import ProducerClocks
from kafkascope_analyzer.resolve.flow.rows import BucketRows, Flow, by_time
from kafkascope_analyzer.scan.block_ends import ACCEPTED, FETCHED

_SECOND_NS = 1_000_000_000
_LENGTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_SLICES = 60
_END = np.iinfo(np.int64).max
_NO_ROWS: Block = {ACCEPTED: [], FETCHED: []}
_STRADDLING_NS = 1_000_000_000
"""A response that begins in one block and ends in the next is read so much later than its time at most, as a rule."""


def slice_length_ns(capture_ns: int) -> int:
    """The length of a slice of a capture that is so long: the shortest round length, of a second or more, of which 60
    or fewer cover it; a day for captures of more than 60 days."""
    needed = (length for length in _LENGTHS_S if capture_ns <= _MOST_SLICES * length * _SECOND_NS)
    return next(needed, _LENGTHS_S[-1]) * _SECOND_NS


class Responses(Protocol):
    """Reads every Produce and Fetch response of all buckets, in any order."""

    def take_accepted(self, named: NamedRows) -> None:
        """Takes responses to Produce."""

    def take_fetched(self, named: NamedRows) -> None:
        """Takes responses to Fetch."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """slice_ns: length of a slice; candidates: batches that may have waited (produce_facts.CANDIDATES), by the
    directory of a bucket's spill; n_left_out: topic-partitions of responses that were not counted at the limits."""

    slice_ns: int

    candidates: dict[Path, pa.Table]
    n_left_out: int


def gather_flow(
    connections: Mapping[Path, pa.Table], topics: TopicNames, clocks: ProducerClocks, others: Sequence[Responses]
) -> FlowFacts:
    """Counts what flowed through the topic-partitions on the connections of all buckets, and spills it there.
    connections: by the directory of a bucket's spill, with client_ip, first_ns and last_ns; others: are shown all
    responses."""
    if not connections:
        return FlowFacts(slice_length_ns(0), {}, 0)
    first = min(pc.min(rows["first_ns"]).as_py() for rows in connections.values())
    last = max(pc.max(rows["last_ns"]).as_py() for rows in connections.values())
    sizes = np.array([rows.num_rows for rows in connections.values()])
    first_conn = dict(zip(connections, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    flow = Flow(readers(connections), clocks)
    slice_ns = slice_length_ns(last - first)
    counts = FlowCounts(slice_ns, flow.partitions, first_conn)
    buckets = [BucketRows(blocks(spill, topics), base) for spill, base in first_conn.items()]
    for block, accepted, fetched in ahead(_in_order(buckets, flow)):
        counts.take(flow.numbered(accepted, fetched))
        _show(block, others)
    counts.finish()
    candidates = {spill: flow.candidates(each, spill) for spill, each in zip(connections, buckets, strict=True)}
    return FlowFacts(slice_ns, candidates, flow.n_left_out)


def _show(block: Block, others: Sequence[Responses]) -> None:
    """Gives the responses of a block to each of the others."""
    for other in others:
        for named in block[ACCEPTED]:
            other.take_accepted(named)
        for named in block[FETCHED]:
            other.take_fetched(named)


def _in_order(buckets: list[BucketRows], flow: Flow) -> Iterator[tuple[Block, NDArray[np.void], NDArray[np.void]]]:
    """Blocks of all buckets, and with each the accepted and fetched records of the stretch of time that is known with
    it, sorted by time. A stretch ends a little before the rows of some bucket do that were read."""
    while not all(bucket.is_read for bucket in buckets):
        behind = min((each for each in buckets if not each.is_read), key=lambda each: each.until_ns)
        block = next(behind.blocks, _NO_ROWS)
        if block is _NO_ROWS:
            behind.is_read = True
        else:
            flow.add(behind, block)
        until_ns = min((each.until_ns for each in buckets if not each.is_read), default=_END) - _STRADDLING_NS
        yield block, _until(buckets, "accepted", until_ns), _until(buckets, "fetched", until_ns - LATE_NS)


def _until(buckets: list[BucketRows], name: str, until_ns: int) -> NDArray[np.void]:
    """The rows of all buckets up to a time, sorted; they are taken out."""
    parts = []
    for bucket in buckets:
        rows = getattr(bucket, name)
        n_due = int(np.searchsorted(rows["ts_ns"], until_ns, side="right"))
        parts.append(rows[:n_due])
        setattr(bucket, name, rows[n_due:])
    return by_time(parts)
