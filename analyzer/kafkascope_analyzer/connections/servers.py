"""Guesses the servers in the first part of a capture, and the protocols of their clients; `ingest` determines them
reliably.

A server is an endpoint that receives SYNs or sends SYN-ACKs, or that receives payload that begins like a Kafka request;
without either, the endpoint with the lower port.
"""

from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv6Address

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.header import YES, looks_like_request
from kafkascope_parsers.framing.layout import HTTP, TLS, ZOOKEEPER
from kafkascope_parsers.framing.proof import foreign_protocol
from kafkascope_parsers.link import Segments

SAMPLES_PER_FLOW = 3
MOST_SAMPLES = 3_000
"""Payloads that are looked at in one block: enough for a guess, and it takes some milliseconds."""
_SYN, _ACK = 2, 16

Endpoint = tuple[int, int, int]
"""High and low half of the address as an IPv6 one, and the port."""


@dataclass(frozen=True, slots=True)
class Server:
    """A TCP server of the capture, the likely protocol of its clients, and its number of segments and connections."""

    ip: str
    port: int
    n_connections: int
    n_segments: int
    payload_bytes: int
    speaks: str


@dataclass(slots=True)
class Seen:
    """Observations of TCP, summed over blocks.

    flows: number of segments by (source, destination); syns: number of handshakes by server endpoint; looks: likely
    protocols of payloads by receiving endpoint.
    """

    flows: Counter[tuple[Endpoint, Endpoint]] = field(default_factory=Counter)
    payload_bytes: Counter[tuple[Endpoint, Endpoint]] = field(default_factory=Counter)
    handshakes: Counter[Endpoint] = field(default_factory=Counter)
    looks: dict[Endpoint, Counter[str]] = field(default_factory=dict)

    def add(self, data: NDArray[np.uint8], segments: Segments, versions: NDArray[np.int16]) -> None:
        """Adds one block: its bytes, its segments, and the first and last known version of each API key."""
        if not len(segments):
            return
        first, flow = _flows(segments)
        ends = [(_end(segments, i, "source"), _end(segments, i, "destination")) for i in first.tolist()]
        n_segments = np.bincount(flow, minlength=len(ends))
        n_bytes = np.bincount(flow, weights=segments.length, minlength=len(ends))
        for pair, n, payload in zip(ends, n_segments.tolist(), n_bytes.tolist(), strict=True):
            self.flows[pair] += n
            self.payload_bytes[pair] += int(payload)
        handshake = segments.flags & (_SYN | _ACK)
        for flags, side in ((_SYN, 1), (_SYN | _ACK, 0)):
            for k in np.flatnonzero(np.bincount(flow[handshake == flags])).tolist():
                self.handshakes[ends[k][side]] += 1
        for i in _samples(segments, flow):
            look = _look(data, int(segments.offset[i]), int(segments.captured[i]), versions)
            if look:
                self.looks.setdefault(ends[flow[i]][1], Counter())[look] += 1

    def servers(self) -> list[Server]:
        """Returns servers that seem to speak Kafka first, then the others; those with the most segments first."""
        found: dict[Endpoint, list[int]] = {}
        connections: dict[Endpoint, set[Endpoint]] = {}
        for pair, n in self.flows.items():
            server = self._server(pair)
            totals = found.setdefault(server, [0, 0])
            totals[0] += n
            totals[1] += self.payload_bytes[pair]
            connections.setdefault(server, set()).add(pair[0] if pair[1] == server else pair[1])
        rows = [
            Server(_ip(server), server[2], len(connections[server]), n, payload, self._speaks(server))
            for server, (n, payload) in found.items()
        ]
        return sorted(rows, key=lambda row: (row.speaks != "kafka", -row.n_segments, row.ip, row.port))

    def _server(self, pair: tuple[Endpoint, Endpoint]) -> Endpoint:
        """Returns the server of the two: by handshakes, then by Kafka requests, then by the lower port."""
        one, other = pair
        for counts in (self.handshakes, {end: c["kafka"] for end, c in self.looks.items()}):
            a, b = counts.get(one, 0), counts.get(other, 0)
            if a != b:
                return one if a > b else other
        return min(one, other, key=lambda end: (end[2], end))

    def _speaks(self, server: Endpoint) -> str:
        looks = self.looks.get(server)
        return looks.most_common(1)[0][0] if looks else "unknown"


def _flows(segments: Segments) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the first segment of each (source, destination), and each segment's flow: int64, found by a hash."""
    odd = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)
    keys = segments.source[:, 0] * odd[0] ^ segments.source[:, 1] * odd[1]
    keys = keys * odd[2] + segments.destination[:, 0] * odd[3] ^ segments.destination[:, 1] * odd[0]
    ports = segments.source_port.astype(np.uint64) << np.uint64(16) | segments.destination_port.astype(np.uint64)
    _, first, flow = np.unique(keys * odd[1] + ports * odd[2], return_index=True, return_inverse=True)
    return first.astype(np.int64), flow.astype(np.int64)


def _samples(segments: Segments, flow: NDArray[np.int64]) -> list[int]:
    """Returns the first segments with payload of each flow."""
    left = np.flatnonzero(segments.captured > 0)
    chosen: list[int] = []
    for _ in range(SAMPLES_PER_FLOW):
        _, first = np.unique(flow[left], return_index=True)
        chosen += left[first].tolist()
        left = np.delete(left, first)
    return sorted(chosen)[:MOST_SAMPLES]


def _look(data: NDArray[np.uint8], at: int, captured: int, versions: NDArray[np.int16]) -> str | None:
    """Returns the protocol with which a payload seems to begin: kafka, tls, http, or None."""
    if looks_like_request(data, at, at + captured, versions) == YES:
        return "kafka"
    return {int(TLS): "tls", int(HTTP): "http", int(ZOOKEEPER): "zookeeper"}.get(
        int(foreign_protocol(data, at, at + captured))
    )


def _end(segments: Segments, i: int, side: str) -> Endpoint:
    high, low = getattr(segments, side)[i].tolist()
    return high, low, int(getattr(segments, f"{side}_port")[i])


def _ip(end: Endpoint) -> str:
    whole = IPv6Address(end[0] << 64 | end[1])
    return str(whole.ipv4_mapped or whole)
