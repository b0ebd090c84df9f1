"""Which requests the page has where there are too many, and how many each of them stands for.

Every request begins on its own. Where they are more than the budget, those of one connection, API, error and status in
one stretch of time become one: the slowest stands for all, its weight is their number. So the weights add up to all
requests, whatever part of them is looked at. Successful requests of APIs that are repeated all the time are merged
first, in ever longer stretches; the others only when they alone are too many. The first and the last request of each
connection and API stay apart. Memory: one and a half times the budget.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_parsers.api_keys import STEADY_APIS

BUDGET = 500_000
"""Requests in a page: it then has some 12 MB and opens in two seconds."""
FIRST_STRETCHES = 8192
"""Stretches of time that the capture is divided into when merging begins; halved until the budget holds."""

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]
KEY = ("conn", "api_key", "error_code", "status")


@dataclass(slots=True)
class Stretches:
    """How many stretches each class is merged in; 0: its requests stay apart."""

    data: int = 0
    other: int = 0


class Kept:
    """The requests so far. Columns are integer arrays; `ts` is nanoseconds, at least KEY, ts, number, latency_us."""

    def __init__(self, start_ns: int, end_ns: int, budget: int = BUDGET) -> None:
        self.stretches = Stretches()
        self.n_seen = 0
        self._start, self._length, self._budget = start_ns, max(1, end_ns - start_ns), budget
        self._parts: list[Columns] = []
        self._n = 0

    def add(self, columns: Columns) -> None:
        """Takes in some requests."""
        n = len(columns["ts"])
        self.n_seen += n
        self._n += n
        self._parts.append({**columns, "weight": np.ones(n, np.int32)})
        if self._n > self._budget * 3 // 2:
            self._fit()

    def columns(self) -> Columns:
        """The kept requests by connection, time, number; `weight`: how many each stands for."""
        rows = self._fit()
        order = np.lexsort((rows["number"], rows["ts"], rows["conn"])) if rows else np.empty(0, np.int64)
        return {name: rows.pop(name)[order] for name in list(rows)}

    def _fit(self) -> Columns:
        """Merges until the budget holds, where it can."""
        rows = _joined(self._parts)
        n = self._n
        more = n > self._budget and (self.stretches.data > 0 or self.stretches.other > 0 or self._coarser(rows))
        while more:
            rows = self._merged(rows)
            n = len(rows["ts"])
            more = n > self._budget and self._coarser(rows)
        self._parts, self._n = ([rows], n) if rows else ([], 0)
        return self._parts[0] if rows else {}

    def _coarser(self, rows: Columns) -> bool:
        """Chooses longer stretches; whether there are any."""
        n_data = int(np.count_nonzero(is_data(rows)))
        stretches = self.stretches
        if stretches.data != 1 and n_data > self._budget // 10:
            stretches.data = stretches.data // 2 or FIRST_STRETCHES
            return True
        if stretches.other != 1:
            stretches.other = stretches.other // 2 or FIRST_STRETCHES
            return True
        return False

    def _merged(self, rows: Columns) -> Columns:
        data = is_data(rows)
        apart = np.arange(len(data)) + (FIRST_STRETCHES + 1)
        since = rows["ts"] - self._start
        stretch = np.where(data, self._stretch(since, self.stretches.data), self._stretch(since, self.stretches.other))
        stretch = np.where((stretch < 0) | (data & _is_edge(rows)), apart, stretch)
        slowest = np.lexsort((rows["number"], -rows["latency_us"], stretch, *(rows[name] for name in KEY)))
        begins = np.flatnonzero(first_of_runs(stretch[slowest], *(rows[name][slowest] for name in KEY)))
        kept = slowest[begins]
        weight = np.add.reduceat(rows["weight"][slowest], begins, dtype=np.int32)
        return {name: rows.pop(name)[kept] for name in list(rows)} | {"weight": weight}

    def _stretch(self, since: Ints, n: int) -> Ints:
        if not n:
            return np.full(len(since), -1, np.int64)
        return np.clip(since // (self._length // n + 1), 0, n)


def is_data(rows: Columns) -> NDArray[np.bool_]:
    """Which requests are of an API that is repeated all the time, and succeeded."""
    well: NDArray[np.bool_] = (rows["error_code"] == 0) & (rows["status"] == 0)
    return well & np.isin(rows["api_key"], list(STEADY_APIS))


def _is_edge(rows: Columns) -> NDArray[np.bool_]:
    """Which requests are the first or the last of their connection and API."""
    order = np.lexsort((rows["number"], rows["ts"], rows["api_key"], rows["conn"]))
    begins = first_of_runs(rows["conn"][order], rows["api_key"][order])
    edge = np.zeros(len(order), bool)
    edge[order[begins]] = True
    edge[order[np.append(begins[1:], True)]] = True
    return edge


def _joined(parts: list[Columns]) -> Columns:
    """The parts as one; they are emptied on the way, so that there are never two of everything."""
    if len(parts) < 2:
        return parts[0] if parts else {}
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}


def integers(column: pa.Array, missing: int) -> Ints:
    """A column of numbers as int64, with `missing` for null."""
    return np.asarray(column.cast(pa.int64()).fill_null(missing).to_numpy(zero_copy_only=False), np.int64)
