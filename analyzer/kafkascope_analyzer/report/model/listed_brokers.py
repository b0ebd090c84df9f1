"""When brokers left the lists that Metadata answers give, and came back.

Brokers learn of a change one after the other, so their lists disagree for a moment: an absence or presence shorter than
DISAGREEMENT_NS is not taken for a change.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset

METADATA = "messages/Metadata/response"
DISAGREEMENT_NS = 1_000_000_000
GONE, BACK = "gone", "back"

Sighting = tuple[int, str, frozenset[int]]
"""Time, request id, and node ids of a Metadata answer that differs from the one before it."""
Move = tuple[int, str, int, str]
"""Time, GONE or BACK, node id, request id of the first answer that shows it."""


def broker_moves(dataset: Dataset) -> list[Move]:
    """Brokers that left and came back, by time. Raises UsageError where the table cannot be read."""
    sightings = list(_sightings(dataset))
    nodes = sorted(set().union(*(listed for _, _, listed in sightings)))
    return sorted(move for node in nodes for move in _moves_of(node, sightings))


def _sightings(dataset: Dataset) -> Iterator[Sighting]:
    """Lists that differ from the one before them, by time."""
    before: frozenset[int] = frozenset()
    for ts_ns, request_id, listed in sorted(_first_and_last(dataset), key=_by_time):
        if listed != before:
            yield ts_ns, request_id, listed
            before = listed


def _first_and_last(dataset: Dataset) -> Iterator[Sighting]:
    """Of each list the first and last answer in every DISAGREEMENT_NS: memory by time, not by answers."""
    found: dict[tuple[int, frozenset[int]], list[Sighting]] = {}
    for batch in _responses(dataset):
        for row in batch.to_pylist():
            listed = frozenset(_node_ids(row["brokers"]))
            if listed:
                seen: Sighting = (row["ts_ns"], row["request_id"], listed)
                known = found.setdefault((row["ts_ns"] // DISAGREEMENT_NS, listed), [seen, seen])
                known[0], known[1] = min(known[0], seen, key=_by_time), max(known[1], seen, key=_by_time)
    for pair in found.values():
        yield from pair


def _by_time(sighting: Sighting) -> tuple[int, str]:
    return sighting[:2]


def _responses(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    if dataset.rows(METADATA) and "brokers" in dataset.arrow(METADATA).schema.names:
        yield from dataset.batches(METADATA, ["ts_ns", "request_id", "brokers"])


def _node_ids(brokers: list[dict[str, Any]] | None) -> Iterator[int]:
    for broker in brokers or ():
        if broker is not None and broker["node_id"] is not None and broker["node_id"] >= 0:
            yield broker["node_id"]


def _moves_of(node: int, sightings: list[Sighting]) -> list[Move]:
    """One broker's moves, from its first listing on."""
    moves: list[Move] = []
    listed = None
    for ts_ns, request_id, nodes in sightings:
        if (node in nodes) == listed or (listed is None and node not in nodes):
            continue
        if listed is not None:
            if moves and ts_ns - moves[-1][0] < DISAGREEMENT_NS:
                moves.pop()
            else:
                moves.append((ts_ns, GONE if listed else BACK, node, request_id))
        listed = node in nodes
    return moves
