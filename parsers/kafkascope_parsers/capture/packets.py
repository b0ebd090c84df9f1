"""Packets of one block of a capture, as columns over the block's bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Packets:
    """One row per packet record, in file order.

    ts_ns      int64   nanoseconds since the epoch
    packet_no  int64   1-based number in the file, as Wireshark's frame.number
    offset     int64   first captured byte (link-layer header) in the block
    caplen     int32   captured bytes
    wirelen    int32   bytes the packet had on the wire
    linktype   uint16  LINKTYPE_ of the packet's interface
    """

    ts_ns: NDArray[np.int64]
    packet_no: NDArray[np.int64]
    offset: NDArray[np.int64]
    caplen: NDArray[np.int32]
    wirelen: NDArray[np.int32]
    linktype: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.ts_ns)
