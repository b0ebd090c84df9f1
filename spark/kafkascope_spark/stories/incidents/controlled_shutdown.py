"""Brokers that shut down in order: a broker hands over what it leads and coordinates before it closes its connections.

It asks the controller in its heartbeats to let it go (controlled shutdown: the controller moves its leaders first, and
lets it go at one of its next heartbeats). Where the capture does not show these (the active controller sends itself
none over the network), from the first request that it refuses because it led or coordinated that before: clients are
not served because it shuts down. A broker that takes over a leader or coordinator meanwhile does not shut down: then it
is an election.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kafkascope_parsers.error_facts import LED_ELSEWHERE
from kafkascope_spark.stories.incidents.broker_processes import Heartbeats
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.recoveries.table import Recovery

HANDOVER_NS = 5 * SECOND
"""Longest time between two refusals, or the last one and the end of the connections: the controller lets the broker go
at its second heartbeat at the latest (broker.heartbeat.interval.ms: 2 s), and then its process stops."""
_HANDED_OVER = frozenset({"partition", "group", "transaction", "coordinator"})
"""Resources of recoveries that a broker leads or coordinates."""


def mark_controlled_shutdowns(
    failures: Iterable[Failure], recoveries: Iterable[Recovery], heartbeats: Mapping[int, Heartbeats]
) -> None:
    """Lets the failure of each broker that shut down in order begin when it asked to be let go, or first refused what
    it had handed over. failures: those of brokers, in order of time; heartbeats: of each node."""
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
    """The first of the refusals after a time that lead up to the end of the connections without a long pause; that end
    for none."""
    begin = closed_ns
    for place in range(bisect_left(times, closed_ns) - 1, -1, -1):
        if times[place] <= since_ns or begin - times[place] > HANDOVER_NS:
            break
        begin = times[place]
    return begin
