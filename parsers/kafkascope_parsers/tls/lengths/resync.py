"""Kernel: corrects the pairing on a connection, so that a response belongs to the request that it answers.

The n-th response belongs to the n-th request. That fails if packets with responses are missing, or if one request was
counted as two: every response then comes soon after a request with which it is not paired. Requests that can have no
response any more are skipped, which a row of MESSAGE with number LOST states.
"""

from typing import Any

from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.tls.lengths.headers import LOST
from kafkascope_parsers.tls.lengths.messages import CLIENT, SERVER, Turns

LEAST_ALTERNATING, LEAST_PAUSES = 4, 4
"""Number of responses in a row that show that no other request waits, and the factor by which the pause before each of
them must be longer than the time from its request to it."""


@kernel
def expect_no_response(record: Any, t: Turns, out: NDArray[Any], n: int) -> int:
    """Skips the requests so far, because their responses may be among the missing bytes."""
    turn = t.turns[record.conn]
    t.parts[2 * record.conn + SERVER].number = -1
    turn.n_answered, turn.n_open_before = turn.n_sent, 0
    turn.last_end = CLIENT
    return int(_write_loss(record, turn.n_sent, out, n))


@kernel
def get_into_step(record: Any, t: Turns, out: NDArray[Any], n: int) -> int:
    """Pairs the beginning response with the latest request, if the seemingly open requests before it cannot be open.

    If they were open, each response would have waited for the client's next request although it answers an earlier one,
    so its latency would depend on the client's pauses. That may happen once by accident. With a steady rate and an
    equal latency it may happen all the time, so the pauses have to differ."""
    turn = t.turns[record.conn]
    waited_ns = record.first_ns - t.parts[2 * record.conn + CLIENT].last_ns
    is_alone = turn.last_end == CLIENT and turn.n_since == 1 and turn.pause_ns > LEAST_PAUSES * waited_ns
    if not is_alone or turn.n_sent - turn.n_answered < 2:
        turn.n_alternating = 0
        return n
    if turn.n_alternating == 0:
        turn.least_pause_ns = turn.most_pause_ns = turn.pause_ns
    turn.n_alternating += 1
    turn.least_pause_ns = min(turn.least_pause_ns, turn.pause_ns)
    turn.most_pause_ns = max(turn.most_pause_ns, turn.pause_ns)
    if turn.n_alternating < LEAST_ALTERNATING or turn.most_pause_ns < 2 * turn.least_pause_ns:
        return n
    turn.n_answered = turn.n_sent - 1
    turn.n_alternating = 0
    return int(_write_loss(record, turn.n_answered, out, n))


@inlined
def _write_loss(record: Any, number: int, out: NDArray[Any], n: int) -> int:
    """Writes, after the first n, that responses to requests before this number may be missing."""
    message = out[n]
    message.conn, message.end, message.number, message.n_records = record.conn, SERVER, LOST, number
    message.n_bytes, message.first_ns, message.last_ns = 0, record.first_ns, record.last_ns
    message.first_packet, message.in_flight, message.before_ns = record.first_packet, 0, 0
    return n + 1
