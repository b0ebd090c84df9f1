"""Chooses the late responses that show a slow server: responses that took ten times as long as usual, on several
connections, or that were that late when the server sent its last packet of the capture. Responses on new connections
do not show it: a process that accepts connections late answers them late, however quick it is otherwise."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.resolve.servers.usual_latency import usual_latency_ns
from kafkascope_analyzer.resolve.servers.waits import REQUEST, Waits
from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_parsers.tcp.spans import BY_DATA, BY_NOTHING

TIMES_USUAL = 10
LEAST_OPEN_NS = 2_000_000_000
"""Shortest wait of an open request that counts when the server sends its last packet: a response to a younger one may
be about to come."""
_TOGETHER_NS = 2_000_000_000
"""Largest distance in time between late responses that belong together."""


def with_slow_responses(waits: Waits, hosts: ServerHosts, last_ns: Ints) -> Waits:
    """Returns the waits with is_slow. last_ns: the last packet of each server; the capture may end, or lose sight of
    the server, then. Only responses that the server could give by itself decide whether it is slow; for a slow server
    all late responses decide for how long."""
    is_open = (waits.layer == REQUEST) & (waits.ended_by == BY_NOTHING)
    is_open &= last_ns[waits.server] - waits.due_ns >= LEAST_OPEN_NS
    answered = is_open | ((waits.layer == REQUEST) & (waits.ended_by == BY_DATA))
    until_ns = np.where(is_open, last_ns[waits.server], waits.until_ns)
    shows = (waits.is_proof > 0) & (waits.is_new == 0)
    proofs = np.flatnonzero(answered & shows)
    proofs = proofs[_beside_others(waits.taken(proofs), until_ns[proofs])]
    if not len(proofs):
        return waits
    in_question = np.zeros(len(hosts.servers), np.bool_)
    in_question[waits.server[proofs]] = True
    others = np.flatnonzero(answered & ~shows & in_question[waits.server])
    rows = np.concatenate([proofs, others])
    usual = usual_latency_ns(hosts, in_question)[waits.server[rows], waits.api_key[rows]]
    is_slow: Ints = np.zeros(len(waits.conn), np.int64)
    is_slow[rows] = until_ns[rows] - waits.due_ns[rows] >= TIMES_USUAL * usual
    return replace(waits, is_slow=is_slow)


def _beside_others(waits: Waits, until_ns: Ints) -> NDArray[np.bool_]:
    """Whether another connection of the same server had a late response at nearly the same time. until_ns: when each
    response came, or the latest time at which it had not."""
    order = np.lexsort((waits.conn, waits.asked_ns, waits.server))
    server, conn = waits.server[order], waits.conn[order]
    asked, until = waits.asked_ns[order], until_ns[order]
    beside = np.zeros(len(order), np.bool_)
    near = (server[1:] == server[:-1]) & (asked[1:] <= until[:-1] + _TOGETHER_NS)
    group = np.concatenate([[0], np.cumsum(~near)])[: len(order)]
    beside[order] = np.bincount(group[first_rows(group, conn)], minlength=1)[group] > 1
    return beside
