"""Ends waits that nothing ended, long after the last packet of their connection.

A host that dies or loses its network sends neither FIN nor RST, and its kernel forgets a connection without a packet
when it stops retransmitting. So a wait that is open at the end of the capture does not show that anybody still waits. A
host that waits for an acknowledgment retransmits, and one that waits for a window to open probes it; one that waits for
an answer of the application may send nothing but keep-alive probes. When even those must have come, the host has given
up, and what the server does from then on does not belong to the wait.
"""

from dataclasses import replace

import numpy as np

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.waits import DELIVERY, WINDOW, Waits
from kafkascope_parsers.tcp.spans import BY_GIVING_UP, BY_NOTHING, PACKETS

RETRANSMITTED_NS = 120_000_000_000
"""Longest pause between two retransmissions, or probes of a closed window: Linux doubles the time between them up to
this (TCP_RTO_MAX); RFC 6298, 2.5 allows an upper limit from 60 seconds on."""
PROBED_NS = 7_200_000_000_000 + RETRANSMITTED_NS
"""Longest pause of a connection that is still in use at both ends, which Kafka's clients and brokers open with
SO_KEEPALIVE: the first keep-alive probe comes after two hours (RFC 9293, 3.8.4)."""


def with_given_up(waits: Waits, hosts: ServerHosts, end_ns: int) -> Waits:
    """Returns the waits, in which those end that were given up before the end of the capture, end_ns."""
    last_ns = np.maximum(hosts.connections["last_ns"].to_numpy()[waits.conn], waits.due_ns)
    is_tried_again = np.isin(waits.layer, (PACKETS, DELIVERY, WINDOW))
    until_ns = last_ns + np.where(is_tried_again, RETRANSMITTED_NS, PROBED_NS)
    is_over = (waits.ended_by == BY_NOTHING) & (until_ns < end_ns)
    return replace(
        waits,
        until_ns=np.where(is_over, until_ns, waits.until_ns),
        ended_by=np.where(is_over, BY_GIVING_UP, waits.ended_by),
    )
