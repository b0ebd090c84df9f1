"""Growing arrays: their capacity is doubled when it is used up, so that adding rows does not copy the existing ones
each time."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.row_copies import copy_rows

S = TypeVar("S", bound=np.generic)


class Growing(Generic[S]):
    """Rows of one dtype."""

    def __init__(self, dtype: "type[S] | np.dtype[S] | np.dtype[Any]") -> None:
        self._room: NDArray[S] = np.empty(0, dtype)
        self._n = 0

    def __getstate__(self) -> dict[str, Any]:
        """Returns the rows without the unused capacity, whose memory may still contain other data of the process, also
        secrets."""
        return {"_room": self.rows.copy(), "_n": self._n}

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> NDArray[S]:
        """A writable view of all rows. It becomes invalid with `add`, which may move the rows."""
        return self._room[: self._n]

    def add(self, rows: NDArray[S]) -> None:
        """Adds rows."""
        n = self._n + len(rows)
        if n > len(self._room):
            room = np.empty(max(n, 2 * len(self._room)), self._room.dtype)
            copy_rows(room, self.rows)
            self._room = room
        copy_rows(self._room[self._n :], np.ascontiguousarray(rows, self._room.dtype))
        self._n = n
