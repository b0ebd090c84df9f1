"""The layer of TLS: handshakes and records of real connections, mutated, cut into segments, some lost, in blocks, with
key logs that are whole or mutated: every byte has to be booked once, and what handshakes say has to be printable text.
"""

import pickle
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.farm.conversations import Row, as_segments
from benchmarks.farm.layer import FaultError
from benchmarks.farm.mutations import mutated
from benchmarks.farm.vectors import FIXTURES

from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_analyzer.scan.connection_state import server_side_by_port
from kafkascope_analyzer.scan.tls_notes import handshake_notes
from kafkascope_parsers.exchanges import Exchanges
from kafkascope_parsers.exchanges.greetings import TlsHandshake
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tls import KeyLog, ResumedSessions, session_messages

CAPTURES = ("handshakes", "openssl", "others", "kafka_tls12", "kafka_tls13", "tls_frozen", "tls_late", "tls_paused")
CONNECTIONS, SOURCES, BLOCKS = 200, 12, 3
"""Of a round. SOURCES: how many connections of the fixtures the mutated ones are made of."""
MOST_BYTES = 8_000
"""Of a connection: its handshake and the first records."""
_LENGTHS = (0, 1, 2, 4, 15, 16, 17, 32, 33, 255, 256, 0x3FFF, 0x4000, 0x4001, 0x4100, 0x4101, 0x7FFF, 0x8000, 0xFFFF)
_HELLO = re.compile(rb"\x16\x03[\x00-\x03]..\x01...\x03[\x00-\x03](.{32})", re.DOTALL)
Sent = tuple[tuple[int, bytes], ...]
"""(side, payload) of each segment; side 0 is the client."""


class TlsRounds:
    """A round: connections that run at the same time. An input is a connection."""

    def __init__(self, folder: Path) -> None:
        self._sent, self._keys = connections(), key_logs()

    def warm_up(self) -> None:
        for seed in range(4):
            r = random.Random(seed)
            self.run(self.make(r), r)

    def make(self, r: random.Random) -> Sequence[list[Row]]:
        chosen = r.sample(self._sent, SOURCES)
        return [_segments(r, number, r.choice(chosen)) for number in range(CONNECTIONS)]

    def run(self, inputs: Sequence[list[Row]], r: random.Random) -> None:
        rows = sorted((row for connection in inputs for row in connection), key=lambda row: row[0])
        key_log = KeyLog()
        lines = self._keys if r.random() < 0.05 else _lines_of(self._keys, rows)
        key_log.add(mutated(r, lines) if r.random() < 0.3 else lines if r.random() < 0.9 else b"")
        scan = _Scan(key_log)
        for block in range(BLOCKS):
            scan.push(rows[block * len(rows) // BLOCKS : (block + 1) * len(rows) // BLOCKS])
            if r.random() < 0.1:
                scan.save_and_resume()
        scan.finish()

    def smaller(self, one: list[Row]) -> Iterator[list[Row]]:
        return (one[:i] + one[i + 1 :] for i in range(len(one)))

    def write(self, inputs: Sequence[list[Row]], stem: Path) -> None:
        stem.with_suffix(".txt").write_text("".join(f"{rows!r}\n" for rows in inputs), encoding="ascii")


class _Scan:
    """What reads the connections, as the scan of a bucket does, and the bytes that it has booked."""

    def __init__(self, key_log: KeyLog) -> None:
        self._key_log, self._resumed = key_log, ResumedSessions(key_log)
        self._tcp, self._exchanges = TcpStreams(), Exchanges(key_log=key_log)
        self._n_booked = 0

    def push(self, rows: list[Row]) -> None:
        data, segments = as_segments(rows)
        for _, message in session_messages(data, segments):
            self._resumed.take(message)
        streams = self._tcp.push(data, segments)
        self._open()
        self._take(streams, self._exchanges.push(streams, self))

    def save_and_resume(self) -> None:
        """As between two appends. Fails where a secret would be saved."""
        self._exchanges = pickle.loads(pickle.dumps(self._exchanges))
        self._exchanges.tls.unlock(self._key_log)

    def finish(self) -> None:
        streams = self._tcp.finish()
        self._open()
        self._take(streams, self._exchanges.finish(streams, self, self._tcp.connections["close_ts_ns"] > 0))
        n_booked = self._n_booked + int(self._exchanges.tls.overhead.sum())
        n_bytes = int(self._tcp.sides["stream_bytes"].sum())
        if n_booked != n_bytes:
            raise FaultError(f"other bytes are booked: {n_booked} of {n_bytes}")

    def requests(self, requests: Any) -> pa.Table:
        """No columns of its own."""
        return pa.table({})

    def responses(self, responses: Any) -> pa.Table:
        """No columns of its own."""
        return pa.table({})

    def _open(self) -> None:
        fresh = self._tcp.connections[len(self._exchanges.connections) :]
        ports = self._tcp.sides["port"].reshape(-1, 2)[len(self._exchanges.connections) :]
        self._exchanges.open_connections(fresh["opened_by_syn"] != 0, server_side_by_port(ports.reshape(-1)))

    def _take(self, streams: Any, block: Any) -> None:
        self._tcp.keep_rest(streams, block.consumed)
        self._n_booked += block.decoded_bytes + int(np.sum(block.undecoded["bytes"].to_numpy()))
        for greeting in block.greetings:
            if isinstance(greeting, TlsHandshake):
                for name, text in handshake_notes(greeting.facts).items():
                    if not all(line.isprintable() for line in text.split("\n")):
                        raise FaultError(f"{name} is not printable")


@cache
def connections() -> list[Sent]:
    """The first segments of each connection of the fixtures; it is a client's port that is higher."""
    found: dict[tuple[str, int, int], list[tuple[int, bytes]]] = defaultdict(list)
    for name in CAPTURES:
        link = LinkReader()
        for block in iter_blocks(FIXTURES / "tls" / f"{name}.pcap.zst", 1 << 24):
            buf, segments = link.read_segments(block.buf, block.packets)
            for row in np.flatnonzero(segments.captured).tolist():
                ports = int(segments.source_port[row]), int(segments.destination_port[row])
                sent = found[(name, max(ports), min(ports))]
                if sum(len(payload) for _, payload in sent) < MOST_BYTES:
                    at, n = int(segments.offset[row]), int(segments.captured[row])
                    sent.append((int(ports[0] < ports[1]), buf[at : at + n].tobytes()))
    return [tuple(sent) for sent in found.values()]


@cache
def key_logs() -> bytes:
    """The key logs of the fixtures, as one."""
    return b"".join((FIXTURES / "tls" / f"{name}.keys").read_bytes() for name in CAPTURES if _has_keys(name))


def _lines_of(lines: bytes, rows: list[Row]) -> bytes:
    """The lines of a key log that are of the connections' own sessions: with those of others, each connection without
    a hello is tried, which takes most of the time."""
    data = b"".join(row[4] for row in rows)
    texts = {match[1].hex().encode() for match in _HELLO.finditer(data)}
    return b"".join(line for line in lines.splitlines(True) if line.startswith(b"RSA") or line.split()[1:2][0] in texts)


def _has_keys(name: str) -> bool:
    return (FIXTURES / "tls" / f"{name}.keys").exists()


def _segments(r: random.Random, connection: int, sent: Sent) -> list[Row]:
    """The rows of a connection, mutated."""
    now, seq = r.randrange(50), [1000, 5000]
    rows: list[Row] = [(now, connection, 0, 999, b"", 2)] if r.random() < 0.8 else []
    how_odd = r.choice((0.02, 0.1, 0.5))
    for side, payload in sent:
        raw = _odd(r, payload) if r.random() < how_odd else payload
        while raw:
            n = r.choice((1, 5, 100, len(raw), len(raw), len(raw)))
            now += 10 + r.randrange(5)
            if r.random() > 0.01:
                rows.append((now, connection, side, seq[side], raw[:n], 0x18))
            seq[side] += len(raw[:n])
            raw = raw[n:]
    return rows


def _odd(r: random.Random, raw: bytes) -> bytes:
    """Bytes that are changed: blindly, or where a length stands, of a record, a message or a part of one."""
    if r.random() < 0.5:
        return mutated(r, raw)
    out = bytearray(raw)
    for _ in range(r.choice((1, 1, 2, 6))):
        at = r.choice((3, 6, 7, 43, r.randrange(len(out) + 1), r.randrange(min(len(out), 300) + 1)))
        value = r.choice((*_LENGTHS, len(out), max(len(out) - at, 0), r.randrange(1 << 16))) & 0xFFFF
        out[at : at + 2] = value.to_bytes(2, "big")
    return bytes(out)
