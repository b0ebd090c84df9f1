"""Streams of TLS records that tests put together, and what a plain loop reads in them."""

import numpy as np
import pytest

from kafkascope_parsers.tcp.streams import GAP_LOST, Streams
from kafkascope_parsers.tls.lengths import LengthExchanges

PADDED = 17 + 16
"""What the JVM's TLS 1.3 adds to the content of a record."""


def record_of(length, kind=23):
    return bytes([kind, 3, 3, length >> 8, length & 255]) + bytes(length)


def _streams(runs):
    """runs: (side, gap before, pieces), of one connection; pieces: (bytes, time, packet)."""
    data, starts, piece_starts, times, packets = b"", [], [], [], []
    for _, _, pieces in runs:
        starts.append(len(data))
        for raw, ts_ns, packet in pieces:
            piece_starts.append(len(data))
            times.append(ts_ns)
            packets.append(packet)
            data += raw
    ints = [np.array(column, np.int64) for column in (piece_starts, times, packets)]
    gaps = np.array([gap for _, gap, _ in runs], np.int64)
    start = np.array(starts, np.int64)
    return Streams(
        np.frombuffer(data, np.uint8),
        np.array([side for side, _, _ in runs], np.int64),
        start,
        np.append(start[1:], len(data)),
        np.ones(len(runs), np.int64),
        gaps,
        np.where(gaps > 0, GAP_LOST, 0).astype(np.uint8),
        np.zeros(len(runs), np.uint8),
        *ints,
    )


def client(content, ms, kind=23):
    """A record of the client for `Talk.send`."""
    return 0, content, ms, kind


def server(content, ms, kind=23):
    """A record of the server for `Talk.send`."""
    return 1, content, ms, kind


class Talk:
    """One connection, a block a record; `exchanges` ends it, and gives packets, bytes and fate of each exchange."""

    def __init__(self):
        self.lengths = LengthExchanges()
        self.lengths.open_connections(np.array([0], np.int8))
        self.packet = 0
        self.found = []

    def send(self, *sent, gap=0):
        """sent: side (0 is the client), size of the content, time in ms and content type of each record."""
        for side, content, ms, kind in sent:
            self.packet += 1
            raw = record_of(content + (PADDED if side else 17), kind)
            streams = _streams([(side, gap, [(raw, int(ms * 1_000_000), self.packet)])])
            self.found.append(self.lengths.push(streams, np.array([0])))
        return self

    def exchanges(self):
        rows = np.concatenate([*self.found, self.lengths.finish()])
        rows = rows[np.argsort(rows["number"])]
        names = ("request_packet_no", "response_packet_no", "request_bytes", "response_bytes", "fate")
        return [tuple(int(row[name]) for name in names) for row in rows]


@pytest.fixture(scope="session")
def record():
    return record_of


@pytest.fixture(scope="session")
def streams_of():
    return _streams


@pytest.fixture
def talk():
    return Talk()
