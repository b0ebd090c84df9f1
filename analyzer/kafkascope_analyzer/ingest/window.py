"""The stretch of a capture that is in memory: one buffer, filled anew from behind what was not consumed."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import RECORD_LIMIT, Unpacked


class Window:
    """buf[start:filled] is what comes next (uint8); final: no more follows. The caller moves `start`."""

    def __init__(self, source: Unpacked, n_bytes: int) -> None:
        self.buf: NDArray[np.uint8] = np.empty(n_bytes, np.uint8)
        self.start = self.filled = 0
        self.final = False
        self._source = source
        self._failure: str | None = None
        self._fill()

    @property
    def problem(self) -> str | None:
        """Why the source ended early; None where it did not, or has not ended."""
        return self._failure or self._source.problem

    def more(self) -> None:
        """Moves what was not consumed to the front and fills the rest; a record larger than the buffer gets a larger
        one."""
        rest = self.filled - self.start
        if rest == len(self.buf):
            self.buf = np.concatenate([self.buf, np.empty(min(len(self.buf), RECORD_LIMIT), np.uint8)])
        else:
            self.buf[:rest] = self.buf[self.start : self.filled].copy()
        self.start, self.filled = 0, rest
        self._fill()
        self.final = self.filled < len(self.buf)

    def _fill(self) -> None:
        view = memoryview(self.buf)  # type: ignore[arg-type]
        while self.filled < len(self.buf) and not self._failure:
            try:
                n = self._source.readinto(view[self.filled :])
            except OSError as error:
                self._failure = f"reading failed: {error.strerror or error}"
                break
            if not n:
                break
            self.filled += n
