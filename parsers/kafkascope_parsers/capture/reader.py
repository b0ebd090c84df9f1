"""Recognizes the format of a capture file by its first bytes."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import pcap, pcapng
from kafkascope_parsers.capture.extras import Secrets
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.errors import CaptureError

_NOT_CAPTURES = {
    b"snoop\0\0\0": "a Solaris snoop file; convert it with: editcap -F pcapng IN OUT",
    b"\x54\x52\x53\x4e": "a NetXRay file; convert it with: editcap -F pcapng IN OUT",
    b"PAR1": "a Parquet file, not a capture",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"\x02\x21\x4c\x18": "lz4-compressed in its legacy format; unpack it first with: lz4 -d",
    b"\x1f\x8b": "compressed twice; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed twice; unpack it first",
}


class CaptureReader(Protocol):
    """A capture file, block after block.

    format                pcap or pcapng
    linktypes             LINKTYPE_ numbers seen so far, in order of appearance
    snaplen               longest snap length seen so far; 0 is no limit
    n_packets             packets read so far
    n_dropped             packets that the capturing program dropped, by its own count; None if the file has no count
    position              bytes of the file so far: whole records, and bytes that were passed over
    secrets               secrets for decryption seen so far; they come before the packets that need them
    names                 (address, name) of the file's own name resolution seen so far
    """

    format: str
    linktypes: list[int]
    snaplen: int
    n_packets: int
    position: int
    secrets: list[Secrets]
    names: list[tuple[str, str]]

    @property
    def n_dropped(self) -> int | None:
        """The number of dropped packets, see the class."""
        ...

    def read_packets(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[Packets, int]:
        """Reads the whole records of buf[start:end], which continues the file where the last call stopped.

        Returns the packets and how many bytes they took; the caller brings the rest again, followed by more. final: no
        more follows. Raises CaptureError at a corrupt record, once everything before it was given: where a corrupt
        record follows packets, this call gives the packets and the next one raises.
        """
        ...

    def pass_over(self, buf: NDArray[np.uint8], start: int, end: int, final: bool) -> tuple[int, bool]:
        """The number of bytes to pass over from the corrupt place `start` on, and whether a record was found after
        them.

        If no record was found, the caller brings the rest again, followed by more; if final (no more follows), all
        bytes are passed over.
        """
        ...


def is_capture(head: bytes) -> bool:
    """Whether a file that begins with `head` is an uncompressed capture."""
    return head[:4] in pcap.MAGICS or head[:4] == pcapng.MAGIC


def begins_like_capture(head: bytes) -> bool:
    """Whether `head`, the whole content of a file, could be the beginning of a capture."""
    return len(head) < pcapng.SHORTEST_HEAD and any(
        magic.startswith(head[:4]) for magic in (*pcap.MAGICS, pcapng.MAGIC)
    )


def open_reader(head: bytes, name: str) -> CaptureReader:
    """The reader for a file that begins with `head` (at least HEAD_BYTES of it, or the whole file). Raises
    CaptureError."""
    if not head:
        raise CaptureError("the file is empty", name=name)
    if head[:4] in pcap.MAGICS:
        return pcap.PcapReader(head, name)
    if head[:4] == pcapng.MAGIC:
        return pcapng.PcapngReader(head, name)
    for magic, what in _NOT_CAPTURES.items():
        if head.startswith(magic):
            raise CaptureError(what, name=name, byte=0)
    if len(head) < 4:
        raise CaptureError(f"only {len(head)} bytes, too short for a capture", name=name, byte=0)
    raise CaptureError(f"not a pcap or pcapng file (begins with {head[:4].hex()})", name=name, byte=0)
