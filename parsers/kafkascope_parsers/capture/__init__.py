"""Reads packets from the bytes of capture files, block after block.

packets      the columns of packets
reader       finds the format by its magic number
pcap         the classic format
pcapng       the format of Wireshark
pcapng_writer  writes that format
extras       secrets and names that a capture carries
resume       finds the next record after a corrupt place
"""

from kafkascope_parsers.capture.extras import TLS_KEY_LOG, Secrets
from kafkascope_parsers.capture.limits import HEAD_BYTES, RECORD_LIMIT
from kafkascope_parsers.capture.packets import Packets
from kafkascope_parsers.capture.pcap import PcapReader
from kafkascope_parsers.capture.reader import CaptureReader, begins_like_capture, is_capture, open_reader

__all__ = [
    "HEAD_BYTES",
    "RECORD_LIMIT",
    "TLS_KEY_LOG",
    "CaptureReader",
    "Packets",
    "PcapReader",
    "Secrets",
    "begins_like_capture",
    "is_capture",
    "open_reader",
]
