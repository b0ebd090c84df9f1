"""Slow brokers behind stalls that nothing else explains: most of their responses in that time were late. This finds
brokers that were slow from the begin of the capture, for which there is no usual time to compare with. Also clients
whose requests waited behind their own earlier ones."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.wording import client, listed
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.kinds.cluster_slow import CLUSTER_SLOW
from kafkascope_spark.stories.incidents.kinds.queued_requests import QUEUED_REQUESTS
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies, Latency
from kafkascope_spark.stories.stalls.apis import ANSWERED_AT_ONCE
from kafkascope_spark.stories.stalls.table import StallKind

_REQUESTS: Mapping[StallKind, str] = {
    "produce": "Produce",
    "commit": "OffsetCommit",
    "transaction": "requests of transactions",
    "metadata": "Metadata",
    "admin": "requests of administrators",
}
_AT_ONCE = frozenset().union(*ANSWERED_AT_ONCE.values(), (api_keys.HEARTBEAT,), api_keys.GROUP_HEARTBEATS)
"""Requests that a broker answers at once where it is well."""


def with_late_responses(
    failures: Iterable[Failure], ask: Callable[[Sequence[Asked]], list[Latencies]]
) -> Iterator[Failure]:
    """Yields the unexplained failures. If late responses explain their stalls, they become failures of the slow
    brokers: the other stalls of that time waited for records or replicas there. ask: returns how long responses
    took."""
    unexplained = list(failures)
    kinds = [frozenset().union(*(ANSWERED_AT_ONCE.get(stall.kind, ()) for stall in f.stalls)) for f in unexplained]
    asked = [Asked(f.start_ns, f.affected_to_ns, keys) for f, keys in zip(unexplained, kinds, strict=True)]
    found = [_of_slow_nodes(failure, late) for failure, late in zip(unexplained, ask(asked), strict=True)]
    _give_slow_services({f: a for f, a in zip(found, asked, strict=True) if f.kind is BROKER_SLOW}, ask)
    yield from found


def _give_slow_services(asked: Mapping[Failure, Asked], ask: Callable[[Sequence[Asked]], list[Latencies]]) -> None:
    """Tells of slow brokers what they answered late, where they answered other requests of the same times at once."""
    others = [Asked(each.from_ns, each.to_ns, _AT_ONCE.difference(each.api_keys)) for each in asked.values()]
    of_node: dict[int | None, Latency] = defaultdict(Latency)
    for failure, latencies in zip(asked, ask(others) if others else [], strict=True):
        of_node[failure.node_id].add(latencies.of_nodes({failure.node_id or 0}).total())
    for failure in asked:
        if of_node[failure.node_id].is_quick:
            failure.responses.slow_at = tuple(
                sorted({_REQUESTS[s.kind] for s in failure.stalls if s.kind in _REQUESTS})
            )
            failure.subject = f"{failure.subject} ({listed(failure.responses.slow_at)} alone)"


def _of_slow_nodes(failure: Failure, latencies: Latencies) -> Failure:
    slow = latencies.slow
    nodes = sorted({number for _, number in slow} - {number for _, number in latencies.quick})
    asked = (stall for stall in failure.stalls if stall.kind in ANSWERED_AT_ONCE)
    waited = {stall.node_id for stall in asked if (stall.client_ip, stall.node_id) in slow}
    if waited.isdisjoint(nodes):
        queued = _of_queues(failure, latencies)
        if queued is None:
            failure.responses.latencies = latencies.of_nodes({number for _, number in slow})
        return queued or failure
    subject = listed([f"node {number}" for number in nodes])
    found = Failure(BROKER_SLOW if len(nodes) == 1 else CLUSTER_SLOW, subject, failure.start_ns, failure.end_ns)
    found.stalls, found.responses.latencies = failure.stalls, latencies.of_nodes(nodes)
    if len(nodes) == 1:
        found.node_id = nodes[0]
        found.confidence = (
            "possible" if len(found.responses.latencies.of_pairs) == len(latencies.of_pairs) else "likely"
        )
    return found


def _of_queues(failure: Failure, latencies: Latencies) -> Failure | None:
    """Returns the failure of the clients whose requests waited behind their own earlier ones; None if not all stalls of
    clients that waited for responses are explained by that."""
    asked = [stall for stall in failure.stalls if stall.kind in ANSWERED_AT_ONCE]
    pairs = {(stall.client_ip, stall.node_id) for stall in asked}
    if not asked or not pairs <= latencies.queued.keys():
        return None
    subject = listed(sorted({client(stall.client_id, stall.client_ip) for stall in asked}))
    found = Failure(QUEUED_REQUESTS, subject, failure.start_ns, failure.end_ns)
    found.stalls = failure.stalls
    found.responses.latencies = Latencies({pair: each for pair, each in latencies.queued.items() if pair in pairs})
    return found
