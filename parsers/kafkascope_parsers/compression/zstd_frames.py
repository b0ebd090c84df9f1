"""Where zstd frames begin and end, followed as the packed bytes pass by. Source: RFC 8878, section 3.1.

Only sizes are looked at: a frame's header says how long it is itself, each block's header says how long the block is.
"""

from collections.abc import Callable
from typing import Protocol

_MAGIC = 0xFD2FB528
_SKIPPABLE, _SKIPPABLE_MASK = 0x184D2A50, 0xFFFFFFF0
_RLE_BLOCK = 1
_DICTIONARY_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_CHECKSUM_BYTES = 4


class _Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class ZstdFrames:
    """A source whose bytes are zstd frames. ended_whole: what was read so far ends where a frame ends."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._step: Callable[[bytes], None] = self._begin_frame
        self._wanted = 4
        self._held = b""
        self._skip = 0
        self._has_checksum = False
        self._lost = False

    @property
    def ended_whole(self) -> bool:
        """Whether what was read so far ends where a frame ends. True for bytes that are no zstd."""
        return self._lost or (self._step == self._begin_frame and not self._held and not self._skip)

    def read(self, size: int = -1) -> bytes:
        """Reads bytes from the source, and follows its frames."""
        data = self._source.read(size)
        self._follow(data)
        return data

    def _follow(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self._lost:
            if self._skip:
                n = min(self._skip, len(data) - at)
                self._skip -= n
            else:
                n = min(self._wanted - len(self._held), len(data) - at)
                self._held += data[at : at + n]
                if len(self._held) == self._wanted:
                    held, self._held = self._held, b""
                    self._step(held)
            at += n

    def _begin_frame(self, magic: bytes) -> None:
        number = int.from_bytes(magic, "little")
        if number == _MAGIC:
            self._await(self._frame_header, 1)
        elif number & _SKIPPABLE_MASK == _SKIPPABLE:
            self._await(self._skippable_size, 4)
        else:
            self._lost = True

    def _skippable_size(self, size: bytes) -> None:
        self._skip = int.from_bytes(size, "little")
        self._await(self._begin_frame, 4)

    def _frame_header(self, descriptor: bytes) -> None:
        flags = descriptor[0]
        single_segment, content_size = flags >> 5 & 1, flags >> 6
        self._has_checksum = bool(flags & 4)
        self._skip = (1 - single_segment) + _DICTIONARY_BYTES[flags & 3] + _CONTENT_SIZE_BYTES[content_size]
        if single_segment and not content_size:
            self._skip += 1
        self._await(self._block_header, 3)

    def _block_header(self, header: bytes) -> None:
        number = int.from_bytes(header, "little")
        self._skip = 1 if number >> 1 & 3 == _RLE_BLOCK else number >> 3
        if number & 1:
            self._skip += _CHECKSUM_BYTES if self._has_checksum else 0
            self._await(self._begin_frame, 4)

    def _await(self, step: Callable[[bytes], None], wanted: int) -> None:
        self._step, self._wanted = step, wanted
