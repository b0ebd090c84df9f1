"""Collects values that come API by API into columns by frame."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class IntColumn:
    """Integers by frame; null where no value was put. The first value for a frame stays."""

    def __init__(self, n: int, arrow_type: pa.DataType) -> None:
        self._values = np.zeros(n, np.int64)
        self._valid = np.zeros(n, np.bool_)
        self._type = arrow_type

    def put(self, frames: NDArray[np.int64], values: NDArray[np.int64], nulls: NDArray[np.bool_]) -> None:
        """Puts values[i] into frames[i] where nulls[i] is false and the frame has none yet."""
        keep = ~nulls & ~self._valid[frames]
        places = frames[keep]
        self._values[places] = values[keep]
        self._valid[places] = True

    def arrow(self) -> pa.Array:
        """Returns the column."""
        kind = self._type.to_pandas_dtype()
        return pa.array(self._values.astype(kind), self._type, mask=~self._valid)

    def values(self, default: int) -> NDArray[np.int64]:
        """Returns the values, with a default for nulls."""
        return np.where(self._valid, self._values, default)


class TextColumn:
    """Strings by frame; null where no value was put. The first value for a frame stays."""

    def __init__(self, n: int) -> None:
        self._place = np.full(n, -1, np.int64)
        self._chunks: list[pa.Array] = []
        self._n = 0

    def put(self, frames: NDArray[np.int64], texts: pa.Array) -> None:
        """Puts texts[i], unless null, into frames[i] if that has none yet."""
        places = np.arange(self._n, self._n + len(texts))
        keep = (self._place[frames] < 0) & ~np.asarray(texts.is_null())
        self._place[frames[keep]] = places[keep]
        self._chunks.append(texts)
        self._n += len(texts)

    def arrow(self) -> pa.Array:
        """Returns the column."""
        if not self._chunks:
            return pa.nulls(len(self._place), pa.string())
        texts = self._chunks[0] if len(self._chunks) == 1 else pa.concat_arrays(self._chunks)
        return texts.take(pa.array(self._place, mask=self._place < 0))
