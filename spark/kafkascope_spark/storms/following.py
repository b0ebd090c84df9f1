"""Which mentions of a topic-partition follow a failed one closely, in one pass over mentions in order of time: what
events asks Spark's windows for where they are few, for those of a storm.

Mentions of many topic-partitions come mixed (`key` tells them apart), so that Spark sorts by time, a number, instead of
by names that are all the same. Memory: four counts per key that ever failed, and the mentions of which the next one
decides (at most one a key).
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]
KINDS = 4
"""Kinds of mentions that are counted apart (events)."""


class Following:
    """Takes mentions (key, request_id, failed, kind: 0 to 3, wanted, and any others) in order of time; gives those that
    are wanted whatever they follow, and those that did not fail, are among the `most` of their kind after one of their
    key that did, and whose own error is not the next of the key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._since: dict[int, tuple[int, ...]] = {}
        """Of a key that failed, the mentions of each kind since."""
        self.held: pa.RecordBatch | None = None
        """What is undecided, as the next of its key may be its error: told, if nothing more comes."""

    def feed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What of it and of those held before is told, in order."""
        n_held = self.held.num_rows if self.held is not None else 0
        rows = pa.concat_batches([self.held, batch]) if self.held is not None else batch
        if not rows.num_rows:
            return rows
        keys = _numpy(rows, "key")
        order = np.argsort(keys, kind="stable")
        keys, is_held = keys[order], order < n_held
        failed, wanted = (_numpy(rows, name)[order].astype(bool) for name in ("failed", "wanted"))
        kinds = np.where(is_held, KINDS, _numpy(rows, "kind")[order])
        is_last = np.append(np.diff(keys) != 0, True)
        ids = rows.column("request_id").take(pa.array(order))
        same = pc.fill_null(pc.equal(ids.slice(1), ids.slice(0, len(ids) - 1)), fill_value=False)
        answered = np.append(same.to_numpy(zero_copy_only=False) & failed[1:], False) & ~is_last
        follows = self._count(keys, failed, kinds) | is_held
        told = follows & ~failed & ~answered & ~wanted
        self.held = rows.take(pa.array(np.sort(order[told & is_last])))
        return rows.take(pa.array(np.sort(order[(told & ~is_last) | (wanted & ~is_held)])))

    def _count(self, keys: Longs, failed: Bools, kinds: Longs) -> Bools:
        """Which of the mentions, sorted by key, are among the first of their kind since one that failed; kind KINDS
        counts for nothing."""
        n, at = len(keys), np.arange(len(keys))
        begins = np.flatnonzero(np.diff(keys, prepend=~keys[0]) != 0)
        which = np.searchsorted(begins, at, side="right") - 1
        last_failed = np.maximum.accumulate(np.where(failed, at, -1))
        before = np.append(-1, last_failed[:-1])
        is_here = before >= begins[which]
        counts = np.zeros((KINDS + 1, n + 1), np.int64)
        counts[kinds, at + 1] = 1
        counts = counts.cumsum(axis=1)
        known = [self._since.get(key) for key in keys[begins].tolist()]
        carried = np.array([(*(since or (0,) * KINDS), 0) for since in known], np.int64).T
        since = counts[kinds, at + 1] - counts[kinds, np.where(is_here, before + 1, begins[which])]
        since = since + np.where(is_here, 0, carried[kinds, which])
        has_failed = is_here | np.array([old is not None for old in known], bool)[which]
        self._carry(keys[begins], known, begins, np.append(begins[1:], n), last_failed, counts)
        follows: Bools = has_failed & (since <= self._most) & (kinds < KINDS)
        return follows

    def _carry(
        self,
        keys: Longs,
        known: list[tuple[int, ...] | None],
        begins: Longs,
        ends: Longs,
        last_failed: Longs,
        counts: Longs,
    ) -> None:
        """Remember the counts since each key's last failure."""
        fails = last_failed[ends - 1] >= begins
        fresh = counts[:KINDS, ends] - counts[:KINDS, np.where(fails, last_failed[ends - 1] + 1, begins)]
        for key, old, is_new, more in zip(keys.tolist(), known, fails.tolist(), fresh.T.tolist(), strict=True):
            if is_new:
                self._since[key] = tuple(more)
            elif old is not None:
                self._since[key] = tuple(min(a + b, self._most + 1) for a, b in zip(old, more, strict=True))


def _numpy(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    column = rows.column(name)
    numbers: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False)
    return numbers
