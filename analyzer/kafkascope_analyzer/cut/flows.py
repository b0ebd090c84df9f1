"""Finds the segments of a set of TCP flows, in either direction.

A flow is two endpoints without a direction: (address, port) twice. Segments are found by a hash of both ends and then
compared in full, so that a hash collision does not include a packet of another flow.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link import Segments

_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)

Halves = NDArray[np.uint64]
End = tuple[str, int]
"""An address and a port."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and a port; None for either means any."""

    ip: str | None
    port: int | None


def halves(ip: str) -> tuple[int, int]:
    """Returns the high and low half of the address as an IPv6 one (IPv4 as ::ffff:a.b.c.d). Raises ValueError."""
    address = ipaddress.ip_address(ip)
    whole = int(address) | (0xFFFF << 32 if address.version == 4 else 0)
    return whole >> 64, whole & (1 << 64) - 1


def _end_keys(address: Halves, port: NDArray[np.uint16]) -> Halves:
    mixed: Halves = (address[:, 0] * _ODD[0]) ^ (address[:, 1] * _ODD[1]) ^ (port.astype(np.uint64) * _ODD[2])
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD[0]
    result: Halves = mixed ^ (mixed >> np.uint64(32))
    return result


def flow_keys(segments: Segments) -> Halves:
    """Returns a hash of both ends of each segment, uint64, the same for both directions."""
    source = _end_keys(segments.source, segments.source_port)
    result: Halves = source + _end_keys(segments.destination, segments.destination_port)
    return result


def direction_keys(segments: Segments) -> Halves:
    """Returns a hash of both ends of each segment, uint64, different for each direction."""
    source = _end_keys(segments.source, segments.source_port)
    result: Halves = source * _ODD[1] + _end_keys(segments.destination, segments.destination_port)
    return result


class Flows:
    """Flows, numbered in the order given: the two ends of each."""

    def __init__(self, ends: Sequence[tuple[End, End]]) -> None:
        addresses = np.array([halves(one[0]) + halves(other[0]) for one, other in ends], np.uint64).reshape(-1, 4)
        ports = np.array([(one[1], other[1]) for one, other in ends], np.uint16).reshape(-1, 2)
        keys = _end_keys(addresses[:, :2], ports[:, 0]) + _end_keys(addresses[:, 2:], ports[:, 1])
        self._order = np.argsort(keys, kind="stable")
        self._keys, self._addresses, self._ports = keys[self._order], addresses, ports

    def of(self, segments: Segments) -> NDArray[np.int64]:
        """Returns the flow of each segment, -1 where it is none of these."""
        if not len(self._keys) or not len(segments):
            return np.full(len(segments), -1, np.int64)
        keys = flow_keys(segments)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        flow = self._order[at]
        one, other = self._addresses[flow, :2], self._addresses[flow, 2:]
        ports = self._ports[flow]
        forth = _same(segments.source, one, segments.source_port, ports[:, 0])
        forth &= _same(segments.destination, other, segments.destination_port, ports[:, 1])
        back = _same(segments.source, other, segments.source_port, ports[:, 1])
        back &= _same(segments.destination, one, segments.destination_port, ports[:, 0])
        return np.where((self._keys[at] == keys) & (forth | back), flow, -1)


def _same(a: Halves, b: Halves, port_a: NDArray[np.uint16], port_b: NDArray[np.uint16]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (a == b).all(axis=1) & (port_a == port_b)
    return same


def touches(segments: Segments, endpoint: Endpoint) -> NDArray[np.bool_]:
    """Returns a mask of the segments from or to the endpoint."""
    found = np.zeros(len(segments), np.bool_)
    for address, port in (
        (segments.source, segments.source_port),
        (segments.destination, segments.destination_port),
    ):
        side = np.ones(len(segments), np.bool_)
        if endpoint.ip is not None:
            side &= (address == np.array(halves(endpoint.ip), np.uint64)).all(axis=1)
        if endpoint.port is not None:
            side &= port == endpoint.port
        found |= side
    return found


def parse_endpoint(text: str) -> Endpoint | None:
    """Parses `10.0.0.1:9092`, `[::1]:9092`, `10.0.0.1`, `::1`, `:9092`; None for any other text."""
    ip, port = text, ""
    if text.startswith("["):
        ip, closed, port = text[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            return None
        port = port.removeprefix(":")
    elif text.count(":") == 1:
        ip, _, port = text.partition(":")
    try:
        number = int(port) if port else None
        if ip:
            halves(ip)
    except ValueError:
        return None
    known = bool(ip) or number is not None
    return Endpoint(ip or None, number) if known and (number is None or 0 <= number < 1 << 16) else None
