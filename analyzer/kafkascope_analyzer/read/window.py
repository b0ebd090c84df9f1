"""The part of a capture that is in memory: a buffer that is refilled after the bytes that were not consumed."""

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import RECORD_LIMIT
from kafkascope_parsers.compression import Unpacked

LARGE_PACKET_BYTES = 768
"""Average size of packets from which on they count as large."""


class BlockSizes(NamedTuple):
    """Most bytes of a block. Each block costs some 20 ms whatever is in it, so that blocks of large packets are larger:
    their rows take less memory than those of small packets in half the bytes."""

    of_small_packets: int
    of_large_packets: int

    @classmethod
    def shared_by(cls, n_processes: int, block_bytes: int) -> Self:
        """Returns the sizes for blocks whose connections are divided among processes. block_bytes: what one process
        takes at a time."""
        of_small = block_bytes * (n_processes + 1) // 2
        return cls(of_small, max(of_small, 2 * block_bytes))

    def of(self, packet_bytes: int) -> int:
        """Returns the size of a block of packets of that average size."""
        return self.of_large_packets if packet_bytes >= LARGE_PACKET_BYTES else self.of_small_packets


class Buffers(Protocol):
    """Provides buffers for a window."""

    def next(self, packet_bytes: int = 0) -> NDArray[np.uint8]:
        """Returns a buffer (uint8) that may be written to; the previous one, if nobody reads it any more. packet_bytes:
        bytes of the capture for each packet so far; 0 while that is not known."""


class OneBuffer:
    """Always provides the same buffer, or its beginning: a block is valid until the next."""

    def __init__(self, sizes: BlockSizes | int) -> None:
        """sizes: a number of bytes for packets of any size."""
        self._sizes = sizes if isinstance(sizes, BlockSizes) else BlockSizes(sizes, sizes)
        self._buf: NDArray[np.uint8] = np.empty(self._sizes.of_large_packets, np.uint8)  # unused pages take no memory

    def next(self, packet_bytes: int = 0) -> NDArray[np.uint8]:
        """Returns the buffer."""
        return self._buf[: self._sizes.of(packet_bytes)]


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

    def more(self, packet_bytes: int = 0) -> None:
        """Moves the bytes that were not consumed to the front and fills the rest; a record larger than the buffer gets
        a larger buffer. packet_bytes: as in `Buffers.next`."""
        rest = self.filled - self.start
        if rest == len(self.buf):
            self.buf = np.concatenate([self.buf, np.empty(min(len(self.buf), RECORD_LIMIT), np.uint8)])
        else:
            old, room = self.buf, self._buffers.next(packet_bytes)
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
