"""Decodes a block's frames and gathers what the tables need of them, column by column."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.errors import NO_ERRORS, error_rows
from kafkascope_analyzer.scan.partitions import PartitionRows, partition_rows
from kafkascope_analyzer.scan.request_facts import Fact, FactColumns
from kafkascope_analyzer.scan.topology import NO_TOPOLOGY, topology_rows
from kafkascope_parsers.framing.layout import WHOLE
from kafkascope_parsers.machine import Columns, decode_messages
from kafkascope_parsers.machine.decode import BATCH_BYTES
from kafkascope_parsers.schema import Direction, MessageType, api_name, message_type

_SIZE_BYTES = 4

Sink = Callable[[str, Columns, NDArray[np.int64]], None]
"""Takes (API name, decoded columns, frame of each decoded row)."""


@dataclass(slots=True)
class Decoded:
    """What was decoded of n frames of one direction.

    decoded: bool per frame; facts: columns per frame; partitions: by message; errors, topology: rows with `row`, the
    frame; reasons, details: of the whole frames that did not decode; zeros_after: int64 per frame, zero bytes behind
    the body of a decoded one.
    """

    decoded: NDArray[np.bool_]
    zeros_after: NDArray[np.int64]
    facts: FactColumns
    partitions: list[tuple[MessageType, PartitionRows]] = field(default_factory=list)
    errors: list[pa.Table] = field(default_factory=list)
    topology: list[pa.Table] = field(default_factory=list)
    reasons: dict[int, tuple[str, str]] = field(default_factory=dict)

    def error_table(self) -> pa.Table:
        """All error rows."""
        return pa.concat_tables([NO_ERRORS, *self.errors]).combine_chunks()

    def topology_table(self) -> pa.Table:
        """All topology rows."""
        return pa.concat_tables([NO_TOPOLOGY, *self.topology]).combine_chunks()


def decode_frames(
    data: NDArray[np.uint8],
    frames: NDArray[np.void],
    direction: Direction,
    facts: tuple[tuple[Fact, ...], tuple[Fact, ...]],
    sink: Sink,
    *,
    batch_bytes: int = BATCH_BYTES,
) -> Decoded:
    """Decodes the whole frames of one direction; their api_key and api_version say what they are (-1: not known,
    not decoded). batch_bytes: columns that are made at a time.
    """
    out = Decoded(np.zeros(len(frames), np.bool_), np.zeros(len(frames), np.int64), FactColumns(len(frames), *facts))
    whole = np.flatnonzero(frames["wholeness"] == WHOLE)
    for key, members in _by_api(frames["api_key"], whole):
        message = message_type(key, direction)
        if message is None:
            for frame in members.tolist():
                out.reasons[frame] = ("unknown_api", f"API key {key}")
            continue
        starts, ends = frames["start"][members] + _SIZE_BYTES, frames["end"][members]
        versions = frames["api_version"][members]
        batches = decode_messages(message, data, starts, ends, versions, batch_bytes=batch_bytes, allow_zeros=True)
        for columns in batches:
            _take(out, columns, members, direction, sink)
            _note_failures(out, columns, members, frames)
            _note_zeros(out, columns, members)
    return out


def _by_api(api_keys: NDArray[np.int16], members: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Members by API key, each group in order."""
    order = members[np.argsort(api_keys[members], kind="stable")]
    keys, first = np.unique(api_keys[order], return_index=True)
    yield from zip(keys.tolist(), np.split(order, first[1:]), strict=False)  # without members there is one empty group


def _take(out: Decoded, columns: Columns, members: NDArray[np.int64], direction: Direction, sink: Sink) -> None:
    if not len(columns):
        return
    frames = members[columns.frame]
    key = columns.message.api_key
    name = api_name(-1 if key is None else key)
    out.decoded[frames] = True
    out.facts.put(columns.message, columns, frames)
    out.partitions += [(columns.message, rows) for rows in partition_rows(columns, frames)]
    if direction == "response":
        out.errors.append(error_rows(columns, frames))
    out.topology.append(topology_rows(columns, frames, name, direction))
    sink(name, columns, frames)


def _note_zeros(out: Decoded, columns: Columns, members: NDArray[np.int64]) -> None:
    """Books the zeros behind decoded bodies as undecoded bytes, each with the message that they follow."""
    for row in np.flatnonzero(columns.zeros_after).tolist():
        frame, n = int(members[columns.frame[row]]), int(columns.zeros_after[row])
        out.zeros_after[frame] = n
        name = f"{columns.message.name} v{columns.version_used[row]}"
        out.reasons[frame] = ("trailing_zeros", f"{name}: {n} zero bytes after its end")


def _note_failures(out: Decoded, columns: Columns, members: NDArray[np.int64], frames: NDArray[np.void]) -> None:
    for failure in columns.failures:
        frame = int(members[failure.frame])
        name = f"{columns.message.name} v{frames['api_version'][frame]}"
        if failure.kind == "unknown_version":
            out.reasons[frame] = ("unknown_version", name)
        else:
            out.reasons[frame] = (
                "malformed_body",
                f"{name}: {failure.kind} at byte {failure.offset}, {failure.path or 'end'}",
            )
