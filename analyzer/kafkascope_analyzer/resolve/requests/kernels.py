"""Kernels that process one request after the other, with a little state for each connection."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel

NONE = np.iinfo(np.int64).min
"""Stands for an unknown time."""
MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@kernel
def loop_gaps(
    place: NDArray[np.int64],
    sent_ns: NDArray[np.int64],
    answered_ns: NDArray[np.int64],
    last: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Writes the time between rounds of a loop, in milliseconds.

    place[i]: row of `last` for the request's connection and loop. last[place]: when the last request of that loop was
    sent and answered, NONE where that is not known; updated. out[i]: time since the last request was sent, and since
    its response; NONE where there is none.
    """
    for i in range(len(place)):
        at = place[i]
        before, answered = last[at, 0], last[at, 1]
        out[i, 0] = (sent_ns[i] - before) // MILLISECOND if before != NONE else NONE
        out[i, 1] = (sent_ns[i] - answered) // MILLISECOND if before != NONE and answered != NONE else NONE
        last[at, 0] = sent_ns[i]
        last[at, 1] = answered_ns[i]


@kernel
def mark_samples(
    requests: NDArray[np.int64], state: NDArray[np.int64], limits: tuple[int, int], out: NDArray[np.bool_]
) -> None:
    """Marks the requests whose correlation ids are sampled: the first ones of a connection, then the first of each
    second, and of each minute once the connection is old.

    requests[i]: connection, client id (a code), number on the connection, time. state[connection]: time of the first
    request of the client id, the last second or minute, the client id; NONE at first; updated. limits: number of first
    requests that are all marked, and the age in nanoseconds from which on one a minute is marked.
    """
    for i in range(len(requests)):
        at, client, number, ts_ns = requests[i, 0], requests[i, 1], requests[i, 2], requests[i, 3]
        if state[at, 2] != client:
            state[at, 0], state[at, 1], state[at, 2] = ts_ns, NONE, client
        slot = ts_ns // SECOND if ts_ns - state[at, 0] < limits[1] else -1 - ts_ns // (60 * SECOND)
        out[i] = number < limits[0] or slot != state[at, 1]
        state[at, 1] = slot
