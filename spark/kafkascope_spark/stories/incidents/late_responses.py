"""Stalls that nothing else explains, while most responses were late: which brokers were slow, and to whom. There is
nothing to compare them with where it was so from the begin of the capture on."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.kinds.cluster_slow import CLUSTER_SLOW
from kafkascope_spark.stories.incidents.latencies import Asked, Latencies
from kafkascope_spark.stories.stalls.table import Stall, StallKind

_ASKED: dict[StallKind, frozenset[int]] = {
    "produce": frozenset({api_keys.PRODUCE}),
    "commit": frozenset({api_keys.OFFSET_COMMIT, api_keys.TXN_OFFSET_COMMIT}),
    "transaction": frozenset({api_keys.ADD_PARTITIONS_TO_TXN, api_keys.END_TXN, api_keys.INIT_PRODUCER_ID}),
    "metadata": frozenset({api_keys.METADATA, api_keys.FIND_COORDINATOR}),
}
"""The requests whose responses end a stall. Fetch and JoinGroup wait at the broker on purpose."""


def with_late_responses(
    failures: Iterable[Failure], ask: Callable[[Sequence[Asked]], list[Latencies]]
) -> Iterator[Failure]:
    """Unexplained failures, without the stalls that late responses explain; and the failures of the brokers that were
    slow. ask: how long responses took."""
    listed_failures = list(failures)
    kinds = [frozenset().union(*(_ASKED.get(stall.kind, ()) for stall in f.stalls)) for f in listed_failures]
    asked = [Asked(f.start_ns, f.affected_to_ns, keys) for f, keys in zip(listed_failures, kinds, strict=True)]
    for failure, latencies in zip(listed_failures, ask(asked), strict=True):
        yield from _divided(failure, latencies)


def _divided(failure: Failure, latencies: Latencies) -> Iterator[Failure]:
    nodes = _slow_nodes(latencies)
    late = [stall for stall in failure.stalls if _waited_for(stall, nodes, latencies)]
    left = [stall for stall in failure.stalls if stall not in late]
    if not any(stall.kind in _ASKED for stall in late):
        failure.latencies = latencies.of_nodes({number for _, number in latencies.slow})
        yield failure
        return
    yield _slow(sorted(nodes), late, latencies)
    if left:
        yield _of_stalls(failure, left)


def _slow_nodes(latencies: Latencies) -> set[int]:
    """The nodes that were slow to somebody, and quick to nobody: else it is not they."""
    quick = {number for _, number in latencies.quick}
    return {number for _, number in latencies.slow} - quick


def _waited_for(stall: Stall, nodes: set[int], latencies: Latencies) -> bool:
    """Whether a stall waited for one of the nodes: for its late responses, or for records there."""
    if stall.node_id not in nodes:
        return False
    return stall.kind == "consume" or (stall.client_ip or "", stall.node_id) in latencies.slow


def _slow(nodes: list[int], stalls: list[Stall], latencies: Latencies) -> Failure:
    subject = listed([f"node {number}" for number in nodes])
    start_ns = min(stall.from_ns for stall in stalls)
    failure = Failure(BROKER_SLOW if len(nodes) == 1 else CLUSTER_SLOW, subject, start_ns, None)
    failure.node_id = nodes[0] if len(nodes) == 1 else None
    failure.latencies = latencies.of_nodes(nodes)
    failure.confidence = "possible" if len(failure.latencies.of_pairs) == len(latencies.of_pairs) else "likely"
    return _of_stalls(failure, stalls)


def _of_stalls(failure: Failure, stalls: list[Stall]) -> Failure:
    """The failure with these stalls alone, and their times."""
    failure.stalls = stalls
    failure.start_ns = min(stall.from_ns for stall in stalls)
    ends = [FOREVER if stall.to_ns is None else stall.to_ns for stall in stalls]
    failure.end_ns = None if max(ends) == FOREVER else max(ends)
    return failure
