"""Arrays that get longer block after block: room is doubled, so that adding rows costs no more for those there are."""

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
        """The rows without the room behind them, whose memory may hold anything that the process had there before,
        secrets too."""
        return {"_room": self.rows.copy(), "_n": self._n}

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> NDArray[S]:
        """A view of all rows, to be written to as well. It is asked for anew after `add`, which may move them."""
        return self._room[: self._n]

    def add(self, rows: NDArray[S]) -> None:
        """Takes more rows."""
        n = self._n + len(rows)
        if n > len(self._room):
            room = np.empty(max(n, 2 * len(self._room)), self._room.dtype)
            copy_rows(room, self.rows)
            self._room = room
        copy_rows(self._room[self._n :], np.ascontiguousarray(rows, self._room.dtype))
        self._n = n
