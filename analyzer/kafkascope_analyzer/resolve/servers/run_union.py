"""Joins the runs of several connections: the times in which any packet came from a subject."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_parsers.tcp.spans import RUN_GAP_NS

Ints = NDArray[np.int64]
_MOST_PENDING = 1 << 18
"""Most runs that are kept before they are joined."""


class Runs(NamedTuple):
    """Columns of runs. subject: a number; first and last packet with their times."""

    subject: Ints
    first_ns: Ints
    first_packet: Ints
    last_ns: Ints
    last_packet: Ints

    def taken(self, rows: NDArray[np.generic]) -> "Runs":
        """Returns the chosen runs."""
        return Runs(*(column[rows] for column in self))


NO_RUNS = Runs(*(np.empty(0, np.int64) for _ in range(5)))


def joined(parts: list[Runs]) -> Runs:
    """Returns all runs of the parts."""
    return Runs(*(np.concatenate(columns) for columns in zip(NO_RUNS, *parts, strict=True)))


def united(runs: Runs) -> Runs:
    """Returns the runs of each subject, in which those that overlap or have less than RUN_GAP_NS between them are
    joined, sorted by subject and time."""
    order = np.lexsort((runs.first_packet, runs.first_ns, runs.subject))
    runs = runs.taken(order)
    n = len(order)
    if n == 0:
        return runs
    ranks = np.empty(n, np.int64)
    by_end = np.lexsort((runs.last_packet, runs.last_ns))
    ranks[by_end] = np.arange(n)
    starts_subject = first_of_runs(runs.subject)
    latest = np.maximum.accumulate(np.cumsum(starts_subject) * n + ranks) % n
    ends = by_end[latest]
    """The row that ends last among those of the subject so far."""
    begins = starts_subject.copy()
    begins[1:] |= runs.first_ns[1:] - runs.last_ns[ends[:-1]] >= RUN_GAP_NS
    first = np.flatnonzero(begins)
    last = ends[np.append(first[1:], n) - 1]
    return Runs(
        runs.subject[first], runs.first_ns[first], runs.first_packet[first], runs.last_ns[last], runs.last_packet[last]
    )


def first_ending_after(spans: Runs, subject: Ints, at_ns: Ints) -> Ints:
    """Returns the row of the first span of each subject that ends at a time or after it, or -1. spans: sorted, without
    overlaps within a subject."""
    n, found = len(spans.subject), np.full(len(subject), -1)
    asked = np.flatnonzero(np.isin(subject, spans.subject))  # often few subjects have spans
    if not len(asked):
        return found
    subject = subject[asked]
    keys = np.concatenate([spans.subject, subject])
    times = np.concatenate([spans.last_ns, at_ns[asked]])
    is_query = np.append(np.zeros(n, np.int64), np.ones(len(subject), np.int64))
    order = np.lexsort((-is_query, times, keys))
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(1 - is_query[order])
    row = np.minimum(place[n:], n)
    is_same = (row < n) & (spans.subject[np.minimum(row, n - 1)] == subject)
    found[asked[is_same]] = row[is_same]
    return found


def last_before(runs: Runs, subject: Ints, at_ns: Ints) -> Runs:
    """Returns the last run of each subject that ends before a time; zeros where there is none."""
    n = len(runs.subject)
    if not n:
        return Runs(subject, *(np.zeros(len(subject), np.int64) for _ in range(4)))
    following = first_ending_after(runs, subject, at_ns)
    after_all = np.searchsorted(runs.subject, subject, side="right")
    row = np.where(following >= 0, following, after_all) - 1
    found = (row >= 0) & (runs.subject[np.maximum(row, 0)] == subject)
    taken = runs.taken(np.maximum(row, 0))
    return Runs(subject, *(np.where(found, column, 0) for column in taken[1:]))


def spans(runs: Runs) -> Runs:
    """Returns for each subject the time from its first packet to its last one, sorted by subject."""
    begins = runs.taken(np.lexsort((runs.first_packet, runs.first_ns, runs.subject)))
    ends = runs.taken(np.lexsort((runs.last_packet, runs.last_ns, runs.subject)))
    subject, first, n = np.unique(begins.subject, return_index=True, return_counts=True)
    last = first + n - 1
    return Runs(subject, begins.first_ns[first], begins.first_packet[first], ends.last_ns[last], ends.last_packet[last])


class RunUnion:
    """Takes runs batch by batch, and keeps them joined. join: joins runs (united or spans)."""

    def __init__(self, join: Callable[[Runs], Runs] = united) -> None:
        self._join = join
        self._united = NO_RUNS
        self._pending: list[Runs] = []
        self._n_pending = 0

    def add(self, runs: Runs) -> None:
        """Takes some runs."""
        self._pending.append(runs)
        self._n_pending += len(runs.subject)
        if self._n_pending > max(_MOST_PENDING, len(self._united.subject)):
            self._settle()

    def runs(self) -> Runs:
        """Returns the runs taken so far, joined, sorted by subject and time."""
        self._settle()
        return self._united

    def _settle(self) -> None:
        if self._pending:
            self._united = self._join(joined([self._united, *self._pending]))
            self._pending, self._n_pending = [], 0
