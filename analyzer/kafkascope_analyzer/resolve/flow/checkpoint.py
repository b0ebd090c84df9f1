"""The counts of flow after the last part of the spills that no later run changes. They are saved with the dataset, so
that a run to which captures are appended counts only the rows of new parts.

The counts depend on the rows, and on facts about connections and topics (FlowBasis). Where later captures changed these
facts for rows that were counted, all rows are counted again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.counts import PRODUCE_SLICES, slice_tables
from kafkascope_analyzer.resolve.flow.produce_facts import ProducerClocks
from kafkascope_analyzer.scan.block_ends import SERVED
from kafkascope_analyzer.scan.named_in_parts import NAMED
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_analyzer.scan.spill import read_spill, remove_spilled, spilled_parts

Longs = NDArray[np.int64]
SAVED_FLOW = "flow.state"
"""The name of the file of the counts, beside the folders of the spills."""
READER, _HAS_SENT, CLOCK, IS_USABLE = range(4)
"""Columns of FlowBasis.connections."""


@dataclass(frozen=True, slots=True)
class FlowBasis:
    """The inputs of the counts besides the rows. slice_ns: length of a slice; connections: for each bucket, by the
    directory of its spill, an array with one row per connection: its reader, whether it sent batches with create times,
    and if so the smallest distance of its client's clock and whether that is usable; topics: names by id."""

    slice_ns: int
    connections: Mapping[Path, Longs]
    topics: Mapping[str, str]

    @classmethod
    def of(
        cls, slice_ns: int, sizes: Mapping[Path, int], readers: Longs, clocks: ProducerClocks, topics: TopicNames
    ) -> "FlowBasis":
        """Returns the basis. sizes: number of connections, by the directory of a bucket's spill."""
        flags = clocks.has_sent.astype(np.int64), clocks.is_usable.astype(np.int64)
        columns = np.stack([readers, flags[0], clocks.least_ns, flags[1]], 1)  # READER, _HAS_SENT, CLOCK, IS_USABLE
        parts = np.split(columns, np.cumsum(list(sizes.values()))[:-1])
        names = dict(zip(topics.ids.to_pylist(), topics.names.to_pylist(), strict=True))
        return cls(slice_ns, dict(zip(sizes, parts, strict=True)), names)

    def state(self) -> dict[str, Any]:
        """Returns the basis as plain values, to be saved with the counts."""
        connections = {spill.name: rows for spill, rows in self.connections.items()}
        return {"slice_ns": self.slice_ns, "connections": connections, "topics": self.topics}

    def still_holds(self, state: Mapping[str, Any], part: int) -> bool:
        """Whether a saved state agrees with this basis for the rows up to that part, except for the clocks of
        producers."""
        if state["slice_ns"] != self.slice_ns or list(state["connections"]) != [each.name for each in self.connections]:
            return False
        return all(
            np.array_equal(before[:, READER], now[: len(before), READER]) for before, now in self._both(state)
        ) and self._names_hold(state["topics"], part)

    def changed_clocks(self, state: Mapping[str, Any]) -> list[NDArray[np.bool_]]:
        """Returns masks, bucket by bucket, of the connections whose batches have another age than in a saved state."""
        found = []
        for before, now in self._both(state):
            changed = np.zeros(len(now), np.bool_)
            is_same = (before[:, CLOCK:] == now[: len(before), CLOCK:]).all(1)
            changed[: len(before)] = ~is_same & (before[:, _HAS_SENT] == 1)
            found.append(changed)
        return found

    def _both(self, state: Mapping[str, Any]) -> Iterable[tuple[Longs, Longs]]:
        """Yields the connections of each bucket, as they were saved and as they are now."""
        return zip(state["connections"].values(), self.connections.values(), strict=True)

    def _names_hold(self, before: Mapping[str, str], part: int) -> bool:
        """Whether every topic id in these rows had the same name before."""
        changed = pa.array({topic_id for topic_id, _ in before.items() ^ self.topics.items()}, pa.string())
        return not len(changed) or not any(
            pc.any(pc.is_in(ids, changed)).as_py() for spill in self.connections for ids in _named_ids(spill, part)
        )


def _named_ids(spill: Path, part: int) -> Iterator[pa.ChunkedArray]:
    """Yields the topic ids in the rows up to a part."""
    for each in spilled_parts(spill, [NAMED]):
        for rows in read_spill(spill, NAMED, part=each) if each <= part else ():
            yield rows["topic_id"].filter(pc.is_in(rows["table"], pa.array(SERVED)))


def load_flow(file: Path | None, basis: FlowBasis) -> dict[str, Any] | None:
    """Returns the counts that `save_flow` saved, if they are still valid: `part`, the last one whose rows were counted,
    and the states of the counters. If they are not, removes the slices that were spilled with them. Raises UsageError.
    """
    if file is not None and file.exists():
        state: dict[str, Any] = load_state(file)
        if basis.still_holds(state["basis"], state["part"]):
            return state
    forget_flow(file, basis.connections)
    return None


def forget_flow(file: Path | None, spills: Iterable[Path]) -> None:
    """Removes the saved counts, and the slices that were spilled with them."""
    if file is not None:
        file.unlink(missing_ok=True)
    for spill in spills:
        remove_spilled(spill, (PRODUCE_SLICES, *slice_tables(spill)))


def save_flow(file: Path, basis: FlowBasis, part: int, states: dict[str, Any]) -> None:
    """Saves counts. part: the last one whose rows were counted."""
    save_state(file, {"basis": basis.state(), "part": part, **states})
