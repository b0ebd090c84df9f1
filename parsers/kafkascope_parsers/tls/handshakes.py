"""`Handshakes` takes TCP's streams, block after block, and returns the facts of each TLS handshake when it is over.

It needs no keys, and follows connections whose first bytes are a handshake record, until they have agreed on keys.
Between blocks it keeps handshakes that are not over: their hellos, and messages that are not whole.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.growing import Growing
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.handshake import Handshake, HandshakeFacts
from kafkascope_parsers.tls.records import HANDSHAKE

FOLLOWED_LIMIT = 1 << 14
"""Handshakes that are followed at the same time, some 3 kB each; beyond it a new one replaces the oldest."""
HELD_BYTES_LIMIT = 64 << 20
"""Bytes of records and messages that are not whole, of all of them: a chain of certificates has some 5 kB."""

_NEW, _FOLLOWED, _OVER = range(3)


class FoundHandshake(NamedTuple):
    """A connection, and the facts of its handshake."""

    connection: int
    facts: HandshakeFacts


class Handshakes:
    """The handshakes of some connections. n_given_up: those that were given up at a limit; seen: those with records in
    the current block, also if they are not over."""

    def __init__(self) -> None:
        self._states = Growing(np.int8)
        self._followed: dict[int, Handshake] = {}
        """The oldest first."""
        self._n_held = 0
        self.n_given_up = 0
        self.seen: list[FoundHandshake] = []

    def open_connections(self, n: int) -> None:
        """Adds new connections, as framing does."""
        self._states.add(np.full(n, _NEW, np.int8))

    def push(self, streams: Streams, *, final: bool) -> list[FoundHandshake]:
        """Takes TCP's streams of a block. final: no more will come."""
        found: list[FoundHandshake] = []
        self.seen = []
        for number, runs in self._runs_of(streams).items():
            handshake = self._followed.setdefault(number, Handshake())
            records = [record for run in runs for record in handshake.sides[run & 1].read(streams, run >> 1)]
            for record in sorted(records, key=lambda record: record.packet_no):
                handshake.take(record)
            if all(side.is_over for side in handshake.sides):
                handshake.give_up()
            self._n_held += handshake.n_held - handshake.n_counted
            handshake.n_counted = handshake.n_held
            self.seen.append(FoundHandshake(number, handshake.facts))
            if handshake.is_over:
                found.append(self._end(number))
        while (final and self._followed) or self._is_too_much():
            number = next(iter(self._followed))
            self._followed[number].give_up()
            found.append(self._end(number))
            self.n_given_up += not final
        return found

    def _is_too_much(self) -> bool:
        return len(self._followed) > FOLLOWED_LIMIT or (self._n_held > HELD_BYTES_LIMIT and bool(self._followed))

    def _runs_of(self, streams: Streams) -> dict[int, list[int]]:
        """The runs of connections whose handshakes are followed: by connection, twice the number of each, and its
        side."""
        conn: NDArray[np.int64] = streams.direction >> 1
        states = self._states.rows
        begins = np.flatnonzero((streams.stream_offset == 0) & (states[conn] == _NEW))
        states[conn[begins[streams.data[streams.start[begins]] == HANDSHAKE]]] = _FOLLOWED
        runs: dict[int, list[int]] = {}
        for run in np.flatnonzero(states[conn] == _FOLLOWED).tolist():
            runs.setdefault(int(conn[run]), []).append(2 * run + int(streams.direction[run] & 1))
        return runs

    def _end(self, number: int) -> FoundHandshake:
        handshake = self._followed.pop(number)
        self._n_held -= handshake.n_counted
        self._states.rows[number] = _OVER
        return FoundHandshake(number, handshake.facts)
