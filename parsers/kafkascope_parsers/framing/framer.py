"""Framing, block after block: streams in, frames and stretches out.

For each block `requests(streams)` is called. When the bodies of the requests are decoded, so that those without a
response are known, `responses(...)` is called. Between blocks `keep_rows` renumbers the requests that still wait. The
state is one small record per connection and direction.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.cutting import Cut, Framing
from kafkascope_parsers.framing.layout import (
    BY_SYN,
    CONNECTION,
    DIRECTION,
    FRAME,
    HUNT,
    REASON_MID_STREAM,
    START,
    STRETCH,
    WAITING_LIMIT_IN_ALL,
)
from kafkascope_parsers.framing.pool import NONE, Waiting, empty_pool, give_up_overtaken, keep_newest, with_room
from kafkascope_parsers.framing.prover import prove_connections
from kafkascope_parsers.framing.requests import cut_requests, pass_over_foreign
from kafkascope_parsers.framing.responses import Asked, Pairing, cut_responses
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.tcp.streams import Streams

_SMALLEST_FRAME = 8
_STRETCHES_PER_RUN = 8
"""Room for stretches other than those between two frames."""


@dataclass(frozen=True, slots=True)
class Frames:
    """frames: FRAME rows, by direction and time; stretches: STRETCH rows, likewise; consumed: int64 per run of the
    block, how far it was read in data.
    """

    frames: NDArray[np.void]
    stretches: NDArray[np.void]
    consumed: NDArray[np.int64]


class Framer:
    """State of framing over all connections. versions: int16[n_keys, 2], first and last known version of each API
    key; waiting_limit: requests that wait for their responses.
    """

    def __init__(self, versions: NDArray[np.int16], waiting_limit: int = WAITING_LIMIT_IN_ALL) -> None:
        self._waiting_limit = waiting_limit
        self._versions = np.ascontiguousarray(versions, np.int16)
        self._directions = Growing[np.void](DIRECTION)
        self._connections = Growing[np.void](CONNECTION)
        self._nodes = empty_pool()
        self._free = np.full(1, NONE, np.int64)

    @property
    def directions(self) -> NDArray[np.void]:
        """DIRECTION rows, two a connection."""
        return self._directions.rows

    @property
    def connections(self) -> NDArray[np.void]:
        """CONNECTION rows."""
        return self._connections.rows

    def open_connections(self, by_syn: NDArray[np.bool_]) -> None:
        """Adds new connections: by_syn, per connection from the first one not known yet, whether its first SYN was
        seen.
        """
        n = len(by_syn)
        directions = np.zeros(2 * n, DIRECTION)
        directions["mode"] = np.repeat(np.where(by_syn, START, HUNT), 2)
        directions["reason"] = REASON_MID_STREAM
        connections = np.zeros(n, CONNECTION)
        connections["client_side"] = np.where(by_syn, 0, -1)
        connections["client_side_by"] = BY_SYN
        for name in ("head", "tail", "overtaken_head", "overtaken_tail"):
            connections[name] = NONE
        self._directions.add(directions)
        self._connections.add(connections)

    def requests(self, streams: Streams, *, final: bool) -> Frames:
        """Finds out which connections are Kafka, and cuts the block's requests into frames."""
        cut = _room(streams, streams.start.copy())
        framing = Framing(self.directions, self.connections, self._versions)
        prove_connections(streams, cut, framing, final=final)
        cut_requests(streams, cut, framing, final)
        pass_over_foreign(streams, cut, self.connections)
        return _written(cut)

    def responses(
        self, streams: Streams, requests: Frames, silent: NDArray[np.bool_], n_open: int, *, final: bool
    ) -> tuple[Frames, NDArray[np.uint8]]:
        """Cuts the block's responses into frames and pairs them with requests.

        silent: per request of the block, true when it expects no response. n_open: open requests of earlier blocks;
        the block's own come after them. Returns the frames (`row` is the open request) and, per open request, 1 where
        it will never be answered.
        """
        abandoned = np.zeros(n_open + len(requests.frames), np.uint8)
        self._nodes = with_room(self._nodes, self._free, max(0, len(requests.frames) - self._n_free()))
        asked = Asked(requests.frames, silent, np.full(1, n_open, np.int64), np.zeros(1, np.int64))
        waiting = Waiting(self._nodes, self._free, abandoned)
        cut = _room(streams, requests.consumed.copy())
        cut_responses(streams, cut, Pairing(asked, waiting, self.directions, self.connections), final)
        if self._n_used() > self._waiting_limit:
            give_up_overtaken(waiting, self.connections)
        n_waiting = self.connections["n_waiting"]
        if n_waiting.sum() > self._waiting_limit:
            keep_newest(waiting, self.connections, _fair_share(n_waiting, self._waiting_limit))
        return _written(cut), abandoned

    def keep_rows(self, new_row: NDArray[np.int64]) -> None:
        """Renumbers the open requests: new_row[old row] is the row in the next block."""
        if len(new_row):
            rows = self._nodes["row"]
            self._nodes["row"] = new_row[np.clip(rows, 0, len(new_row) - 1)]

    def _n_free(self) -> int:
        return len(self._nodes) - self._n_used()

    def _n_used(self) -> int:
        """Requests that wait, and overtaken ones that may still be answered."""
        return int(self.connections["n_waiting"].sum() + self.connections["n_overtaken"].sum())


def _fair_share(n_waiting: NDArray[np.int32], limit: int) -> int:
    """The largest number of requests that each connection may keep so that the limit holds for all together."""
    low, high = 0, int(n_waiting.max())
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(n_waiting, middle).sum()) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _room(streams: Streams, consumed: NDArray[np.int64]) -> Cut:
    """Room for the largest possible number of frames. Pages that are never written cost nothing. consumed: how far each
    run is already read.
    """
    n_frames = len(streams.data) // _SMALLEST_FRAME + 2 * len(streams.start) + 1
    n_stretches = n_frames + _STRETCHES_PER_RUN * len(streams.start)
    return Cut(
        np.empty(n_frames, FRAME),
        np.empty(n_stretches, STRETCH),
        np.zeros(3, np.int64),
        np.zeros(len(streams.start), np.uint8),
        np.zeros(len(streams.start), np.uint8),
        np.zeros(len(streams.start), np.uint8),
        consumed,
    )


def _written(cut: Cut) -> Frames:
    return Frames(cut.frames[: cut.n[0]], cut.stretches[: cut.n[1]], cut.consumed)
