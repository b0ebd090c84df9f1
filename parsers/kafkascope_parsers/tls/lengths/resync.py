"""Kernel: how a connection gets back into step, so that a response belongs to the request that it answers.

The n-th response belongs to the n-th request. That fails where packets with responses are missing, and where one
request was taken for two: every response then comes soon after a request that it does not answer. Requests that no
response can belong to any more are passed over, and a row of MESSAGE with number LOST says so.
"""

from typing import Any

from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel
from kafkascope_parsers.tls.lengths.headers import LOST
from kafkascope_parsers.tls.lengths.messages import CLIENT, SERVER, Turns

LEAST_ALTERNATING, LEAST_PAUSES = 4, 4
"""Responses in a row, each after a pause that is so many times as long as it took to come after its request, that show
that no other request waits for one."""


@kernel
def expect_no_response(record: Any, t: Turns, out: NDArray[Any], n: int) -> int:
    """Passes over what was sent so far, as responses to it may be among the bytes that are missing."""
    turn = t.turns[record.conn]
    t.parts[2 * record.conn + SERVER].number = -1
    turn.n_answered, turn.n_open_before = turn.n_sent, 0
    turn.last_end = CLIENT
    return int(_write_loss(record, turn.n_sent, out, n))


@kernel
def get_into_step(record: Any, t: Turns, out: NDArray[Any], n: int) -> int:
    """Gives the response that begins to the latest request, where the ones before it that seem to be open cannot be.

    If they were, each response would have waited for the client's next request although it answers an earlier one: its
    latency would follow the client's pauses. By accident that happens once; a pace and a latency that are equal and
    steady may do it forever, so the pauses have to differ."""
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
    """Writes behind the first n that responses to requests before this number may be missing."""
    message = out[n]
    message.conn, message.end, message.number, message.n_records = record.conn, SERVER, LOST, number
    message.n_bytes, message.first_ns, message.last_ns = 0, record.first_ns, record.last_ns
    message.first_packet, message.in_flight, message.before_ns = record.first_packet, 0, 0
    return n + 1
