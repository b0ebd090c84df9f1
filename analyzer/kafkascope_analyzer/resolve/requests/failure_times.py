"""Times of the failures of each subject: a client's calls of one API for a group, or a topic-partition that a client
uses.

The requests that follow a failure matter for a client's story, on whatever connection they are. So the times of all
failures are gathered from all buckets, 8 bytes each, and the second pass over each bucket looks its rows up in them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import rank_in_group

NO_SUBJECT = -1
"""Number of a subject that has never failed; also the index of a missing failure."""


_BETWEEN, _NO_TEXT = "\0", "\1"
_NEVER = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Level:
    """One column of the subjects. values: the values that occur; combinations: the sorted combinations that occur, each
    of the number for the columns before and the index of this column's value. The index of a combination is its number.
    """

    values: pa.Array
    combinations: NDArray[np.int64]

    def codes(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """Returns the index of each value of a column; NO_SUBJECT for others."""
        if isinstance(column, pa.ChunkedArray):
            column = flat(column)
        if isinstance(column, pa.DictionaryArray):
            places = self.codes(column.dictionary)
            missing = self.codes(pa.nulls(1, self.values.type))[0]
            index = column.indices.fill_null(len(places)).to_numpy()
            return np.asarray(np.append(places, missing)[index])
        found = pc.index_in(column.cast(self.values.type), self.values).fill_null(NO_SUBJECT)
        return np.asarray(found.to_numpy().astype(np.int64))

    def combined(self, before: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of each combination; NO_SUBJECT for others."""
        wanted = before * len(self.values) + codes
        at = np.minimum(np.searchsorted(self.combinations, wanted), max(len(self.combinations) - 1, 0))
        known = (before >= 0) & (codes >= 0)
        known &= self.combinations[at] == wanted if len(self.combinations) else False
        return np.where(known, at, NO_SUBJECT)


@dataclass(frozen=True, slots=True)
class FailureTimes:
    """levels: the columns that name a subject, the client's address first. times: times of all failures in nanoseconds,
    by subject, ascending; starts: the index of each subject's first time, and the end."""

    levels: tuple[_Level, ...]
    starts: NDArray[np.int64]
    times: NDArray[np.int64]

    def __len__(self) -> int:
        """Number of failures."""
        return len(self.times)

    def clients(self, client_ip: pa.ChunkedArray) -> NDArray[np.int64]:
        """Returns the number of each client, for use in `subjects`; NO_SUBJECT for clients without a failure."""
        return self.levels[0].combined(np.zeros(len(client_ip), np.int64), self.levels[0].codes(client_ip))

    def subjects(self, clients: NDArray[np.int64], columns: list[pa.Array | pa.ChunkedArray]) -> NDArray[np.int64]:
        """Returns the subject of each row: its client and the columns after that; NO_SUBJECT for subjects without a
        failure."""
        found = clients
        for level, column in zip(self.levels[1:], columns, strict=True):
            known = np.flatnonzero(found != NO_SUBJECT)
            combined = level.combined(found[known], level.codes(column.take(pa.array(known))))
            found = np.full(len(found), NO_SUBJECT)
            found[known] = combined
        return found

    def last(
        self, subjects: NDArray[np.int64], ts_ns: NDArray[np.int64], *, strictly: bool = False
    ) -> NDArray[np.int64]:
        """Returns the index of the last failure of each subject at or before that time (strictly: before it);
        NO_SUBJECT where there is none. subjects: results of `subjects`."""
        low, high = self.starts[subjects].copy(), self.starts[subjects + 1].copy()
        first = low.copy()
        while (low < high).any():
            middle = (low + high) // 2
            at = self.times[np.minimum(middle, len(self.times) - 1)]
            is_before = (at < ts_ns if strictly else at <= ts_ns) & (low < high)
            low = np.where(is_before, middle + 1, low)
            high = np.where(is_before, high, np.minimum(middle, high))
        return np.where(low > first, low - 1, NO_SUBJECT)

    def by_subject(self) -> dict[str, NDArray[np.int64]]:
        """The times of each subject's failures, by a text of all values that name it, which begins with the client's
        address and a zero character."""
        if not len(self):
            return {}
        number, texts = np.arange(len(self.starts) - 1), list[pa.Array]()
        for level in reversed(self.levels):
            before, code = np.divmod(level.combinations[number], max(len(level.values), 1))
            values = level.values.dictionary if pa.types.is_dictionary(level.values.type) else level.values
            texts.append(pc.coalesce(values.cast(pa.string()).take(pa.array(code)), _NO_TEXT))
            number = before
        named = pc.binary_join_element_wise(*reversed(texts), _BETWEEN).to_pylist()
        return dict(zip(named, np.split(self.times, self.starts[1:-1]), strict=True))


class KnownFailures:
    """The failures up to the last request in the totals that were known when the totals were made. A failure of that
    time may become known later, when its response is in a later capture."""

    def __init__(self) -> None:
        self._times: dict[str, NDArray[np.int64]] = {}
        self._until_ns = self._last_ns = 0

    def note(self, ts_ns: NDArray[np.int64]) -> None:
        """Takes the times of requests."""
        self._last_ns = max(self._last_ns, int(ts_ns.max(initial=0)))

    def resume(self, state: dict[str, Any]) -> None:
        """Takes the failures that earlier runs knew."""
        self._times, self._until_ns = state["times"], state["until_ns"]
        self._last_ns = self._until_ns

    def newly_failed(self, failures: FailureTimes) -> list[str]:
        """Returns the addresses of clients with a failure in the time of earlier runs that these did not know."""
        if not self._until_ns:
            return []
        found = set[str]()
        for subject, times in failures.by_subject().items():
            earlier = times[: np.searchsorted(times, self._until_ns, side="right")]
            if not np.isin(earlier, self._times.get(subject, _NEVER)).all():
                found.add(subject.partition(_BETWEEN)[0])
        return sorted(found)

    def state(self, failures: FailureTimes) -> dict[str, Any]:
        """Returns the failures that are known now, to be saved; for the time of earlier runs, only those that these
        knew."""
        times = dict(self._times)
        for subject, each in failures.by_subject().items():
            first, last = np.searchsorted(each, [self._until_ns, self._last_ns], side="right")
            if last > first:
                times[subject] = np.concatenate([times.get(subject, _NEVER), each[first:last]])
        return {"times": times, "until_ns": self._last_ns}


def with_codes(rows: pa.Table) -> pa.Table:
    """Returns the rows with their strings dictionary-encoded: failures are many, and their subjects are few."""
    for place, column in enumerate(rows.schema):
        if pa.types.is_string(column.type):
            rows = rows.set_column(place, column.name, rows[column.name].dictionary_encode())
    return rows


def _values(column: pa.Array) -> pa.Array:
    """Returns the distinct values of a column, with null where it occurs."""
    if not isinstance(column, pa.DictionaryArray):
        return pc.unique(column)
    nulls = pa.nulls(1 if column.null_count else 0, column.dictionary.type)
    return pc.unique(pa.concat_arrays([column.dictionary, nulls]))


def failure_times(tables: Iterable[pa.Table]) -> FailureTimes:
    """Gathers the failures. tables: tables of one schema: the columns that name a subject, the client's address first,
    and ts_ns last; made by with_codes."""
    rows = pa.concat_tables(tables).unify_dictionaries()
    levels: list[_Level] = []
    subject = np.zeros(rows.num_rows, np.int64)
    for name in rows.column_names[:-1]:
        column = flat(rows[name])
        values = _values(column)
        level = _Level(values, np.empty(0, np.int64))
        combinations, subject = np.unique(subject * len(values) + level.codes(column), return_inverse=True)
        levels.append(_Level(values, combinations))
    ts_ns = rows["ts_ns"].to_numpy()
    order = np.lexsort((ts_ns, subject))
    n = len(levels[-1].combinations)
    starts = np.concatenate([[0], np.cumsum(np.bincount(subject, minlength=n))]).astype(np.int64)
    return FailureTimes(tuple(levels), starts, ts_ns[order])


class FollowCounter:
    """Finds the rows that closely follow a failure: on each connection, the first rows after each failure of their
    subject. Rows come in order of time; memory: three numbers per connection and subject."""

    def __init__(self, n_subjects: int, most: int) -> None:
        self._n_subjects, self._most = max(n_subjects, 1), most
        self._keys, self._failures, self._counts = (np.empty(0, np.int64) for _ in range(3))

    def take(
        self, conn: NDArray[np.int64], subjects: NDArray[np.int64], failures: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether each row is one of the first `most` rows of its connection and subject since that failure."""
        key = conn * self._n_subjects + subjects
        order = np.argsort(key, kind="stable")
        keys, since = key[order], failures[order]
        place = rank_in_group(keys, since)
        mine = rank_in_group(keys)
        at = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        known = self._keys[at] == keys if len(self._keys) else np.zeros(len(keys), np.bool_)
        goes_on = np.zeros(len(keys), np.bool_)
        goes_on[known] = (self._failures[at[known]] == since[known]) & (place[known] == mine[known])
        place[goes_on] += self._counts[at[goes_on]]
        self._remember(keys, since, place)
        follows = np.empty(len(keys), np.bool_)
        follows[order] = place < self._most
        return follows

    def _remember(self, keys: NDArray[np.int64], since: NDArray[np.int64], place: NDArray[np.int64]) -> None:
        """Keeps for each connection and subject the last failure and how many rows have followed."""
        ends = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if len(keys) else np.empty(0, np.int64)
        old = ~np.isin(self._keys, keys[ends])
        merged = np.concatenate([self._keys[old], keys[ends]])
        order = np.argsort(merged)
        self._keys = merged[order]
        self._failures = np.concatenate([self._failures[old], since[ends]])[order]
        self._counts = np.concatenate([self._counts[old], place[ends] + 1])[order]
