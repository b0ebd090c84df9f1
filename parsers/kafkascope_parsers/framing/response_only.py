"""Recognizes Kafka by its responses, for connections of which only the server's side was captured.

A response header is a size and a correlation id, and other protocols (ZooKeeper) have the same. So the proof is a
sequence of ALONE_ENOUGH frames that fill packets exactly, with correlation ids that rise by at most RISING_STEP. One of
them has to be large enough (TELLING_BYTES) and to decode to its last byte as a response of a frequent API.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers import api_keys
from kafkascope_parsers.framing.cutting import Cut, Framing, begins_packet, pass_over_before
from kafkascope_parsers.framing.header import int32_at
from kafkascope_parsers.framing.layout import (
    BY_FIRST_REQUEST,
    KAFKA,
    SYNC,
    UNKNOWN,
)
from kafkascope_parsers.framing.proof import PROOF_LIMIT
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.streams import Streams

ALONE_ENOUGH = 3
RISING_STEP = 1024
"""A client may use one counter for all its connections, so the ids on one connection have gaps."""
TELLING_BYTES = 32
"""A shorter body decodes as too many messages."""
TELLING_APIS = (
    *(api_keys.API_VERSIONS, api_keys.METADATA, api_keys.FETCH, api_keys.PRODUCE, api_keys.OFFSET_COMMIT),
    *(api_keys.OFFSET_FETCH, api_keys.FIND_COORDINATOR, api_keys.JOIN_GROUP, api_keys.SYNC_GROUP),
    *(api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.SHARE_FETCH),
)
"""Responses that clients get most."""

ALONE = np.dtype((np.record, [("run", "i8"), ("start", f"{ALONE_ENOUGH}i8"), ("end", f"{ALONE_ENOUGH}i8")]))
"""Frames in a row that may be responses: data[start:end] of each, the size included."""


@kernel
def chain_at(s: Streams, run: int, at: int, row: Any) -> bool:
    """Whether ALONE_ENOUGH frames with rising ids fill packets from `at` on; writes them to row."""
    end, place, before = s.end[run], at, np.int64(0)
    for n in range(ALONE_ENOUGH):
        if end - place < 8 or not begins_packet(s, run, place):
            return False
        size, correlation_id = int32_at(s.data, place), int32_at(s.data, place + 4)
        if size < 4 or size > PROOF_LIMIT or place + 4 + size > end:
            return False
        if n > 0 and not 0 < correlation_id - before <= RISING_STEP:
            return False
        row.start[n] = place
        place += 4 + size
        row.end[n] = place
        before = correlation_id
    return begins_packet(s, run, place)


@kernel
def find_response_only(s: Streams, f: Framing, rows: NDArray[np.void]) -> int:
    """The first chain of each run of an unknown connection whose other side sent nothing. Returns how many there are.

    Frames are looked for where packets begin.
    """
    n, piece = 0, 0
    for run in range(len(s.direction)):
        k = s.direction[run]
        f.directions[k].seen = 1
        if run > 0 and s.direction[run - 1] == k:
            continue
        other = f.directions[k ^ 1].seen or (run + 1 < len(s.direction) and s.direction[run + 1] == k ^ 1)
        if f.connections[k >> 1].protocol != UNKNOWN or other or f.connections[k >> 1].client_side == k & 1:
            continue
        while piece + 1 < len(s.piece_start) and s.piece_start[piece] < s.start[run]:
            piece += 1
        at = piece
        while at < len(s.piece_start) and s.piece_start[at] < s.end[run]:
            if chain_at(s, run, s.piece_start[at], rows[n]):
                rows[n].run = run
                n += 1
                break
            at += 1
    return n


@kernel
def accept_response_only(s: Streams, cut: Cut, f: Framing, rows: NDArray[np.void], telling: NDArray[np.bool_]) -> None:
    """Accepts the chains of which a frame decodes: their connections are Kafka, from the chain on."""
    for n in range(len(rows)):
        run = rows[n].run
        k = s.direction[run]
        if not telling[n]:
            continue
        f.connections[k >> 1].protocol = KAFKA
        if f.connections[k >> 1].client_side < 0:
            f.connections[k >> 1].client_side = 1 - (k & 1)
            f.connections[k >> 1].client_side_by = BY_FIRST_REQUEST
        pass_over_before(s, cut, run, rows[n].start[0], f)
        f.directions[k].mode = SYNC
