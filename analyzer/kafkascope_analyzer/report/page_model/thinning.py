"""Chooses the requests of the page where there are too many, and how many requests each of them stands for.

At first every request is kept. Where there are more than the budget, those of one connection, API, error and status in
one span of time are merged: the slowest stands for all, and its weight is their number, so that the weights of any part
add up to its number of requests. Successful requests of APIs that clients repeat continuously are merged first, in
longer and longer spans; the others only when they alone are too many. The first and the last request of each connection
and API are not merged. Memory: one and a half times the budget.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_parsers.api_keys import STEADY_APIS

BUDGET = 500_000
"""Most requests in a page: it then has some 12 MB and opens in two seconds."""
FIRST_STRETCHES = 8192
"""Spans of time that the capture is divided into when merging begins; the number is halved until the budget holds."""

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]
KEY = ("conn", "api_key", "error_code", "status")


@dataclass(slots=True)
class Stretches:
    """The number of spans in which each class of requests is merged; 0: its requests are not merged."""

    data: int = 0
    other: int = 0


class Kept:
    """The requests kept so far. Columns are integer arrays; `ts` is nanoseconds, at least KEY, ts, number,
    latency_us."""

    def __init__(self, start_ns: int, end_ns: int, budget: int = BUDGET) -> None:
        self.stretches = Stretches()
        self.n_seen = 0
        self._start, self._length, self._budget = start_ns, max(1, end_ns - start_ns), budget
        self._parts: list[Columns] = []
        self._n = 0

    def add(self, columns: Columns) -> None:
        """Adds requests."""
        n = len(columns["ts"])
        self.n_seen += n
        self._n += n
        self._parts.append({**columns, "weight": np.ones(n, np.int32)})
        if self._n > self._budget * 3 // 2:
            self._fit()

    def columns(self) -> Columns:
        """Returns the kept requests by connection, time, number; `weight`: the number of requests that each
        stands for."""
        rows = self._fit()
        order = np.lexsort((rows["number"], rows["ts"], rows["conn"])) if rows else np.empty(0, np.int64)
        return {name: rows.pop(name)[order] for name in list(rows)}

    def _fit(self) -> Columns:
        """Merges until the budget holds, as far as possible."""
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
        """Chooses longer spans; returns whether there are any."""
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
    """Returns a mask of the successful requests of APIs that clients repeat continuously."""
    well: NDArray[np.bool_] = (rows["error_code"] == 0) & (rows["status"] == 0)
    return well & np.isin(rows["api_key"], list(STEADY_APIS))


def _is_edge(rows: Columns) -> NDArray[np.bool_]:
    """Returns a mask of the first and the last request of each connection and API."""
    order = np.lexsort((rows["number"], rows["ts"], rows["api_key"], rows["conn"]))
    begins = first_of_runs(rows["conn"][order], rows["api_key"][order])
    edge = np.zeros(len(order), bool)
    edge[order[begins]] = True
    edge[order[np.append(begins[1:], True)]] = True
    return edge


def _joined(parts: list[Columns]) -> Columns:
    """Concatenates the parts. They are emptied on the way, so that memory never holds everything twice."""
    if len(parts) < 2:
        return parts[0] if parts else {}
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}


def integers(column: pa.Array, missing: int) -> Ints:
    """Returns a column of numbers as int64, with `missing` for null."""
    return np.asarray(column.cast(pa.int64()).fill_null(missing).to_numpy(zero_copy_only=False), np.int64)
