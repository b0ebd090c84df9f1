"""Capture files: bytes in, packets out, block after block.

packets      the columns of packets
reader       tells the format by its magic
pcap         the classic format
pcapng       the format of Wireshark
compression  gzip and zstd around either
"""

from kafkascope_parsers.capture.compression import Unpacked, compression_of, decompressed
from kafkascope_parsers.capture.limits import HEAD_BYTES, RECORD_LIMIT
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.capture.reader import CaptureReader, is_capture, open_reader

__all__ = [
    "HEAD_BYTES",
    "RECORD_LIMIT",
    "CaptureReader",
    "Packets",
    "Unpacked",
    "compression_of",
    "decompressed",
    "is_capture",
    "open_reader",
]
