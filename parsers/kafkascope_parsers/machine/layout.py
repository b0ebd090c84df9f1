"""The layout of the columns of a batch: one buffer for all, with the cells of each slot aligned in it.

A slot gets cells only if some version of the batch has it and its code was reached; a column that is not written for
all instances is filled with nulls first, so that a field that a version lacks needs no operation.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.machine.kernel import Cells
from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.program import GUARD_ABSENT, GUARD_ALWAYS
from kafkascope_parsers.schema.tree import Node

_ALIGNMENT = 64
_VALUE_TYPES: dict[str, type[np.generic]] = {
    "bool": np.int8,
    "int8": np.int8,
    "int16": np.int16,
    "uint16": np.int32,
    "int32": np.int32,
    "int64": np.int64,
    "float64": np.float64,
}
VARIABLE_TYPES = frozenset({"string", "bytes", "records"})


@cache
def value_type(node: Node) -> np.dtype[np.generic]:
    """Type of the first cells of a node: values, offsets, counts or presence."""
    if node.kind == "struct":
        return np.dtype(np.int8)
    if node.kind == "array":
        return np.dtype(np.int32)
    return np.dtype(_VALUE_TYPES.get(node.type, np.int64))


@cache
def second_type(node: Node) -> np.dtype[np.generic] | None:
    """Type of the second cells: lengths of variable-width leaves, presence of fixed-width ones; None where there are
    none."""
    if node.kind != "leaf" or node.type == "uuid":
        return None
    return np.dtype(np.int32) if node.type in VARIABLE_TYPES else np.dtype(np.int8)


@cache
def weights(message: MessageType) -> NDArray[np.int64]:
    """Bytes of columns that an instance of each level may need. Do not write to it."""
    out = np.zeros(len(message.level_arrays), np.int64)
    for node in message.slots:
        second = second_type(node)
        out[node.level] += value_type(node).itemsize + (second.itemsize if second else 0)
    return out


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of a batch: `first` and `second` have the cells of each slot, or None if it has none; the machine fills
    `cells`."""

    first: tuple[NDArray[np.generic] | None, ...]
    second: tuple[NDArray[np.generic] | None, ...]
    cells: Cells


def empty_cells(n_slots: int) -> Cells:
    """Cells without any column, for the run that only checks and counts."""
    pool = np.zeros(8, np.int8)
    return _cells(np.full((n_slots, 2), -1, np.int64), pool)


def one_column(message: MessageType, node: Node, n: int) -> tuple[NDArray[np.generic], NDArray[np.int8], Cells]:
    """Cells with the column of one fixed-width leaf of level 0 and n rows: its values, whether each is there (1), and
    the cells that fill both.
    """
    kind = value_type(node)
    size = -(-n * kind.itemsize // _ALIGNMENT) * _ALIGNMENT
    pool = np.zeros(max(size + -(-n // _ALIGNMENT) * _ALIGNMENT, 8), np.int8)
    base = np.full((len(message.slots), 2), -1, np.int64)
    base[node.slot] = 0, size
    return pool[: n * kind.itemsize].view(kind), pool[size : size + n], _cells(base, pool)


def _cells(base: NDArray[np.int64], pool: NDArray[np.int8]) -> Cells:
    return Cells(base, pool, pool.view(np.int16), pool.view(np.int32), pool.view(np.int64))


@cache
def _levels(message: MessageType) -> NDArray[np.int64]:
    """Level of each slot."""
    return np.array([node.level for node in message.slots], np.int64)


def lay_out(
    message: MessageType, versions: NDArray[np.int64], counts: NDArray[np.int64], reached: NDArray[np.uint8]
) -> Layout:
    """Make the columns for a batch of these distinct versions (indexes from the lowest), level sizes and reached
    guards."""
    programs = message.programs
    guard = programs.guard[versions]
    needed = ((guard == GUARD_ALWAYS) | ((guard >= 0) & (reached[np.maximum(guard, 0)] != 0))).any(axis=0)
    levels = _levels(message)
    needed &= counts[levels] > 0
    # A version that does not have the level at all has no instance in the column either.
    always = ((guard == GUARD_ALWAYS) | ((guard == GUARD_ABSENT) & ~programs.has_level[versions][:, levels])).all(
        axis=0
    )
    plan: list[tuple[int, int, np.dtype[np.generic], int]] = []
    base = np.full((len(message.slots), 2), -1, np.int64)
    at = 0
    for slot in np.flatnonzero(needed).tolist():
        node = message.slots[slot]
        kinds = [value_type(node)]
        second = second_type(node)
        if second is not None and (node.type in VARIABLE_TYPES or not always[slot]):
            kinds.append(second)
        for column, kind in enumerate(kinds):
            plan.append((slot, column, kind, at))
            base[slot, column] = at // kind.itemsize
            at += -(-int(counts[node.level]) * kind.itemsize // _ALIGNMENT) * _ALIGNMENT
    pool = np.zeros(max(at, 8), np.int8)
    columns: list[list[NDArray[np.generic] | None]] = [[None, None] for _ in message.slots]
    for slot, column, kind, start in plan:
        node = message.slots[slot]
        view = pool[start : start + int(counts[node.level]) * kind.itemsize].view(kind)
        columns[slot][column] = view
        if not always[slot]:
            _fill_with_null(node, column, view)
    return Layout(tuple(c[0] for c in columns), tuple(c[1] for c in columns), _cells(base, pool))


def _fill_with_null(node: Node, column: int, view: NDArray[np.generic]) -> None:
    is_length = column == 1 and node.type in VARIABLE_TYPES
    if node.kind == "array" or is_length or (node.kind == "leaf" and node.type == "uuid"):
        view[:] = -1
