"""Rows of `dns`: the names that clients looked up, and the answers.

Over UDP a question and its answer have the client's address and port, the message id, name and type in common; over TCP
the first messages of a connection are read. At most WAITING_LIMIT questions wait for an answer: beyond that, and at the
end, they are written without one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import address_text
from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.link import Datagram
from kafkascope_parsers.link.dns import DnsMessage, read_dns, split_stream
from kafkascope_parsers.link.layers import DNS_PORT
from kafkascope_parsers.tcp.streams import Streams

WAITING_LIMIT = 10_000
STREAM_LIMIT = 1 << 16
"""Bytes at the beginning of a TCP direction that are read: one message of the largest size."""

Ends = tuple[str, int, str, int]
"""Client address and port, server address and port."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The place of a message in the capture."""

    ends: Ends
    transport: str
    ts_ns: int
    packet_no: int
    capture_id: int


class DnsExchanges:
    """Pairs the DNS messages of a bucket, and returns their rows."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Any, ...], tuple[DnsMessage, _Seen]] = {}
        self._rows: list[dict[str, Any]] = []
        self._read: dict[int, int] = {}
        self._asking = Growing(np.int64)
        self._n_known = 0
        self.n_given_up = 0

    def datagrams(self, datagrams: Iterable[Datagram], capture_id: int) -> None:
        """Takes datagrams in capture order; those that are not DNS messages are ignored."""
        for datagram in datagrams:
            halves = np.frombuffer(datagram.source + datagram.destination, ">u8").astype(np.uint64).reshape(2, 2)
            source, destination = address_text(halves)
            ends = (source, datagram.source_port, destination, datagram.destination_port)
            self._take(datagram.payload, _Seen(ends, "udp", datagram.ts_ns, datagram.packet_no, capture_id))

    def streams(self, streams: Streams, sides: NDArray[np.void], capture_id: int) -> None:
        """Takes the beginnings of TCP directions from or to port 53. sides: tcp.SIDE rows, two per connection."""
        fresh = sides["port"][2 * self._n_known :].reshape(-1, 2)
        self._asking.add(self._n_known + np.flatnonzero((fresh == DNS_PORT).any(1)))
        self._n_known += len(fresh)
        if not len(self._asking):
            return
        first = np.flatnonzero((streams.stream_offset == 0) & np.isin(streams.direction >> 1, self._asking.rows))
        for run in first.tolist():
            self._stream(streams, run, sides, capture_id)

    def give_up(self) -> None:
        """Gives up the questions without an answer."""
        self._give_up(0)

    def take_rows(self) -> pa.Table:
        """Returns the rows of `dns` since the last call."""
        arrays = {f.name: pa.array([row.get(f.name) for row in self._rows], f.type) for f in DNS.schema}
        arrays["ts"] = microseconds(arrays["ts_ns"])
        self._rows = []
        return pa.table(arrays, DNS.schema)

    def _stream(self, streams: Streams, run: int, sides: NDArray[np.void], capture_id: int) -> None:
        """Takes messages with length prefixes. When a longer run of the same stream comes again, only its new messages
        count."""
        way, start = int(streams.direction[run]), int(streams.start[run])
        data = streams.data[start : min(int(streams.end[run]), start + STREAM_LIMIT)].tobytes()
        pair = sides[[way, way ^ 1]]
        here, there = address_text(np.stack([pair["address_high"], pair["address_low"]], 1))
        piece = max(int(np.searchsorted(streams.piece_start, start, side="right")) - 1, 0)
        ends = (here, int(pair["port"][0]), there, int(pair["port"][1]))
        ts_ns, packet_no = int(streams.piece_ts_ns[piece]), int(streams.piece_packet[piece])
        messages, n_read = split_stream(data), self._read.get(way, 0)
        for message in messages[n_read:]:
            self._take(message, _Seen(ends, "tcp", ts_ns, packet_no, capture_id))
        self._read[way] = max(len(messages), n_read)

    def _take(self, payload: bytes, seen: _Seen) -> None:
        try:
            message = read_dns(payload)
        except ValueError:
            return
        here, there = seen.ends[:2], seen.ends[2:]
        client, server = (there, here) if message.is_response else (here, there)
        key = (*client, *server, message.id, message.name, message.type)
        if not message.is_response:
            self.n_given_up += max(0, len(self._waiting) - WAITING_LIMIT + 1)
            self._give_up(WAITING_LIMIT - 1)
            self._waiting.setdefault(key, (message, seen))  # a repeated question waits since its first time
            return
        _, asked = self._waiting.pop(key, (None, None))
        self._add(message, asked, seen, (*client, *server))

    def _give_up(self, n_left: int) -> None:
        while len(self._waiting) > n_left:
            message, seen = self._waiting.pop(next(iter(self._waiting)))
            self._add(message, seen, None, seen.ends)

    def _add(self, message: DnsMessage, asked: _Seen | None, answered: _Seen | None, ends: Ends) -> None:
        seen = asked or answered
        if seen is None:
            return
        self._rows.append(
            dict(zip(("client_ip", "client_port", "server_ip", "server_port"), ends, strict=True))
            | {
                "ts_ns": seen.ts_ns,
                "capture_id": seen.capture_id,
                "packet_no": seen.packet_no,
                "transport": seen.transport,
                "name": message.name,
                "type": message.type,
                "rcode": message.rcode,
                "addresses": list(message.addresses),
                "aliases": list(message.aliases),
                "latency_us": (answered.ts_ns - asked.ts_ns) // 1000 if asked and answered else None,
                "answer_ns": answered.ts_ns if answered else None,
            }
        )
