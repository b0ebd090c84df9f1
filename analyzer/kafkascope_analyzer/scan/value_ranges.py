"""Range checks of numbers from the wire: values that a field cannot have become null here, before anything is computed
with them, and are counted.

The ranges are in dataset.ranges.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.ranges import Range, field_range
from kafkascope_parsers.exchanges import Messages
from kafkascope_parsers.records.summary import UNKNOWN
from kafkascope_parsers.schema import MessageType, Node

RECORDS = "records"
"""Prefix of the paths of fields in the headers of record batches."""

FOUND_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("field", pa.string()),
        ("kind", pa.string()),
        ("allowed", pa.string()),
        ("n", pa.int64()),
        ("least", pa.string()),
        ("greatest", pa.string()),
    ]
)
"""Columns of the values that were out of range: frame and field; n values are out of range, from `least` to `greatest`.
(These are texts, because nothing may be computed with them.)"""


class OutOfRange:
    """Collects the values out of range in the frames of one block and direction."""

    def __init__(self) -> None:
        self._found: list[pa.Table] = []

    def note(self, field: str, allowed: Range, rows: NDArray[np.int64], values: NDArray[np.generic]) -> None:
        """Adds values out of the range of a field; rows: the frame of each."""
        frames, place = np.unique(rows, return_inverse=True)
        numbers = values.astype(np.int64)
        least, greatest = np.full(len(frames), 2**63 - 1), np.full(len(frames), -(2**63))
        np.minimum.at(least, place, numbers)
        np.maximum.at(greatest, place, numbers)
        n = len(frames)
        columns = {
            "row": pa.array(frames),
            "field": pa.repeat(field, n),
            "kind": pa.repeat(allowed.what, n),
            "allowed": pa.repeat(allowed.text, n),
            "n": pa.array(np.bincount(place, minlength=n)),
            "least": pa.array(least).cast(pa.string()),
            "greatest": pa.array(greatest).cast(pa.string()),
        }
        self._found.append(pa.table([columns[f.name] for f in FOUND_SCHEMA], FOUND_SCHEMA))

    def table(self) -> pa.Table:
        """Returns the collected values (FOUND_SCHEMA)."""
        return pa.concat_tables([FOUND_SCHEMA.empty_table(), *self._found]).combine_chunks()


def within_ranges(messages: Messages, found: OutOfRange) -> Messages:
    """Returns the messages, with null for values out of the ranges of their fields; those are noted in `found`."""
    columns = messages.columns
    wrong: dict[Node, NDArray[np.bool_]] = {}
    for node, allowed in checked_fields(columns.message):
        if columns.has(node):
            values = columns.values(node)
            outside = allowed.outside(values)
            if outside is not None:
                wrong[node] = outside
                found.note(node.path, allowed, messages.rows[columns.row(node)[outside]], values[outside])
    return replace(messages, columns=columns.with_nulls(wrong)) if wrong else messages


@cache
def checked_fields(message: MessageType) -> tuple[tuple[Node, Range], ...]:
    """Returns the fields of a message that have a range, each with it."""
    return tuple(_checked(message.body))


def _checked(node: Node) -> Iterator[tuple[Node, Range]]:
    """Yields the fields with a range, from a node on, without unknown tags."""
    if node.kind == "leaf":
        allowed = range_of(node)
        if allowed is not None:
            yield node, allowed
    for child in (*node.children.values(), *([node.element] if node.element is not None else [])):
        yield from _checked(child)


def range_of(node: Node) -> Range | None:
    """Returns the range of a field; None where it is not a number, or has none."""
    if node.type not in ("int16", "uint16", "int32", "int64"):
        return None
    return field_range(node.path.removesuffix("[]").rpartition(".")[2], node.path)


def headers_within_ranges(
    headers: NDArray[np.void], names: tuple[str, ...], frames: NDArray[np.int64], found: OutOfRange
) -> None:
    """Writes UNKNOWN over the values of these fields of record batches that are out of range, and notes them. frames:
    the frame of each header.
    """
    for name in names:
        allowed = field_range(name)
        outside = allowed.outside(headers[name]) if allowed is not None else None
        if allowed is not None and outside is not None:
            found.note(f"{RECORDS}.{name}", allowed, frames[outside], headers[name][outside])
            headers[name][outside] = UNKNOWN
