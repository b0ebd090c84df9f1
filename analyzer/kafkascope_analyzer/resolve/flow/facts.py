"""Between the passes: counts the records passing through topic-partitions, from the responses to Produce and Fetch of
all buckets in order of time.

Producers, leaders and consumers of a partition are on connections of any bucket. So there are two rounds of tasks: one
for each bucket (divide), which divides its rows by topic-partition, and one for each share of the topic-partitions
(follow). The counts of a connection are spilled in its bucket (counts), for the second pass. Where captures are
appended, the counts of earlier runs are kept (checkpoint).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import NamedRows, block_parts
from kafkascope_analyzer.resolve.flow.checkpoint import FlowBasis, load_flow, save_flow
from kafkascope_analyzer.resolve.flow.clients import readers
from kafkascope_analyzer.resolve.flow.divide import DivideBucket, Divided
from kafkascope_analyzer.resolve.flow.follow import Followed, FollowShare, Responses
from kafkascope_analyzer.resolve.flow.part_ends import part_ends
from kafkascope_analyzer.resolve.flow.produce_facts import ProducerClocks
from kafkascope_analyzer.resolve.flow.shares import Parts
from kafkascope_analyzer.resolve.tasks import RunTasks
from kafkascope_analyzer.scan.spill import END

_SECOND_NS = 1_000_000_000
_LENGTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_SLICES = 60


def slice_length_ns(capture_ns: int) -> int:
    """Returns the length of a time slice for a capture of that length: the shortest round length, of a second or more,
    of which 60 or fewer cover it; a day for captures of more than 60 days."""
    needed = (length for length in _LENGTHS_S if capture_ns <= _MOST_SLICES * length * _SECOND_NS)
    return next(needed, _LENGTHS_S[-1]) * _SECOND_NS


class Reader(Responses, Protocol):
    """A reader of a share's rows that can continue from an earlier run."""

    def resume(self, state: Mapping[str, Any], ends: NamedRows) -> set[int]:
        """Continues from the results of earlier parts. ends: the highest offsets and times of each part
        (part_ends.PART_ENDS). Returns the parts whose rows have to be read again."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """slice_ns: length of a slice; candidates: batches that may have waited (produce_facts.CANDIDATES), by the
    directory of a bucket's spill; tables: what the readers of each share have found; n_left_out: topic-partitions of
    responses that were not counted because of the limits."""

    slice_ns: int
    candidates: dict[Path, pa.Table]
    tables: list[list[pa.Table]]
    n_left_out: int


@dataclass(frozen=True, slots=True)
class FlowWork:
    """run: runs the tasks; readers: those of each share, as many as there are buckets; saved: the file of the counts of
    earlier runs (checkpoint), which is rewritten."""

    run: RunTasks
    readers: Sequence[Sequence[Reader]]
    saved: Path | None = None


def gather_flow(
    connections: Mapping[Path, pa.Table], topics: TopicNames, clocks: ProducerClocks, work: FlowWork
) -> FlowFacts:
    """Counts the flow through the topic-partitions on the connections of all buckets, and spills the counts there.
    connections: with client_ip, first_ns and last_ns, by the directory of a bucket's spill."""
    if not connections:
        return FlowFacts(slice_length_ns(0), {}, [], 0)
    first = min(pc.min(rows["first_ns"]).as_py() for rows in connections.values())
    last = max(pc.max(rows["last_ns"]).as_py() for rows in connections.values())
    sizes = {spill: rows.num_rows for spill, rows in connections.items()}
    basis = FlowBasis.of(slice_length_ns(last - first), sizes, readers(connections), clocks, topics)
    known = load_flow(work.saved, basis)
    parts = _parts(list(connections), topics, known, work)
    divided: list[Divided] = work.run(_divisions(basis, topics, parts, known))
    saved = [None] * len(sizes) if known is None else known["shares"]
    spills = [spill.name for spill in connections]
    followed: list[Followed] = work.run(
        [
            FollowShare(share, spills, basis.slice_ns, parts, work.readers[share], saved[share])
            for share in range(len(spills))
        ]
    )
    if work.saved is not None and parts.is_saved:
        states = {"buckets": [each.state for each in divided], "shares": [each.state for each in followed]}
        save_flow(work.saved, basis, parts.new[-1], states)
    return FlowFacts(
        basis.slice_ns,
        dict(zip(connections, (each.candidates for each in divided), strict=True)),
        [each.tables for each in followed],
        sum(each.n_left_out for each in divided) + sum(each.n_left_out for each in followed),
    )


def _parts(spills: Sequence[Path], topics: TopicNames, known: dict[str, Any] | None, work: FlowWork) -> Parts:
    """Returns the parts to be counted. The readers of all shares continue from the known counts."""
    settled = sorted({part for spill in spills for part in block_parts(spill)} - {END})
    if known is None:
        return Parts([], [], settled, work.saved is not None and bool(settled))
    kept = [part for part in settled if part <= known["part"]]
    ends = part_ends(spills, topics, kept)
    needed: set[int] = set()
    for each, state in zip(work.readers, known["shares"], strict=True):
        for reader, found in zip(each, state["found"], strict=True):
            needed |= reader.resume(found, ends)
    return Parts(kept, sorted(needed), settled[len(kept) :], len(settled) > len(kept))


def _divisions(basis: FlowBasis, topics: TopicNames, parts: Parts, known: dict[str, Any] | None) -> list[DivideBucket]:
    """Returns the task of each bucket."""
    n = len(basis.connections)
    changed = [np.zeros(len(rows), np.bool_) for rows in basis.connections.values()]
    saved = [None] * n if known is None else known["buckets"]
    if known is not None:
        changed = basis.changed_clocks(known["basis"])
    return [
        DivideBucket(spill.name, rows, topics, (basis.slice_ns, n), parts, *of_bucket)
        for (spill, rows), of_bucket in zip(basis.connections.items(), zip(saved, changed, strict=True), strict=True)
    ]
