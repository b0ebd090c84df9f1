"""Brokers that were slow because their processes had just started, where only the controller shows the restart: they
read their logs, catch up with their leaders and compile their code."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.servers.slow import WARM_UP_NS


def without_warm_ups(failures: Iterable[Failure]) -> list[Failure]:
    """Drops the slow processes of brokers that had restarted up to WARM_UP_NS before. failures: those of all brokers
    and paths, and restarts."""
    known = list(failures)
    restarts: dict[int | None, list[Failure]] = defaultdict(list)
    for failure in known:
        if failure.process.restart is not None:
            restarts[failure.node_id].append(failure)
    return [f for f in known if not (_is_slow_process(f) and any(_is_before(r, f) for r in restarts[f.node_id]))]


def _is_slow_process(failure: Failure) -> bool:
    return failure.kind is BROKER_SLOW and failure.is_slow_process and failure.node_id is not None


def _is_before(restart: Failure, slow: Failure) -> bool:
    """Whether the broker restarted shortly before it was slow."""
    since_ns = restart.start_ns if restart.end_ns is None else restart.end_ns
    return restart.start_ns <= slow.start_ns <= since_ns + WARM_UP_NS
