"""Brokers that were slow because their processes had just started: they read their logs, catch up with their leaders
and compile their code. States of a server know only of its own port; a broker that stopped may have been noticed at
another port, or only by the controller."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.servers.slow import WARM_UP_NS


def without_warm_ups(failures: Iterable[Failure]) -> list[Failure]:
    """Drops the slow processes of brokers that had been away up to WARM_UP_NS before: that belongs to the failure, or
    restart, in which they were away. failures: those of all brokers and paths, and restarts."""
    known = list(failures)
    away: dict[str, list[Failure]] = defaultdict(list)
    for failure in known:
        if failure.is_of_broker and failure.kind.cuts_clients:
            for address in _addresses(failure):
                away[address].append(failure)
    times = {
        address: Stretches((f.start_ns, FOREVER if f.end_ns is None else f.end_ns + WARM_UP_NS, f) for f in of_address)
        for address, of_address in away.items()
    }
    return [f for f in known if not (f.kind is BROKER_SLOW and f.is_slow_process and _was_away(f, times))]


def _was_away(slow: Failure, away: dict[str, Stretches[Failure]]) -> bool:
    """Whether the same broker was away shortly before it was slow. Brokers at one address differ by their ids."""
    known = (times for address in _addresses(slow) if (times := away.get(address)) is not None)
    before = (failure for times in known for failure in times.meeting(slow.start_ns, slow.start_ns))
    return any(None in (failure.node_id, slow.node_id) or failure.node_id == slow.node_id for failure in before)


def _addresses(failure: Failure) -> set[str]:
    of_restart = set() if failure.restart is None else {failure.restart.address}
    return of_restart | {row.server_ip for row in failure.states if row.node_id == failure.node_id}
