"""The part of a capture that is in memory: a buffer that is refilled after the bytes that were not consumed."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import RECORD_LIMIT
from kafkascope_parsers.compression import Unpacked


class Buffers(Protocol):
    """Provides buffers for a window. All buffers have one size, except that the first one may be smaller."""

    def next(self) -> NDArray[np.uint8]:
        """Returns a buffer (uint8) that may be written to; the previous one, if nobody reads it any more."""


class OneBuffer:
    """Always provides the same buffer: a block is valid until the next."""

    def __init__(self, n_bytes: int) -> None:
        self._buf: NDArray[np.uint8] = np.empty(n_bytes, np.uint8)

    def next(self) -> NDArray[np.uint8]:
        """Returns the buffer."""
        return self._buf


class Window:
    """buf[start:filled] are the next bytes (uint8); final: whether no more follow. The caller advances `start`."""

    def __init__(self, source: Unpacked, buffers: Buffers) -> None:
        self._buffers = buffers
        self.buf: NDArray[np.uint8] = buffers.next()
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
        """Moves the bytes that were not consumed to the front and fills the rest; a record larger than the buffer gets
        a larger buffer."""
        rest = self.filled - self.start
        if rest == len(self.buf):
            self.buf = np.concatenate([self.buf, np.empty(min(len(self.buf), RECORD_LIMIT), np.uint8)])
        else:
            old, room = self.buf, self._buffers.next()
            self.buf = room if rest < len(room) else np.empty(len(old), np.uint8)
            self.buf[:rest] = old[self.start : self.filled].copy()
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
