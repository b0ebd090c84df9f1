"""Controlled shutdowns: a broker hands over what it leads and coordinates before it closes its connections.

The broker requests the shutdown in its heartbeats; the controller moves its leaders first, and allows the shutdown in
the response to one of the next heartbeats. If the capture has no heartbeats of the broker (the active controller sends
itself none over the network), the shutdown begins with the first request that the broker refuses because it no longer
leads or coordinates the resource. A broker that takes over a leader or coordinator during that time does not shut down:
that is an election.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kafkascope_parsers.error_facts import LED_ELSEWHERE
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.packets.broker_processes import Heartbeats
from kafkascope_spark.stories.recoveries.table import Recovery

HANDOVER_NS = 5 * SECOND
"""Longest time between two refusals, or between the last one and the end of the connections: the controller allows the
shutdown at the second heartbeat at the latest (broker.heartbeat.interval.ms: 2 s), and then the process stops."""
_HANDED_OVER = frozenset({"partition", "group", "transaction", "coordinator"})
"""Resource kinds of recoveries that a broker leads or coordinates."""


def mark_controlled_shutdowns(
    failures: Iterable[Failure], recoveries: Iterable[Recovery], heartbeats: Mapping[int, Heartbeats]
) -> None:
    """Moves the start of each failure that was a controlled shutdown to the heartbeat that first requested it, or to
    the first request that the broker refused for a resource that it had handed over. failures: those of brokers, in
    order of time; heartbeats: by node id."""
    refused: dict[int, list[int]] = defaultdict(list)
    taken: dict[int, list[int]] = defaultdict(list)
    for row in recoveries:
        if row.resource_kind not in _HANDED_OVER:
            continue
        if row.first_error_name in LED_ELSEWHERE and row.old_node_id is not None:
            refused[row.old_node_id].append(row.start_ns)
        if row.new_node_id is not None and row.recovered_ns is not None:
            taken[row.new_node_id].append(row.recovered_ns)
    for times in (*refused.values(), *taken.values()):
        times.sort()
    for failure in failures:
        if not failure.kind.restarts or failure.node_id is None:
            continue
        beats = heartbeats.get(failure.node_id)
        if beats is not None and (beats.before(failure.start_ns) or 0) > failure.start_ns - HANDOVER_NS:
            begin = beats.asked_before(failure.start_ns)
        else:
            served = taken[failure.node_id]
            n_served = bisect_left(served, failure.start_ns)
            since = served[n_served - 1] if n_served else 0
            begin = _first_of_row(refused[failure.node_id], since, failure.start_ns)
        if begin is not None and begin < failure.start_ns:
            failure.closed_ns, failure.start_ns = failure.start_ns, begin


def _first_of_row(times: Sequence[int], since_ns: int, closed_ns: int) -> int:
    """Returns the first refusal after since_ns from which refusals follow each other without a long pause until
    closed_ns, the end of the connections; closed_ns if there is none."""
    begin = closed_ns
    for place in range(bisect_left(times, closed_ns) - 1, -1, -1):
        if times[place] <= since_ns or begin - times[place] > HANDOVER_NS:
            break
        begin = times[place]
    return begin
