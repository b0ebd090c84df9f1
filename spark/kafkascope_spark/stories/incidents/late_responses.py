"""Slow brokers behind stalls that nothing else explains: most of their responses in that time were late. This finds
brokers that were slow from the begin of the capture, for which there is no usual time to compare with."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.kinds.cluster_slow import CLUSTER_SLOW
from kafkascope_spark.stories.incidents.latencies import Asked, Latencies
from kafkascope_spark.stories.stalls.apis import ANSWERED_AT_ONCE


def with_late_responses(
    failures: Iterable[Failure], ask: Callable[[Sequence[Asked]], list[Latencies]]
) -> Iterator[Failure]:
    """Yields the unexplained failures. If late responses explain their stalls, they become failures of the slow
    brokers: the other stalls of that time waited for records or replicas there. ask: returns how long responses
    took."""
    unexplained = list(failures)
    kinds = [frozenset().union(*(ANSWERED_AT_ONCE.get(stall.kind, ()) for stall in f.stalls)) for f in unexplained]
    asked = [Asked(f.start_ns, f.affected_to_ns, keys) for f, keys in zip(unexplained, kinds, strict=True)]
    for failure, latencies in zip(unexplained, ask(asked), strict=True):
        yield _of_slow_nodes(failure, latencies)


def _of_slow_nodes(failure: Failure, latencies: Latencies) -> Failure:
    slow = latencies.slow
    nodes = sorted({number for _, number in slow} - {number for _, number in latencies.quick})
    asked = (stall for stall in failure.stalls if stall.kind in ANSWERED_AT_ONCE)
    waited = {stall.node_id for stall in asked if (stall.client_ip, stall.node_id) in slow}
    if waited.isdisjoint(nodes):
        failure.latencies = latencies.of_nodes({number for _, number in slow})
        return failure
    subject = listed([f"node {number}" for number in nodes])
    found = Failure(BROKER_SLOW if len(nodes) == 1 else CLUSTER_SLOW, subject, failure.start_ns, failure.end_ns)
    found.stalls, found.latencies = failure.stalls, latencies.of_nodes(nodes)
    if len(nodes) == 1:
        found.node_id = nodes[0]
        found.confidence = "possible" if len(found.latencies.of_pairs) == len(latencies.of_pairs) else "likely"
    return found
