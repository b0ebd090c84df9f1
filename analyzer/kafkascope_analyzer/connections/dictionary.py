"""Dictionary-encoded values of many connections, of which few are distinct: each value once, and a few bytes per
connection."""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")
_PORT_BITS = 16


class DictionaryColumn(Generic[T]):
    """A value for each of n rows, initially `none`. codes: int32[n], index into `values`; none is 0."""

    def __init__(self, n: int, none: T) -> None:
        self.codes: NDArray[np.int32] = np.zeros(n, np.int32)
        self.values = [none]
        self._code_of = {none: 0}

    def __getitem__(self, row: int) -> T:
        return self.values[int(self.codes[row])]

    def code(self, value: T) -> int:
        """Returns the code of a value, which is new where the value had none."""
        code = self._code_of.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def mapped(self, make: Callable[[T], R], dtype: type[np.generic]) -> NDArray[np.generic]:
        """Returns make(value) for each row; make is called once for each distinct value."""
        return np.array([make(value) for value in self.values], dtype)[self.codes]


def joined_columns(columns: Sequence[DictionaryColumn[T]], none: T) -> DictionaryColumn[T]:
    """Returns the rows of several columns, one column after the other. none: their initial value."""
    found = DictionaryColumn[T](0, none)
    codes = [np.array([found.code(value) for value in each.values], np.int32)[each.codes] for each in columns]
    found.codes = np.concatenate([found.codes, *codes])
    return found


class DistinctCodes:
    """The distinct codes of each of many rows, 16 bytes for each pair. `add` takes them in any order and repeatedly."""

    def __init__(self) -> None:
        self._pairs = np.empty(0, _PAIR)
        self._fresh: list[NDArray[np.void]] = []
        self._n_fresh = 0

    def add(self, rows: NDArray[np.int64], codes: NDArray[np.int64], ts_ns: NDArray[np.int64] | int = 0) -> None:
        """Adds codes of rows, both from 0 to 2**31 - 1, with the times at which they were seen."""
        pairs = np.empty(len(rows), _PAIR)
        pairs["key"], pairs["ts_ns"] = rows << _CODE_BITS | codes, ts_ns
        self._fresh.append(_distinct(pairs))
        self._n_fresh += len(self._fresh[-1])
        if self._n_fresh > max(len(self._pairs), _SETTLED_PAIRS):
            self._settle()

    def part(self, rows: slice) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Returns the codes of some rows, by time and then code: the end of each row's codes (int32[n + 1], from 0),
        and all codes."""
        self._settle()
        first, last = np.searchsorted(self._pairs["key"], [rows.start << _CODE_BITS, rows.stop << _CODE_BITS])
        pairs = self._pairs[first:last]
        row, code = pairs["key"] >> _CODE_BITS, pairs["key"] & ((1 << _CODE_BITS) - 1)
        ends = np.searchsorted(row, np.arange(rows.start, rows.stop + 1))
        return ends.astype(np.int32), code[np.lexsort((code, pairs["ts_ns"], row))]

    def pairs(self) -> NDArray[np.int64]:
        """Returns all rows with their codes, and when each pair was first seen, to be saved: int64[n, 2]."""
        self._settle()
        return self._pairs.view(np.int64).reshape(-1, 2)

    def resume(self, pairs: NDArray[np.int64]) -> None:
        """Continues from saved pairs."""
        self._pairs = np.ascontiguousarray(pairs).view(_PAIR).reshape(-1)

    def _settle(self) -> None:
        if self._fresh:
            self._pairs = _distinct(np.concatenate([self._pairs, *self._fresh]))
            self._fresh, self._n_fresh = [], 0


_CODE_BITS = 32
_PAIR = np.dtype([("key", np.int64), ("ts_ns", np.int64)])
_SETTLED_PAIRS = 1 << 16
"""Fewer new pairs are not merged into the sorted ones yet."""


def _distinct(pairs: NDArray[np.void]) -> NDArray[np.void]:
    """Returns each key once, sorted, with the time at which it was first seen."""
    return np.asarray(pairs[firsts(np.ascontiguousarray(pairs["key"]), np.ascontiguousarray(pairs["ts_ns"]))])


def firsts(rows: NDArray[np.int64], ts_ns: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Returns the index of the first occurrence of each distinct row: by time where that is given, else in the order
    given."""
    order = np.argsort(rows, kind="stable") if ts_ns is None else np.lexsort((ts_ns, rows))
    return np.asarray(order[first_of_runs(rows[order])], np.int64)


def put_texts(coded: DictionaryColumn[str | None], rows: NDArray[np.int64], texts: pa.ChunkedArray) -> None:
    """Sets texts, which may be null, of rows that have none yet; rows: each at most once."""
    fresh = (coded.codes[rows] == 0) & np.asarray(texts.is_valid())
    chosen = texts.filter(pa.array(fresh)).combine_chunks().dictionary_encode()
    codes = np.array([coded.code(text) for text in chosen.dictionary.to_pylist()], np.int32)
    coded.codes[rows[fresh]] = codes[chosen.indices.to_numpy()]


class ServerEndpoints:
    """The server's address and port of each connection. distinct: endpoints; which: int64[n], index into them."""

    def __init__(self, connections: pa.Table) -> None:
        addresses = connections["server_ip"].combine_chunks().dictionary_encode()
        codes = addresses.indices.to_numpy().astype(np.int64) << _PORT_BITS | connections["server_port"].to_numpy()
        distinct, self.which = np.unique(codes, return_inverse=True)
        texts = addresses.dictionary.to_pylist()
        self.distinct: list[Endpoint] = [
            (texts[code >> _PORT_BITS], code & ((1 << _PORT_BITS) - 1)) for code in distinct.tolist()
        ]

    def __getitem__(self, connection: int) -> Endpoint:
        return self.distinct[int(self.which[connection])]
