"""Requests that wait for their responses: one list per connection, all in one pool.

A broker answers the requests of a connection in their order, so the list is a queue; a response that answers a later
request overtakes the earlier ones. Where responses are missing from the capture, those are given up: they will never be
answered. Where none is missing, they go to a second list, of overtaken requests, as a proxy or a server that breaks
Kafka's order may still answer them: OVERTAKEN_LIMIT of them at most, and for OVERTAKEN_RESPONSES responses. At most
WAITING_LIMIT wait on a connection: a capture of one direction has no response at all.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.layout import (
    OVERTAKEN_LIMIT,
    OVERTAKEN_RESPONSES,
    SEARCH_LIMIT,
    WAITING,
    WAITING_LIMIT,
)
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.row_copies import copy_rows

NONE = -1


class Waiting(NamedTuple):
    """nodes: WAITING[capacity]; free: int64[1], head of the list of unused nodes; abandoned: uint8 per open row, 1
    when it will never be answered.
    """

    nodes: NDArray[np.void]
    free: NDArray[np.int64]
    abandoned: NDArray[np.uint8]


def empty_pool() -> NDArray[np.void]:
    """A pool without room: `with_room` gives it some."""
    return np.zeros(0, WAITING)


def with_room(nodes: NDArray[np.void], free: NDArray[np.int64], n: int) -> NDArray[np.void]:
    """The pool, grown so that n more requests fit whatever is free now; new nodes join the free list."""
    old = len(nodes)
    grown = np.zeros(old + n, WAITING)
    copy_rows(grown, nodes)
    grown["next"][old:] = np.arange(old + 1, old + n + 1)
    if n:
        grown["next"][-1] = free[0]
        free[0] = old
    return grown


@kernel
def unlink_oldest(w: Waiting, c: NDArray[np.void], i: int) -> int:
    """Takes the oldest request of connection i's queue, which has one, out of it; returns its node, not free yet."""
    node = c[i].head
    c[i].head = w.nodes[node].next
    c[i].n_waiting -= 1
    return int(node)


@kernel
def release(w: Waiting, node: int) -> None:
    """Puts a node of no list on the free list; it stays readable until it is used again."""
    w.nodes[node].next = w.free[0]
    w.free[0] = node


@kernel
def pop_oldest(w: Waiting, c: NDArray[np.void], i: int) -> int:
    """Takes the oldest request of connection i's queue, which has one, out of it; returns its node (still readable)."""
    node = unlink_oldest(w, c, i)
    release(w, node)
    return node


@kernel
def give_up_oldest(w: Waiting, c: NDArray[np.void], i: int) -> None:
    """Gives the oldest request of connection i's queue up."""
    w.abandoned[w.nodes[pop_oldest(w, c, i)].row] = 1
    c[i].n_given_up += 1


@kernel
def give_up_oldest_overtaken(w: Waiting, c: NDArray[np.void], i: int) -> None:
    """Gives up the request of connection i, which has one, that was overtaken first."""
    node = c[i].overtaken_head
    c[i].overtaken_head = w.nodes[node].next
    c[i].n_overtaken -= 1
    w.abandoned[w.nodes[node].row] = 1
    release(w, node)


@kernel
def give_up_overtaken(w: Waiting, c: NDArray[np.void]) -> None:
    """Gives up the overtaken requests of all connections."""
    for i in range(len(c)):
        while c[i].n_overtaken > 0:
            give_up_oldest_overtaken(w, c, i)


@kernel
def keep_newest(w: Waiting, c: NDArray[np.void], most: int) -> None:
    """Gives requests up until no connection has more than so many."""
    for i in range(len(c)):
        while c[i].n_waiting > most:
            give_up_oldest(w, c, i)


@kernel
def enqueue(w: Waiting, c: NDArray[np.void], i: int, request: Any, row: int) -> None:
    """Puts a request at the end of connection i's queue and writes how many are in flight with it."""
    if c[i].n_waiting >= WAITING_LIMIT:
        give_up_oldest(w, c, i)
    node = w.free[0]
    w.free[0] = w.nodes[node].next
    w.nodes[node].next = NONE
    w.nodes[node].row = row
    w.nodes[node].correlation_id = request.correlation_id
    w.nodes[node].api_key = request.api_key
    w.nodes[node].api_version = request.api_version
    if c[i].head == NONE:
        c[i].head = node
    else:
        w.nodes[c[i].tail].next = node
    c[i].tail = node
    c[i].n_waiting += 1
    request.in_flight = c[i].n_waiting
    c[i].max_in_flight = max(c[i].max_in_flight, c[i].n_waiting)


@kernel
def waits(w: Waiting, c: NDArray[np.void], i: int, correlation_id: int) -> bool:
    """Whether a request of connection i waits under that correlation id."""
    node, looked = c[i].head, 0
    while node != NONE and looked < SEARCH_LIMIT:
        if w.nodes[node].correlation_id == correlation_id:
            return True
        node = w.nodes[node].next
        looked += 1
    return False


@kernel
def is_overtaken(w: Waiting, c: NDArray[np.void], i: int, correlation_id: int) -> bool:
    """Whether a request of connection i was overtaken under that correlation id."""
    node = c[i].overtaken_head
    for _ in range(c[i].n_overtaken):
        if w.nodes[node].correlation_id == correlation_id:
            return True
        node = w.nodes[node].next
    return False


@kernel
def overtake_oldest(w: Waiting, c: NDArray[np.void], i: int) -> None:
    """Moves the oldest request of connection i's queue to those that were overtaken."""
    if c[i].n_overtaken >= OVERTAKEN_LIMIT:
        give_up_oldest_overtaken(w, c, i)
    node = unlink_oldest(w, c, i)
    w.nodes[node].next = NONE
    w.nodes[node].overtaken_at = c[i].n_answers
    if c[i].n_overtaken == 0:
        c[i].overtaken_head = node
    else:
        w.nodes[c[i].overtaken_tail].next = node
    c[i].overtaken_tail = node
    c[i].n_overtaken += 1


@kernel
def take(w: Waiting, c: NDArray[np.void], i: int, correlation_id: int) -> int:
    """Takes the first request of that correlation id out; those before it are overtaken, or given up where responses
    are missing. Returns its node (still readable), or NONE.
    """
    if not waits(w, c, i, correlation_id):
        return NONE
    while w.nodes[c[i].head].correlation_id != correlation_id:
        if c[i].lacks_responses:
            w.abandoned[w.nodes[pop_oldest(w, c, i)].row] = 1
        else:
            overtake_oldest(w, c, i)
    c[i].lacks_responses = 0
    return pop_oldest(w, c, i)


@kernel
def take_overtaken(w: Waiting, c: NDArray[np.void], i: int, correlation_id: int) -> int:
    """Takes the first overtaken request of that correlation id out; returns its node (still readable), or NONE."""
    before, node = NONE, c[i].overtaken_head
    for _ in range(c[i].n_overtaken):
        following = w.nodes[node].next
        if w.nodes[node].correlation_id == correlation_id:
            if before == NONE:
                c[i].overtaken_head = following
            else:
                w.nodes[before].next = following
            if following == NONE:
                c[i].overtaken_tail = before
            c[i].n_overtaken -= 1
            release(w, node)
            return int(node)
        before, node = node, following
    return NONE


@kernel
def note_answer(w: Waiting, c: NDArray[np.void], i: int) -> None:
    """Counts a response of connection i; overtaken requests that so many responses have followed are given up."""
    c[i].n_answers += 1
    while c[i].n_overtaken > 0 and c[i].n_answers - w.nodes[c[i].overtaken_head].overtaken_at > OVERTAKEN_RESPONSES:
        give_up_oldest_overtaken(w, c, i)
