"""Makes a piece that can be shown to strangers: each TCP segment becomes a new packet that keeps only the parts of the
old one that are listed here. Packets that are not TCP over IP are left out.

| of the packet | in the new one |
|---|---|
| time, lengths, what the snap length cut | the same |
| addresses | pseudonyms, as `kafkascope redact` with the same key file has them |
| ports, sequence numbers, flags, window of TCP | the same |
| options of TCP that are numbers (segment size, window scale, SACK, timestamps) | the same; others become padding |
| heads of Kafka's messages: size, API key and version, correlation id | the same, where the tables have that message |
| all other payload | zeros |
| link layer, tunnels, other fields of IP | none: packets are bare IP; checksums of TCP are zero |
"""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.cut.bare_packets import MAPPED, bare_packets
from kafkascope_analyzer.cut.message_heads import Heads, MessageHeads
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_analyzer.redact.addresses import other_address
from kafkascope_parsers.capture.pcapng_writer import PcapngWriter, Section
from kafkascope_parsers.link import LinkReader


@dataclass(slots=True)
class Redacted:
    """The result of redacting a piece: counts of packets. originals: pseudonym -> address."""

    n_packets: int = 0
    n_left_out: int = 0
    originals: dict[str, str] = field(default_factory=dict)


def write_redacted(piece: Path, heads: Heads, file: BinaryIO, section: Section, key: bytes) -> Redacted:
    """Writes a redacted copy of a piece. heads: heads of its messages; section: section header of the new file; key:
    key of the pseudonyms."""
    done, link, capture = Redacted(), LinkReader(), CaptureFile(piece)
    writer, ends, messages = PcapngWriter(file, section), _Addresses(key, done.originals), MessageHeads(heads)
    for block in capture.blocks():
        buf, segments = link.read_segments(block.buf, block.packets)
        done.n_packets += len(segments)
        done.n_left_out += len(block.packets) - len(segments)
        if len(segments):
            new, packets = bare_packets(buf, segments, ends.of(segments.source), ends.of(segments.destination))
            messages.put(buf, segments, new, packets.offset + packets.caplen - segments.captured)
            writer.write(new, packets, capture.info.snaplen, {})
    return done


class _Addresses:
    """The pseudonyms of addresses, as halves of IPv6 addresses."""

    def __init__(self, key: bytes, originals: dict[str, str]) -> None:
        self._key, self._originals = key, originals
        self._known: dict[tuple[int, int], tuple[int, int]] = {}

    def of(self, halves: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Returns the pseudonyms of a column of addresses, uint64[n, 2]."""
        found, which = np.unique(halves, axis=0, return_inverse=True)
        made = np.array([self._one(high, low) for high, low in found.tolist()], np.uint64).reshape(-1, 2)
        return made[which.ravel()]

    def _one(self, high: int, low: int) -> tuple[int, int]:
        if (high, low) not in self._known:
            is_4 = high == 0 and low >> 32 == MAPPED
            original = ip_address(low & 0xFFFFFFFF) if is_4 else ip_address((high << 64 | low).to_bytes(16, "big"))
            other = other_address(original, self._key)
            if other != original:
                self._originals[str(other)] = str(original)
            number = int(other) | (MAPPED << 32 if is_4 else 0)
            self._known[high, low] = number >> 64, number & (1 << 64) - 1
        return self._known[high, low]
