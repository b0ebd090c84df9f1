"""Kernel: groups the records of a connection into requests and responses.

Criteria, the most certain first:

1. Size: a record that is too small for the beginning of a message, or that follows a full record, continues the
message. 2. Turns. A broker serves the requests of a connection one after the other, and most clients wait for the
response. So a record of the client after one of the broker begins a request; a record of the broker without an open
request continues the response before; if the only open request was sent after the broker's last record, the broker's
next record begins a response. 3. If requests are pipelined: the sizes with which messages of this direction began
earlier by rule 2, whether its earlier messages had several records, and for a new size the time since the record
before.

A client that does not wait for responses may write several requests into one record. They are found if they are as
large as the one before.

Responses come in the order of the requests, so the n-th response belongs to the n-th request: no list of requests is
needed. If a message was counted twice, or packets are missing, `resync` finds the request that a response belongs to.

The JVM writes the header of a Produce request or Fetch response, the records of each partition, and what follows them
(three bytes at the end), each as a TLS record of its own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.tls.lengths.headers import LOST
from kafkascope_parsers.tls.lengths.messages import CLIENT, N_SIZES, SERVER, SPLIT, Turns
from kafkascope_parsers.tls.lengths.resync import expect_no_response, get_into_step

LEAST_REQUEST, LEAST_LATER, LEAST_RESPONSE = 14, 18, 8
"""Bytes of the shortest request: size, API key, version, correlation id and the length of the client id; of those after
the first one (which has no body if it is ApiVersions); and of the shortest response: size and correlation id."""
TINY_BYTES = 18
"""Most bytes of a response to Heartbeat or LeaveGroup. A record that continues a response has END_BYTES, or more bytes
than this."""
END_BYTES = 3
"""Bytes after the last records of a Produce request or Fetch response: empty tagged fields of partition, topic and
message."""
FULL_BYTES = 16_000
"""A record of this size or more is full: TLS allows 16,384 bytes, and senders subtract the bytes that they add."""
CLOSE_NOTIFY_BYTES = 2
"""Size of the alert with which a side closes; it looks like data in TLS 1.3."""
AT_ONCE_NS = 5_000_000
"""Longest time between records of one message, which follow each other at once; on a busy host that may take some
milliseconds."""
MOST_OPEN = 512
"""Requests without a response beyond which no responses are expected: clients have five or a hundred in flight, and
with more the client is a producer that wants no responses (acks=0)."""
NEAR = 4
"""First records of the same kind of message differ by up to this many bytes, as lengths and offsets take one to five
bytes."""
JVM_PADDING = 16
"""Zeros that the JVM adds to each record of TLS 1.3."""
MOST_TOGETHER = 8
"""Most requests that are searched in one record."""
LEAST_ALIKE = 2
"""Number of requests of one size that have to come before: if sizes vary, a record that is a multiple of the one before
is one request, and one request too many would pair every later response with a wrong request."""
ROOM = 2 + MOST_TOGETHER
"""Most messages that may be complete after one record: one that is held, the one after it, and a loss, or all except
the last of those in one record."""


@kernel
def group_records(records: NDArray[Any], t: Turns, out: NDArray[Any]) -> int:
    """Writes complete messages to `out`, which has ROOM for each record. records: RECORD rows by connection, in order
    of time. Returns their number."""
    n = 0
    for record in records:
        turn = t.turns[record.conn]
        if turn.client_side < 0:
            continue
        end = CLIENT if record.side == turn.client_side else SERVER
        if record.length == LOST:
            n = _lose(record, t, end, out, n)
            continue
        size = record.length - turn.overhead
        if _is_handshake(record, t, end, size):
            continue
        part = t.parts[2 * record.conn + end]
        content = size - part.padding
        if content == CLOSE_NOTIFY_BYTES:
            continue
        if content <= 0:
            content, part.padding = size, 0
        begins = _begins_request(record, t, content) if end == CLIENT else _begins_response(record, t, content)
        if begins:
            if end == CLIENT and turn.last_end == CLIENT and part.number >= 0:
                n = _hold(record.conn, t, out, n)
            else:
                n = _close(record.conn, end, t, out, n)
            if end == CLIENT:
                together = _requests_together(record.conn, t, content)
                for _ in range(together - 1):
                    n = _whole_request(record, t, content // together, out, n)
                content -= (together - 1) * (content // together)
            if end == SERVER:
                n = get_into_step(record, t, out, n)
            _begin(record, t, end)
            part.first_size = content
        if part.number >= 0:
            part.n_records += 1
            part.n_bytes += max(content, 0)
            part.last_ns, part.last_size = record.last_ns, content
        if end == SERVER:
            turn.n_open_before = turn.n_sent - turn.n_answered
        turn.last_end = end
    return n


@kernel
def close_all(conns: NDArray[np.int64], t: Turns, out: NDArray[Any]) -> int:
    """Writes the last messages of some connections, with ROOM for each. Returns their number."""
    n = 0
    for conn in conns:
        n = _close(conn, CLIENT, t, out, n)
        n = _close(conn, SERVER, t, out, n)
    return n


@kernel
def _close(conn: int, end: int, t: Turns, out: NDArray[Any], n: int) -> int:
    """Writes the unfinished message of an end, after the first n."""
    part = t.parts[2 * conn + end]
    n = _release(conn, end, t, out, n)
    if part.number < 0:
        return n
    message = out[n]
    message.conn, message.end, message.number = conn, end, part.number
    message.n_records, message.n_bytes = part.n_records, part.n_bytes
    message.first_ns, message.first_packet, message.last_ns = part.first_ns, part.first_packet, part.last_ns
    message.in_flight, message.before_ns = part.in_flight, part.before_ns
    if part.number == 0 and end == CLIENT:
        t.turns[conn].first_request = part.n_bytes
    elif part.number == 0:
        t.turns[conn].first_response = part.n_bytes if part.n_records == 1 else SPLIT
    if part.n_records > 1 and part.is_sure:
        _remember(t.split_sizes, part, 2 * conn + end, part.first_size)
        part.n_ends += part.n_records > 2 and part.last_size == END_BYTES
    part.number = -1
    return n + 1


@kernel
def _release(conn: int, end: int, t: Turns, out: NDArray[Any], n: int) -> int:
    """Writes the message that is held, after the first n."""
    part = t.parts[2 * conn + end]
    if part.held_records == 0:
        return n
    message = out[n]
    message.conn, message.end, message.number = conn, end, part.number - 1
    message.n_records, message.n_bytes = part.held_records, part.held_bytes
    message.first_ns, message.first_packet, message.last_ns = part.held_ns, part.held_packet, part.held_last_ns
    message.in_flight, message.before_ns, part.held_records = part.held_in_flight, 0, 0
    return n + 1


@kernel
def _hold(conn: int, t: Turns, out: NDArray[Any], n: int) -> int:
    """Holds the unfinished request, as the next record may belong to it."""
    part = t.parts[2 * conn + CLIENT]
    n = _release(conn, CLIENT, t, out, n)
    part.held_records, part.held_bytes, part.held_ns = part.n_records, part.n_bytes, part.first_ns
    part.held_packet, part.held_first_size = part.first_packet, part.first_size
    part.held_last_ns, part.held_in_flight = part.last_ns, part.in_flight
    return n


@kernel
def _join_held(conn: int, t: Turns) -> None:
    """Joins the unfinished request to the one that is held."""
    part, turn = t.parts[2 * conn + CLIENT], t.turns[conn]
    if part.held_records == 0 or turn.n_answered >= turn.n_sent:
        return
    part.number -= 1
    part.is_sure = 1
    turn.n_sent -= 1
    turn.n_since -= 1
    part.first_size = part.held_first_size
    part.n_records += part.held_records
    part.n_bytes += part.held_bytes
    part.first_ns, part.first_packet, part.held_records = part.held_ns, part.held_packet, 0
    part.in_flight = part.held_in_flight


@kernel
def _lose(record: Any, t: Turns, end: int, out: NDArray[Any], n: int) -> int:
    """Ends unfinished messages, because bytes of an end are missing. Requests before missing bytes of the client are
    still answered. Room: one row for the end, one for the loss."""
    turn = t.turns[record.conn]
    turn.handshake, turn.n_tickets = 0, 0
    n = _close(record.conn, CLIENT, t, out, n)
    if end == CLIENT:
        return n
    if turn.last_end == CLIENT:
        n = _close(record.conn, SERVER, t, out, n)
    return int(expect_no_response(record, t, out, n))


@kernel
def _requests_together(conn: int, t: Turns, content: int) -> int:
    """The number of requests in a record that are as large as the ones before, of a client that does not wait for
    responses: requests that waited for the socket are written together."""
    part, turn = t.parts[2 * conn + CLIENT], t.turns[conn]
    size = part.n_bytes if part.n_records == 1 else 0
    part.n_alike = part.n_alike + 1 if size > 0 and abs(size - part.usual) <= 1 else 0
    part.usual = size
    if turn.n_sent == turn.n_answered or part.n_alike < LEAST_ALIKE - 1 or size < LEAST_REQUEST:
        return 1
    together = (content + size // 2) // size
    is_multiple = 1 < together <= MOST_TOGETHER and abs(content - together * size) <= together
    return int(together) if is_multiple else 1


@kernel
def _whole_request(record: Any, t: Turns, size: int, out: NDArray[Any], n: int) -> int:
    """Writes a request that is in one record with the next one, after the first n."""
    part = t.parts[2 * record.conn + CLIENT]
    _begin(record, t, CLIENT)
    part.first_size, part.last_size, part.n_records, part.n_bytes = size, size, 1, size
    part.last_ns = record.last_ns
    return int(_close(record.conn, CLIENT, t, out, n))


@kernel
def _begin(record: Any, t: Turns, end: int) -> None:
    """A message begins."""
    turn, part = t.turns[record.conn], t.parts[2 * record.conn + end]
    if end == CLIENT:
        if turn.last_end == SERVER:
            turn.n_since, turn.pause_ns = 0, record.first_ns - t.parts[2 * record.conn + SERVER].last_ns
        turn.n_since += 1
        part.number = turn.n_sent
        turn.n_sent += 1
        if turn.n_sent - turn.n_answered > MOST_OPEN:
            turn.n_answered = turn.n_sent - 1
    else:
        part.number = turn.n_answered
        turn.n_answered += 1
    part.in_flight, part.before_ns = turn.n_sent - turn.n_answered, part.last_ns
    part.n_records, part.n_bytes = 0, 0
    part.first_ns, part.first_packet = record.first_ns, record.first_packet


@kernel
def _is_handshake(record: Any, t: Turns, end: int, size: int) -> bool:
    """Whether a record does not belong to Kafka, but to the handshake of TLS 1.3, or is a ticket. The size of the
    client's Finished shows whether it pads its records; servers with the JVM do."""
    turn = t.turns[record.conn]
    if turn.handshake:
        finished = 4 + turn.hash_bytes
        if end == CLIENT and (size == finished or size == finished + JVM_PADDING):
            turn.handshake = 0
            t.parts[2 * record.conn + CLIENT].padding = size - finished
        return True
    if end == SERVER and turn.n_tickets > 0 and turn.n_answered == 0:
        turn.n_tickets -= 1
        return True
    return False


@inlined
def _is_known(sizes: NDArray[np.int32], direction: int, content: int, within: int) -> bool:
    """Whether a size is at most `within` from one of the sizes of a direction."""
    found = False
    for i in range(N_SIZES):
        size = sizes[direction * N_SIZES + i]
        found |= size > 0 and abs(size - content) <= within
    return found


@inlined
def _remember(sizes: NDArray[np.int32], part: Any, direction: int, content: int) -> None:
    """Remembers a size in place of the oldest one."""
    if not _is_known(sizes, direction, content, 0):
        sizes[direction * N_SIZES + part.next_place % N_SIZES] = content
        part.next_place += 1


@kernel
def _begins_request(record: Any, t: Turns, content: int) -> bool:
    """Whether a record of the client begins a request."""
    turn, direction = t.turns[record.conn], 2 * record.conn + CLIENT
    part = t.parts[direction]
    if content < (LEAST_LATER if turn.n_sent > 0 else LEAST_REQUEST) and part.number >= 0:
        if not _is_known(t.split_sizes, direction, part.first_size, NEAR):
            _join_held(record.conn, t)
        return False
    return bool(_begins(turn.last_end == SERVER, t, direction, content, record.first_ns))


@kernel
def _begins_response(record: Any, t: Turns, content: int) -> bool:
    """Whether a record of the server begins a response."""
    turn, direction = t.turns[record.conn], 2 * record.conn + SERVER
    part = t.parts[direction]
    if turn.n_sent == turn.n_answered and _is_known(t.first_sizes, direction, content, 0):
        part.is_sure = 0
    if turn.n_sent == turn.n_answered or (content < LEAST_RESPONSE and part.number >= 0):
        return False
    is_turn = turn.n_open_before == 0 or turn.last_end == CLIENT or content <= TINY_BYTES
    return bool(_begins(is_turn, t, direction, content, record.first_ns))


@kernel
def _begins(is_turn: bool, t: Turns, direction: int, content: int, at_ns: int) -> bool:
    """Whether a record that is large enough begins a message. is_turn: whether the last record was the other end's."""
    part = t.parts[direction]
    if part.number >= 0 and part.last_size >= FULL_BYTES:
        return False
    if part.number < 0 or is_turn:
        _remember(t.first_sizes, part, direction, content)
        part.is_sure = 1
        return True
    begins = bool(_begins_by_size(t, direction, content, at_ns))
    part.is_sure = part.is_sure and not begins
    return begins


@inlined
def _is_next_request(t: Turns, direction: int, content: int, at_ns: int) -> bool:
    """Whether a record of the client that follows a short one comes later, or has the size with which the request
    before it began, or one of several records before: librdkafka ends a Produce request with four bytes."""
    part = t.parts[direction]
    begins = at_ns - part.last_ns > AT_ONCE_NS or abs(part.first_size - content) <= NEAR
    return direction & 1 == CLIENT and (begins or _is_known(t.split_sizes, direction, content, NEAR))


@kernel
def _begins_by_size(t: Turns, direction: int, content: int, at_ns: int) -> bool:
    """The same if turns do not decide."""
    part = t.parts[direction]
    if part.last_size < LEAST_RESPONSE:
        return bool(part.last_size <= END_BYTES or _is_next_request(t, direction, content, at_ns))
    if part.n_records > 1 and part.n_ends > 0:
        return bool(_is_known(t.first_sizes, direction, content, 0))
    gap_ns = at_ns - part.last_ns
    if _is_known(t.first_sizes, direction, content, 0) or gap_ns > AT_ONCE_NS:
        return True
    if part.n_records > 1 or not _is_known(t.split_sizes, direction, part.first_size, NEAR):
        return bool(part.n_records == 1)
    return bool(_is_known(t.split_sizes, direction, content, NEAR) and gap_ns > AT_ONCE_NS // 10)
