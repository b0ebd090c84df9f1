"""The columns that capture kernels write, and functions to read numbers in either byte order."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.kernel_instruction import prefetch
from kafkascope_parsers.kernels import kernel

SMALLEST_RECORD = 16
"""A pcap record header and a pcapng block with a packet both take at least this many bytes."""

_RECORDS_AHEAD = (4, 8)
"""How many records ahead `prefetch_records` looks, on the assumption that all have one size."""
_BYTES_AHEAD = 1024
"""How far behind a record `prefetch_records` looks for the headers of short records."""


class PacketArrays(NamedTuple):
    """The columns of `Packets`, for kernels."""

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    offset: NDArray[np.int64]
    caplen: NDArray[np.int32]
    wirelen: NDArray[np.int32]
    linktype: NDArray[np.uint16]


def record_type(fields: list[tuple[str, type]]) -> np.dtype[np.void]:
    """An aligned row type whose fields are attributes, in kernels and, where numba is off, in plain Python too."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


def room_for(n_bytes: int) -> PacketArrays:
    """Room for every packet that n_bytes could hold. Pages that are never written cost nothing."""
    n = n_bytes // SMALLEST_RECORD + 1
    return PacketArrays(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.uint16),
    )


def written(out: PacketArrays, n: int) -> Packets:
    """The first n rows."""
    return Packets(out.ts_ns[:n], out.packet_no[:n], out.offset[:n], out.caplen[:n], out.wirelen[:n], out.linktype[:n])


@kernel
def uint32_at(buf: NDArray[np.uint8], at: int, big: bool) -> int:
    """Unsigned 32 bits at `at`; the caller has compared with the end."""
    first, step = (at, 1) if big else (at + 3, -1)
    value = np.int64(0)
    for i in range(4):
        value = value << 8 | np.int64(buf[first + i * step])
    return int(value)


@kernel
def prefetch_records(buf: NDArray[np.uint8], at: int, size: int) -> None:
    """Prefetches the probable headers of the records behind the one at `at`, which has that size.

    The place of a record is known only when the one before it was read, so a kernel would wait for each header. These
    are guesses: packets of one transfer are of one size, and headers of short packets are close to each other.
    """
    prefetch(buf, at + size + _BYTES_AHEAD)
    for n_records in _RECORDS_AHEAD:
        prefetch(buf, at + n_records * size)
