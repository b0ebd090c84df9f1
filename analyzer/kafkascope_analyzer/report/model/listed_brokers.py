"""Brokers that left the lists in Metadata responses, and came back.

Brokers learn of a change one after the other, so their lists disagree for a moment: an absence or presence shorter than
DISAGREEMENT_NS is not counted as a change.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset

METADATA = "messages/Metadata/response"
DISAGREEMENT_NS = 1_000_000_000
GONE, BACK = "gone", "back"


@dataclass(frozen=True, slots=True, order=True)
class BrokerMove:
    """A broker that left the lists (GONE) or returned (BACK). request_id: the first response that shows it."""

    ts_ns: int
    what: str
    node_id: int
    request_id: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """The node ids in a Metadata response."""

    ts_ns: int
    request_id: str
    listed: frozenset[int]

    @property
    def order(self) -> tuple[int, str]:
        """Sort key of responses by time."""
        return self.ts_ns, self.request_id


def broker_moves(dataset: Dataset) -> list[BrokerMove]:
    """Returns brokers that left and came back, by time. Raises UsageError where the table cannot be read."""
    sightings = list(_sightings(dataset))
    nodes = sorted(set().union(*(sighting.listed for sighting in sightings)))
    return sorted(move for node in nodes for move in _moves_of(node, sightings))


def _sightings(dataset: Dataset) -> Iterator[Sighting]:
    """Yields lists that differ from the previous one, by time."""
    before: frozenset[int] = frozenset()
    for sighting in sorted(_first_and_last(dataset), key=_by_time):
        if sighting.listed != before:
            yield sighting
            before = sighting.listed


def _first_and_last(dataset: Dataset) -> Iterator[Sighting]:
    """Yields the first and the last response with each list of brokers in every DISAGREEMENT_NS, so that memory grows
    with time and not with the number of responses."""
    found: dict[tuple[int, frozenset[int]], list[Sighting]] = {}
    for batch in _responses(dataset):
        for ts_ns, request_id, brokers in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            listed = frozenset(broker["node_id"] for broker in brokers or () if broker is not None) - {None}
            listed = frozenset(node_id for node_id in listed if node_id >= 0)
            if listed:
                seen = Sighting(ts_ns, request_id, listed)
                known = found.setdefault((ts_ns // DISAGREEMENT_NS, listed), [seen, seen])
                known[0], known[1] = min(known[0], seen, key=_by_time), max(known[1], seen, key=_by_time)
    for pair in found.values():
        yield from pair


def _by_time(sighting: Sighting) -> tuple[int, str]:
    return sighting.order


def _responses(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    if dataset.rows(METADATA) and "brokers" in dataset.arrow(METADATA).schema.names:
        yield from dataset.batches(METADATA, ["ts_ns", "request_id", "brokers"])


def _moves_of(node: int, sightings: list[Sighting]) -> list[BrokerMove]:
    """Returns one broker's moves, from the first list that contains it."""
    moves: list[BrokerMove] = []
    listed = None
    for sighting in sightings:
        nodes = sighting.listed
        if (node in nodes) == listed or (listed is None and node not in nodes):
            continue
        if listed is not None:
            if moves and sighting.ts_ns - moves[-1].ts_ns < DISAGREEMENT_NS:
                moves.pop()
            else:
                what = GONE if listed else BACK
                moves.append(BrokerMove(sighting.ts_ns, what, node, sighting.request_id))
        listed = node in nodes
    return moves
