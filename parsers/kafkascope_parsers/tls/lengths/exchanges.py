"""`LengthExchanges`: the requests and responses of TLS connections that cannot be decrypted, by record headers."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.tcp.streams import Streams
from kafkascope_parsers.tls.handshake import HandshakeFacts
from kafkascope_parsers.tls.hello import TLS_13
from kafkascope_parsers.tls.lengths.grouping import JVM_PADDING, ROOM, close_all, group_records
from kafkascope_parsers.tls.lengths.headers import HEAD, LOST, RECORD, most_records, read_records
from kafkascope_parsers.tls.lengths.messages import CLIENT, MESSAGE, N_SIZES, PART, SERVER, TURN, Turns
from kafkascope_parsers.tls.suites import CBC, CHACHA, SUITES_12, SUITES_13

OVERHEAD_13 = 17
"""Bytes that TLS 1.3 adds to the content of a record: the type of the content, and the tag."""
_OVERHEADS_12 = {CHACHA: 16, CBC: 16 + 32 + 8}
"""The same of TLS 1.2, by mode: of CBC half of its padding, and an HMAC of usual size. Of AES-GCM it is exact."""
_OVERHEAD_12 = 24
_TAKES_TICKETS = 45
"""The extension psk_key_exchange_modes: without it a server of TLS 1.3 sends no ticket (RFC 8446, section 4.2.9)."""
_HASH_BYTES = {"sha256": 32, "sha384": 48}


EXCHANGE = record_type(
    [
        ("conn", np.int64),
        ("number", np.int64),
        ("ts_ns", np.int64),
        ("request_last_ns", np.int64),
        ("request_packet_no", np.int64),
        ("request_bytes", np.int64),
        ("in_flight", np.int64),
        ("response_ns", np.int64),
        ("response_last_ns", np.int64),
        ("response_packet_no", np.int64),
        ("response_bytes", np.int64),
        ("before_ns", np.int64),
        ("response_records", np.int64),
        ("fate", np.int64),
    ]
)
"""A request and its response. before_ns: the last byte of the response before it; response_records: TLS
records of the response; response_*: 0 where there is none,
and then fate says why."""
ANSWERED, GIVEN_UP, MISSED, OPEN = range(4)
"""Fates: answered; given up, as the client sent many more requests without a response; the response may be among
missing bytes; no response so far."""
WAITING_LIMIT = 100_000
"""Requests that wait for their responses, of all connections: 80 bytes each. The oldest are given up."""


class LengthExchanges:
    """The exchanges of some connections: `open_connections`, `handshake`, and `push` for every block, then `finish`.
    Connections that are read have a slot, some 500 bytes; the others a number."""

    def __init__(self) -> None:
        self._client_sides, self._slots = Growing(np.int8), Growing(np.int32)
        self._conns = Growing(np.int64)
        """The connection of each slot."""
        self._heads = Growing[np.void](HEAD)
        self._turns = Growing[np.void](TURN)
        self._parts = Growing[np.void](PART)
        self._first_sizes, self._split_sizes = Growing(np.int32), Growing(np.int32)
        self._waiting = np.empty(0, MESSAGE)

    def evidence(self) -> tuple[NDArray[np.int64], NDArray[np.void], NDArray[np.int64]]:
        """The connections that are read, their TURN rows, and the number of their messages that ended as those of
        Produce and Fetch with records do."""
        n_ends = self._parts.rows["n_ends"].reshape(-1, 2).sum(1)
        return self._conns.rows, self._turns.rows, np.asarray(n_ends, np.int64)

    def open_connections(self, client_side: NDArray[np.int8]) -> None:
        """Adds new connections. client_side: of each."""
        self._client_sides.add(client_side)
        self._slots.add(np.full(len(client_side), -1, np.int32))

    def handshake(self, conn: int, facts: HandshakeFacts) -> None:
        """Takes the facts of a connection's handshake so far, before `push` gets the records after it."""
        slot = int(self._slots_of(np.array([conn]))[0])
        turn, client, server = self._turns.rows[slot], facts.client, facts.server
        if turn["has_hellos"]:
            return
        turn["has_hellos"] = server is not None
        if client is not None:
            turn["n_tickets"] = _TAKES_TICKETS in client.extensions
            turn["offers_alpn"] = bool(client.alpns)
        if server is not None and server.version_number == TLS_13:
            suite = SUITES_13.get(server.suite or 0)
            turn["handshake"], turn["hash_bytes"] = 1, _HASH_BYTES[suite.hash if suite else "sha256"]
        elif server is not None:
            suite = SUITES_12.get(server.suite or 0)
            turn["overhead"] = _OVERHEADS_12.get(suite.mode if suite else "", _OVERHEAD_12)
            turn["n_tickets"] = 0
            self._parts.rows["padding"][2 * slot : 2 * slot + 2] = 0

    def push(self, streams: Streams, chosen: NDArray[np.int64]) -> NDArray[np.void]:
        """The exchanges (EXCHANGE) whose fate is known. chosen: the runs that are read."""
        if not len(chosen):
            return np.empty(0, EXCHANGE)
        direction = streams.direction[chosen]
        directions = 2 * self._slots_of(direction >> 1) + (direction & 1)
        records = np.empty(most_records(streams, chosen), RECORD)
        records = records[: read_records(streams, chosen, directions, self._heads.rows, records)]
        records = records[np.lexsort((records["last_packet"], records["conn"]))]
        out = np.empty(ROOM * len(records), MESSAGE)
        return self._settled(out[: group_records(records, self._state(), out)], final=False)

    def finish(self) -> NDArray[np.void]:
        """The last exchanges."""
        slots = np.arange(len(self._turns))
        out = np.empty(ROOM * len(slots), MESSAGE)
        return self._settled(out[: close_all(slots, self._state(), out)], final=True)

    def _slots_of(self, conns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of connections, new ones for those that have none."""
        fresh = np.unique(conns[self._slots.rows[conns] < 0])
        n = len(fresh)
        self._slots.rows[fresh] = len(self._conns) + np.arange(n)
        self._conns.add(fresh)
        self._heads.add(np.zeros(2 * n, HEAD))
        turns = np.zeros(n, TURN)
        turns["client_side"], turns["overhead"] = self._client_sides.rows[fresh], OVERHEAD_13
        self._turns.add(turns)
        parts = np.zeros(2 * n, PART)
        parts["number"] = -1
        parts["padding"][SERVER::2] = JVM_PADDING
        self._parts.add(parts)
        for sizes in (self._first_sizes, self._split_sizes):
            sizes.add(np.zeros(2 * n * N_SIZES, np.int32))
        return self._slots.rows[conns].astype(np.int64)

    def _state(self) -> Turns:
        return Turns(self._turns.rows, self._parts.rows, self._first_sizes.rows, self._split_sizes.rows)

    def _settled(self, messages: NDArray[np.void], *, final: bool) -> NDArray[np.void]:
        """Joins requests and responses; messages that cannot be joined yet wait."""
        lost = messages[messages["number"] == LOST]
        messages = np.concatenate([self._waiting, messages[messages["number"] != LOST]])
        messages = messages[np.lexsort((messages["end"], messages["number"], messages["conn"]))]
        conn, number = messages["conn"], messages["number"]
        first = np.flatnonzero((conn[1:] == conn[:-1]) & (number[1:] == number[:-1]))
        rest = np.ones(len(messages), np.bool_)
        rest[first] = rest[first + 1] = False
        waiting = messages[rest]
        fate = self._fates(waiting, lost, final=final)
        is_request = waiting["end"] == CLIENT
        self._waiting = waiting[(fate == ANSWERED) | ~is_request] if not final else waiting[:0]
        given_up = (fate != ANSWERED) & is_request
        exchanges = np.concatenate(
            [_exchanges(messages[first], ANSWERED), _exchanges(waiting[given_up], fate[given_up])]
        )
        _add_responses(exchanges[: len(first)], messages[first + 1])
        exchanges["conn"] = self._conns.rows[exchanges["conn"]]
        return exchanges

    def _fates(self, waiting: NDArray[np.void], lost: NDArray[np.void], *, final: bool) -> NDArray[np.int64]:
        """The fates of messages without the other message of their exchange; ANSWERED if it may still come."""
        conn, number = waiting["conn"], waiting["number"]
        responding = self._parts.rows["number"][2 * conn + SERVER]
        passed = (number < self._turns.rows["n_answered"][conn]) & (number != responding)
        fate = np.where(passed, GIVEN_UP, OPEN if final else ANSWERED)
        latest = np.zeros(len(self._turns), np.int64)
        np.maximum.at(latest, lost["conn"], lost["n_records"])
        fate[number < latest[conn]] = MISSED
        fate[np.argsort(waiting["first_ns"])[: max(len(waiting) - WAITING_LIMIT, 0)]] = GIVEN_UP
        return fate


def _exchanges(requests: NDArray[np.void], fate: int | NDArray[np.int64]) -> NDArray[np.void]:
    """Exchanges without their responses."""
    out = np.zeros(len(requests), EXCHANGE)
    for name, source in _OF_REQUEST.items():
        out[name] = requests[source]
    out["fate"] = fate
    return out


def _add_responses(exchanges: NDArray[np.void], responses: NDArray[np.void]) -> None:
    for name, source in _OF_RESPONSE.items():
        exchanges[name] = responses[source]


_OF_REQUEST = {
    "conn": "conn",
    "number": "number",
    "ts_ns": "first_ns",
    "request_last_ns": "last_ns",
    "request_packet_no": "first_packet",
    "request_bytes": "n_bytes",
    "in_flight": "in_flight",
}
_OF_RESPONSE = {
    "response_ns": "first_ns",
    "response_last_ns": "last_ns",
    "response_packet_no": "first_packet",
    "response_bytes": "n_bytes",
    "before_ns": "before_ns",
    "response_records": "n_records",
}
