"""Numbers for strings that occur repeatedly: a list in the page, an index in the columns."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MOST_NAMES = 60_000
"""Most names, so that an index fits two bytes. Later ones share one name that says so."""
NONE, OTHER = 0, 1


class Names:
    """Strings in the order of their first occurrence; 0 is none, 1 stands for all strings beyond MOST_NAMES."""

    def __init__(self) -> None:
        self.listed: list[str] = ["", "(one of too many names)"]
        self._index: dict[str, int] = {}

    def index(self, name: str | None) -> int:
        """Returns the number of a name."""
        if name is None:
            return NONE
        known = self._index.get(name)
        if known is None:
            if len(self.listed) >= MOST_NAMES:
                return OTHER
            known = self._index[name] = len(self.listed)
            self.listed.append(name)
        return known

    def indices(self, column: pa.Array) -> NDArray[np.int64]:
        """Returns the numbers of a string column's values, int64."""
        encoded = column.dictionary_encode()
        numbers = np.array([self.index(v) for v in encoded.dictionary.to_pylist()] or [NONE], np.int64)
        codes: NDArray[Any] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.where(codes < 0, NONE, numbers[codes])

    def in_order(self) -> NDArray[np.int64]:
        """Sorts the names, so that their numbers do not depend on which rows came first: the order of rows differs with
        the number of processes that read the capture. Returns the new number of each old one.
        """
        order = sorted(range(OTHER + 1, len(self.listed)), key=self.listed.__getitem__)
        numbers = np.arange(len(self.listed))
        numbers[order] = np.arange(OTHER + 1, len(self.listed))
        self.listed = [*self.listed[: OTHER + 1], *(self.listed[place] for place in order)]
        self._index = {name: number for number, name in enumerate(self.listed) if number > OTHER}
        return numbers
