"""Counts of requests by subject, slice of time and code, of which most would be 0."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kafkascope_analyzer.resolve.servers.run_union import Ints

SLICE_NS = 2_000_000_000
"""Length of a time slice, unless the capture is so long that its slices would need more than MOST_SLICES."""
MOST_SLICES = 1 << 19
"""Most slices of all subjects together; a slice takes 128 bytes while its quantiles are computed."""
N_CODES = 1 << 12
_CODE_BITS, _SLICE_BITS = 12, 20
_MOST_PENDING = 1 << 18
"""Most rows that are kept before they are counted."""
_MOST_CHUNKS = 16
"""Most lists of counts, one for each run, that are kept side by side: joining them takes longer than reading them."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The time slices of a capture."""

    begin_ns: int
    length_ns: int
    n: int

    @property
    def length_ms(self) -> int:
        """The length of a slice in milliseconds."""
        return self.length_ns // 1_000_000

    def of(self, ts_ns: Ints) -> Ints:
        """Returns the number of the slice of each time."""
        return np.clip((ts_ns - self.begin_ns) // self.length_ns, 0, self.n - 1)

    def key(self) -> list[int]:
        """Returns what `doublings_since` compares."""
        return [self.begin_ns, self.length_ns]

    def doublings_since(self, begin_ns: int, length_ns: int) -> int | None:
        """Returns how often the length of slices has been doubled; None where they are no halves of these slices."""
        doublings = (self.length_ns // length_ns).bit_length() - 1
        is_same = begin_ns == self.begin_ns and length_ns << max(doublings, 0) == self.length_ns
        return doublings if is_same else None


def slices_of(capture_ns: tuple[int, int], n_subjects: int) -> Slices:
    """Returns the time slices of a capture with so many subjects. Their length is a power of two times SLICE_NS, so
    that the counts of an earlier run remain of use when the capture has become longer."""
    begin_ns, end_ns = capture_ns
    length_ns = SLICE_NS
    while (end_ns - begin_ns) // length_ns >= max(MOST_SLICES // max(n_subjects, 1), 1):
        length_ns *= 2
    return Slices(begin_ns, length_ns, (end_ns - begin_ns) // length_ns + 1)


class Counts(NamedTuple):
    """Columns: subject, slice, code, and how many rows had these."""

    subject: Ints
    slice: Ints
    code: Ints
    n: Ints


class Cells:
    """Counts rows. Memory: one number for each cell that has rows."""

    def __init__(self) -> None:
        self._chunks: list[tuple[Ints, Ints]] = []
        """Keys in order, and counts."""
        self._new: tuple[Ints, Ints] = np.empty(0, np.int64), np.empty(0, np.int64)
        self._pending: list[Ints] = []
        self._n_pending = 0

    def count(self, subject: Ints, of_slice: Ints, code: Ints) -> None:
        """Counts rows. subject: less than 2^31; of_slice: less than 2^20; code: less than N_CODES."""
        self._pending.append((subject << _SLICE_BITS | of_slice) << _CODE_BITS | code)
        self._n_pending += len(subject)
        if self._n_pending > _MOST_PENDING:
            self._settle()

    def found(self) -> list[tuple[Ints, Ints]]:
        """Returns the counts so far as plain values."""
        self._settle()
        chunks = [*self._chunks, self._new] if len(self._new[0]) else self._chunks
        return list(chunks) if len(chunks) <= _MOST_CHUNKS else [_joined(chunks)]

    def add(self, found: list[tuple[Ints, Ints]]) -> None:
        """Adds counts in the form of `found`."""
        self._chunks += found

    def each(self) -> Iterator[Counts]:
        """Yields the counts, some at a time; a cell may come more than once."""
        for keys, n in self.found():
            cell = keys >> _CODE_BITS
            yield Counts(cell >> _SLICE_BITS, cell & ((1 << _SLICE_BITS) - 1), keys & (N_CODES - 1), n)

    def _settle(self) -> None:
        if self._n_pending:
            keys, n = np.unique(np.concatenate(self._pending), return_counts=True)
            self._new = _joined([self._new, (keys, n.astype(np.int64))])
            self._pending, self._n_pending = [], 0


def _joined(chunks: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    keys, which = np.unique(np.concatenate([each[0] for each in chunks]), return_inverse=True)
    n = np.zeros(len(keys), np.int64)
    np.add.at(n, which, np.concatenate([each[1] for each in chunks]))
    return keys, n


def renumbered(found: list[Any], numbers: Ints, doublings: int) -> list[tuple[Ints, Ints]]:
    """Returns the counts of an earlier run. numbers: the number now of each subject; doublings: how often the length of
    slices was doubled since."""
    chunks = []
    for keys, n in found:
        cell = keys >> _CODE_BITS
        subject, of_slice = cell >> _SLICE_BITS, (cell & ((1 << _SLICE_BITS) - 1)) >> doublings
        chunk = (numbers[subject] << _SLICE_BITS | of_slice) << _CODE_BITS | keys & (N_CODES - 1), n
        chunks.append(_joined([chunk]) if doublings else chunk)
    return chunks
