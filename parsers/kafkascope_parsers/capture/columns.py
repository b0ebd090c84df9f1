"""Where capture kernels write packets, and the little they need to read numbers in either byte order."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.packets import Packets

SMALLEST_RECORD = 16
"""A pcap record header and a pcapng block with a packet both take at least this many bytes."""


class PacketArrays(NamedTuple):
    """The columns of `Packets`, for kernels."""

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    offset: NDArray[np.int64]
    caplen: NDArray[np.int32]
    wirelen: NDArray[np.int32]
    linktype: NDArray[np.uint16]


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
    return Packets(*(column[:n] for column in out))


@nb.njit(cache=True, nogil=True)
def uint32_at(buf: NDArray[np.uint8], at: int, big: bool) -> int:
    """Unsigned 32 bits at `at`; the caller has compared with the end."""
    if big:
        return (
            np.int64(buf[at]) << 24 | np.int64(buf[at + 1]) << 16 | np.int64(buf[at + 2]) << 8 | np.int64(buf[at + 3])
        )
    return np.int64(buf[at + 3]) << 24 | np.int64(buf[at + 2]) << 16 | np.int64(buf[at + 1]) << 8 | np.int64(buf[at])
