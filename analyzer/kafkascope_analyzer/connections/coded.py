"""Values of many connections of which few are distinct: each value once, and 4 bytes a connection."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.nodes import Endpoint

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")
_PORT_BITS = 16


class Coded(Generic[T]):
    """A value for each of n rows, at first `none`. codes: int32[n], index into `values`; none is 0."""

    def __init__(self, n: int, none: T) -> None:
        self.codes: NDArray[np.int32] = np.zeros(n, np.int32)
        self.values = [none]
        self._code_of = {none: 0}

    def __getitem__(self, row: int) -> T:
        return self.values[int(self.codes[row])]

    def __setitem__(self, row: int, value: T) -> None:
        self.codes[row] = self.code(value)

    def code(self, value: T) -> int:
        """The code of a value, a new one where it had none."""
        code = self._code_of.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def part(self, rows: slice) -> list[T]:
        """The values of some rows."""
        return [self.values[code] for code in self.codes[rows].tolist()]

    def mapped(self, make: Callable[[T], R], dtype: type[np.generic]) -> NDArray[np.generic]:
        """make(value) of each row, called once for each distinct value."""
        return np.array([make(value) for value in self.values], dtype)[self.codes]


def put_texts(coded: Coded[str | None], rows: NDArray[np.int64], texts: pa.ChunkedArray) -> None:
    """Sets texts (nulls among them) of rows that have none yet; rows: each at most once."""
    fresh = (coded.codes[rows] == 0) & np.asarray(texts.is_valid())
    chosen = texts.filter(pa.array(fresh)).combine_chunks().dictionary_encode()
    codes = np.array([coded.code(text) for text in chosen.dictionary.to_pylist()], np.int32)
    coded.codes[rows[fresh]] = codes[chosen.indices.to_numpy()]


class Ends:
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
