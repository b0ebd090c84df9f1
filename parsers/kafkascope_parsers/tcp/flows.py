"""Finds the connection of a segment in a hash table (open addressing) over both endpoints, in either direction.

The hash of a flow is the same for both directions and on every machine, so it also gives the bucket of the flow.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.row_copies import copy_rows
from kafkascope_parsers.tcp.state import Tables

_BUCKET_BITS = np.uint64(40)


@kernel
def mix(high: int, low: int, port: int) -> Any:
    """A 64-bit hash of an endpoint (the finalizer of splitmix64 over its parts)."""
    x = np.uint64(high) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(low) * np.uint64(0xC2B2AE3D27D4EB4F)
    x ^= np.uint64(port) * np.uint64(0x165667B19E3779F9)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def flow_hash(one: int, other: int) -> Any:
    """The hash of a flow from those of its endpoints, in either order."""
    x = (np.uint64(one) + np.uint64(other)) * np.uint64(0xFF51AFD7ED558CCD)
    return x ^ (x >> np.uint64(33))


@kernel
def segment_hash(seg: Any) -> Any:
    """The flow hash of a segment."""
    return flow_hash(
        mix(seg.source_high, seg.source_low, seg.source_port),
        mix(seg.destination_high, seg.destination_low, seg.destination_port),
    )


class Ends(NamedTuple):
    """Both endpoints of segments or connections: uint64[n, 2] addresses, uint16 ports."""

    source: NDArray[np.uint64]
    destination: NDArray[np.uint64]
    source_port: NDArray[np.uint16]
    destination_port: NDArray[np.uint16]


@kernel
def hash_flows(ends: Ends, flow: NDArray[np.uint64], direction: NDArray[np.uint8]) -> None:
    """Writes the flow hash of each row, and its direction: 0 if the hash of the source is the smaller one, else 1."""
    for i in range(len(flow)):
        one = mix(ends.source[i, 0], ends.source[i, 1], ends.source_port[i])
        other = mix(ends.destination[i, 0], ends.destination[i, 1], ends.destination_port[i])
        flow[i], direction[i] = flow_hash(one, other), 0 if one < other else 1


def flow_hashes(ends: Ends) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The flow hash of each row, which is the same for both directions, and its direction."""
    flow, direction = np.empty(len(ends.source), np.uint64), np.empty(len(ends.source), np.uint8)
    hash_flows(ends, flow, direction)
    return flow, direction


@kernel
def bucket_of(flow: int, n_buckets: int) -> Any:
    """The bucket of a flow hash."""
    return np.int64((np.uint64(flow) >> _BUCKET_BITS) % np.uint64(n_buckets))


@kernel
def sent_by(seg: Any, me: Any, peer: Any) -> Any:
    """Whether the segment was sent by me to peer."""
    return (
        me.address_low == seg.source_low
        and me.port == seg.source_port
        and peer.port == seg.destination_port
        and peer.address_low == seg.destination_low
        and me.address_high == seg.source_high
        and peer.address_high == seg.destination_high
    )


@kernel
def find_slot(seg: Any, flow: int, slots: NDArray[np.int64], sides: NDArray[np.void]) -> Any:
    """The slot of the segment's flow and its direction; for a new flow the slot is empty and the direction -1.

    At most half of the slots are taken, so the search ends.
    """
    mask = np.uint64(len(slots) - 1)
    slot = np.uint64(flow) & mask
    while True:
        c = slots[np.int64(slot)]
        if c < 0:
            return np.int64(slot), -1
        if sent_by(seg, sides[2 * c], sides[2 * c + 1]):
            return np.int64(slot), 2 * c
        if sent_by(seg, sides[2 * c + 1], sides[2 * c]):
            return np.int64(slot), 2 * c + 1
        slot = (slot + np.uint64(1)) & mask


@kernel
def rehash(old: NDArray[np.int64], new: NDArray[np.int64], sides: NDArray[np.void]) -> None:
    """Moves the flows of the old slots to the new, empty and larger ones."""
    mask = np.uint64(len(new) - 1)
    for c in old:
        if c < 0:
            continue
        a, b = sides[2 * c], sides[2 * c + 1]
        flow = flow_hash(mix(a.address_high, a.address_low, a.port), mix(b.address_high, b.address_low, b.port))
        slot = np.uint64(flow) & mask
        while new[np.int64(slot)] >= 0:
            slot = (slot + np.uint64(1)) & mask
        new[np.int64(slot)] = c


ROWS_OF_CONNECTIONS = ("connections", "sides", "liveness", "ack_times")
"""Tables that have rows for each connection."""


def grown(t: Tables, name: str) -> Tables:
    """The tables, of which one of ROWS_OF_CONNECTIONS has twice the room. The caller replaces one after the other, so
    that not all of them are in memory twice."""
    rows = getattr(t, name)
    more = np.zeros(2 * len(rows), rows.dtype)
    copy_rows(more, rows)
    return t._replace(**{name: more})


def with_more_slots(t: Tables) -> Tables:
    """The tables with twice as many slots."""
    slots = np.full(2 * len(t.slots), -1, np.int64)
    rehash(t.slots, slots, t.sides[: 2 * int(t.n["connections"][0])])
    return t._replace(slots=slots)
