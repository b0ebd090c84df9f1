"""Between the passes: counts the records passing through topic-partitions, from the responses to Produce and Fetch of
all buckets in order of time.

Producers, leaders and consumers of a partition are on connections of any bucket. The counts of a connection are spilled
in its bucket (counts), for the second pass. Other classes that need these responses get them at the same time, so that
they are read only once. Where captures are appended, the counts of earlier runs are kept (checkpoint).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.ahead import ahead
from kafkascope_analyzer.resolve.flow.blocks import Block, NamedRows, block_parts, blocks
from kafkascope_analyzer.resolve.flow.checkpoint import FlowBasis, load_flow, save_flow
from kafkascope_analyzer.resolve.flow.clients import readers
from kafkascope_analyzer.resolve.flow.counts import LATE_NS, RECOUNTED, FetchCounts, ProduceCounts
from kafkascope_analyzer.resolve.flow.part_ends import part_ends
from kafkascope_analyzer.resolve.flow.produce_facts import ProducerClocks
from kafkascope_analyzer.resolve.flow.rows import BucketRows, Flow, by_time
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED
from kafkascope_analyzer.scan.spill import END, Spill

_SECOND_NS = 1_000_000_000
_LENGTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_SLICES = 60
_END = np.iinfo(np.int64).max
_NO_ROWS: Block = {BATCHES: [], FETCHED: []}
_STRADDLING_NS = 1_000_000_000
"""A response that begins in one block and ends in the next is read at most this long after its own time, as a rule."""


def slice_length_ns(capture_ns: int) -> int:
    """Returns the length of a time slice for a capture of that length: the shortest round length, of a second or more,
    of which 60 or fewer cover it; a day for captures of more than 60 days."""
    needed = (length for length in _LENGTHS_S if capture_ns <= _MOST_SLICES * length * _SECOND_NS)
    return next(needed, _LENGTHS_S[-1]) * _SECOND_NS


class Responses(Protocol):
    """Reader of every Produce and Fetch response of all buckets, in any order; some responses may come twice."""

    def take_accepted(self, named: NamedRows) -> None:
        """Takes the batches of producers (scan.batches.BATCHES)."""

    def take_fetched(self, named: NamedRows) -> None:
        """Takes responses to Fetch."""

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""

    def resume(self, state: Mapping[str, Any], ends: NamedRows) -> set[int]:
        """Continues from the results of earlier parts. ends: the highest offsets and times of each part
        (part_ends.PART_ENDS). Returns the parts whose responses have to be read again."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """slice_ns: length of a slice; candidates: batches that may have waited (produce_facts.CANDIDATES), by the
    directory of a bucket's spill; n_left_out: topic-partitions of responses that were not counted because of the
    limits."""

    slice_ns: int
    candidates: dict[Path, pa.Table]
    n_left_out: int


def gather_flow(
    connections: Mapping[Path, pa.Table],
    topics: TopicNames,
    clocks: ProducerClocks,
    others: Sequence[Responses],
    saved: Path | None = None,
) -> FlowFacts:
    """Counts the flow through the topic-partitions on the connections of all buckets, and spills the counts there.
    connections: with client_ip, first_ns and last_ns, by the directory of a bucket's spill; others: further readers,
    which get all responses; saved: the file of the counts of earlier runs (checkpoint), which is rewritten."""
    if not connections:
        return FlowFacts(slice_length_ns(0), {}, 0)
    first = min(pc.min(rows["first_ns"]).as_py() for rows in connections.values())
    last = max(pc.max(rows["last_ns"]).as_py() for rows in connections.values())
    slice_ns = slice_length_ns(last - first)
    sizes = {spill: rows.num_rows for spill, rows in connections.items()}
    numbers = readers(connections)
    basis = FlowBasis.of(slice_ns, sizes, numbers, clocks, topics)
    parts = sorted({part for spill in connections for part in block_parts(spill)})
    settled = [part for part in parts if part != END]
    known = load_flow(saved, basis)
    kept = [] if known is None else [part for part in settled if part <= known["part"]]
    new = settled[len(kept) :]
    flow = _FlowFold(basis, Flow(numbers, clocks, len(sizes)), new[-1] if new else END, topics, others)
    if known is not None:
        flow.resume(known, kept)
        ends = part_ends(connections, topics, kept)
        needed = [other.resume(state, ends) for other, state in zip(others, known["others"], strict=True)]
        flow.show(sorted(set[int]().union(*needed)))
    flow.count(new)
    state = flow.begin_end()
    if saved is not None and new:
        save_flow(saved, basis, new[-1], state | {"others": [other.state() for other in others]})
    flow.count([part for part in parts if part == END], is_last=True)
    return flow.facts()


class _FlowFold:
    """Counts flow, part by part. part: the part into which counts are spilled."""

    def __init__(
        self, basis: FlowBasis, flow: Flow, part: int, topics: TopicNames, others: Sequence[Responses]
    ) -> None:
        self._basis, self._part, self._topics, self._others, self._flow = basis, part, topics, others, flow
        self._spills = [Spill(directory, part) for directory in basis.connections]
        self._counts = FetchCounts(basis.slice_ns, flow.partitions, self._spills)
        n_before, self._buckets = 0, list[BucketRows]()
        for number, rows in enumerate(basis.connections.values()):
            self._buckets.append(BucketRows(number, n_before, self._produce_counts(number)))
            n_before += len(rows)
        self._since = [np.full(len(rows), -1) for rows in basis.connections.values()]

    def _produce_counts(self, bucket: int) -> ProduceCounts:
        return ProduceCounts(self._basis.slice_ns, self._flow.partitions, self._spills[bucket])

    def resume(self, known: Mapping[str, Any], parts: Sequence[int]) -> None:
        """Continues from the saved counts of these parts. Batches of producers whose clocks are better known now are
        counted again."""
        self._flow.resume(known["flow"])
        self._counts = FetchCounts(self._basis.slice_ns, self._flow.partitions, self._spills)
        self._counts.resume(known["counts"])
        for number, (bucket, changed) in enumerate(
            zip(self._buckets, self._basis.changed_clocks(known["basis"]), strict=True)
        ):
            bucket.resume(known["buckets"][number], changed)
            bucket.counts = self._produce_counts(number)
            since = self._since[number]
            since[: len(known["since"][number])] = known["since"][number]
            since[changed] = self._part
            for block in blocks(self._spills[number].directory, self._topics, parts) if changed.any() else ():
                for named in block[BATCHES]:
                    self._flow.recount(bucket, named, changed)

    def show(self, parts: Sequence[int]) -> None:
        """Passes the rows of parts that were counted already to the other readers."""
        for spill in self._spills:
            for part in parts:
                for block in blocks(spill.directory, self._topics, [part]):
                    _show(block, self._others)

    def count(self, parts: Sequence[int], *, is_last: bool = False) -> None:
        """Counts the rows of some parts, and passes them to the other readers. The last rows of each part wait for
        those of the next; is_last: there is no next part."""
        for spill, bucket in zip(self._spills, self._buckets, strict=True):
            bucket.blocks, bucket.is_read = blocks(spill.directory, self._topics, parts), False
        for block, accepted, fetched in ahead(_in_order(self._buckets, self._flow, is_last)):
            self._counts.take(self._flow.numbered(accepted, fetched))
            _show(block, self._others)

    def begin_end(self) -> dict[str, Any]:
        """Ends the files of the part. Returns the state, which is valid until further rows are counted."""
        state = {"counts": self._counts.state(), "flow": self._flow.state(), "since": self._since}
        state["buckets"] = [bucket.state() for bucket in self._buckets]
        for number, (spill, bucket) in enumerate(zip(self._spills, self._buckets, strict=True)):
            bucket.counts.finish()
            bucket.counts = self._produce_counts(number)
            spill.begin_end()
        return state

    def facts(self) -> FlowFacts:
        """Spills the remaining counts, when all rows were counted. Returns the facts that were found."""
        self._counts.finish()
        for spill, bucket, since in zip(self._spills, self._buckets, self._since, strict=True):
            bucket.counts.finish()
            conn = np.flatnonzero(since >= 0)
            spill.gather(RECOUNTED, pa.table({"conn": pa.array(conn), "part": pa.array(since[conn])}))
            spill.close()
        candidates = {
            spill.directory: each.all_candidates() for spill, each in zip(self._spills, self._buckets, strict=True)
        }
        return FlowFacts(self._basis.slice_ns, candidates, self._flow.n_left_out)


def _show(block: Block, others: Sequence[Responses]) -> None:
    """Passes the responses of a block to each of the other readers."""
    for other in others:
        for named in block[BATCHES]:
            other.take_accepted(named)
        for named in block[FETCHED]:
            other.take_fetched(named)


def _in_order(
    buckets: list[BucketRows], flow: Flow, is_last: bool
) -> Iterator[tuple[Block, NDArray[np.void], NDArray[np.void]]]:
    """Yields blocks of all buckets, each with the accepted and fetched records of the span of time that is complete
    with it, sorted by time. A span ends a little before the last row that was read of some bucket; the last span has
    all remaining rows."""
    while not all(bucket.is_read for bucket in buckets):
        behind = min((each for each in buckets if not each.is_read), key=lambda each: each.until_ns)
        block = next(behind.blocks, _NO_ROWS)
        if block is _NO_ROWS:
            behind.is_read = True
        else:
            flow.add(behind, block)
        end_ns = _END if is_last else max(each.until_ns for each in buckets)
        until_ns = min((each.until_ns for each in buckets if not each.is_read), default=end_ns) - _STRADDLING_NS
        yield block, _until(buckets, "accepted", until_ns), _until(buckets, "fetched", until_ns - LATE_NS)


def _until(buckets: list[BucketRows], name: str, until_ns: int) -> NDArray[np.void]:
    """Removes and returns the rows of all buckets up to a time, sorted."""
    parts = []
    for bucket in buckets:
        rows = getattr(bucket, name)
        n_due = int(np.searchsorted(rows["ts_ns"], until_ns, side="right"))
        parts.append(rows[:n_due])
        setattr(bucket, name, rows[n_due:])
    return by_time(parts)
