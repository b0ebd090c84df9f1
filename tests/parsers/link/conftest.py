"""Blocks of packets, as the capture reader hands them on."""

from pathlib import Path

import numpy as np
import pytest

from kafkascope_parsers.capture import Packets


@pytest.fixture(scope="session")
def packets_of():
    """A block of (linktype, bytes[, bytes on the wire]), garbage between them. The packets are so far apart that none
    counts as another's copy, unless times are given."""
    return _packets_of


@pytest.fixture(scope="session")
def one_by_one(load_module):
    """The slow twin of the kernel."""
    return load_module(Path(__file__).with_name("one_by_one.py"))


@pytest.fixture(scope="session")
def payloads():
    """The payload of each segment."""
    return _payloads


def _packets_of(rows, ts_ns=None):
    buf, c = bytearray(b"\xaa" * 5), []
    for linktype, data, *wire in rows:
        data = bytes(data)
        c.append((len(buf), len(data), wire[0] if wire else len(data), linktype))
        buf += data + b"\xaa" * 3
    n = len(rows)
    offset, caplen, wirelen, linktypes = zip(*c, strict=True) if c else ([], [], [], [])
    return np.frombuffer(bytearray(buf), np.uint8), Packets(
        np.arange(n) * 10**9 if ts_ns is None else np.array(ts_ns, np.int64),
        np.arange(1, n + 1),
        np.array(offset, np.int64),
        np.array(caplen, np.int32),
        np.array(wirelen, np.int32),
        np.array(linktypes, np.uint16),
    )


def _payloads(buf, segments):
    return [
        buf[at : at + n].tobytes() for at, n in zip(segments.offset.tolist(), segments.captured.tolist(), strict=True)
    ]
