"""Clients that were paused, or whose settings do not fit a listener."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.session_timeouts import (
    BROKER_SESSIONS,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.incidents.misconfigured_texts import misuse_sentence, what_fits
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    if failure.misuse is None:
        return _paused_since(failure, times)
    return f"{misuse_sentence(failure.misuse)} {times.of(failure)}"


def _paused_since(failure: Failure, times: Times) -> str:
    several = len(failure.silences) > 1
    n = sum(silence.n_connections for silence in failure.silences)
    heartbeat = duration(max(silence.heartbeat_ms for silence in failure.silences) * 1_000_000)
    return (
        f"Client{'s' if several else ''} {failure.subject} {'were' if several else 'was'} paused {times.of(failure)}: "
        f"no request came on any of {'their' if several else 'its'} connections ({n}), although heartbeats were due "
        f"every {heartbeat}, and the host's kernel acknowledged what brokers sent{_removed(failure)}"
    )


def _removed(failure: Failure) -> str:
    """The groups that went on without the clients that were paused."""
    groups = sorted({rebalance.group_id for rebalance in failure.rebalances})
    return f"; {counted(len(groups), 'group')} removed a member for it: {listed(groups)}" if groups else ""


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    return _what_stops_clients(failure, observed) if failure.misuse is None else what_fits(failure.misuse, observed)


def _what_stops_clients(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"Look at the process and the host of {failure.subject} for that time: a long garbage collection (Java: "
        "-Xlog:gc*), a stopped process, container or virtual machine (SIGSTOP, a debugger, a snapshot), a CPU limit "
        "(cpu.stat: nr_throttled), swapping; in a client with one event loop, a handler that does not return."
    )
    if not failure.rebalances:
        return
    silent_ms = max(((s.to_ns or s.from_ns) - s.from_ns) // 1_000_000 for s in failure.silences)
    groups: dict[str | None, set[str]] = defaultdict(set)
    for silence in failure.silences:
        client = observed.client(silence.client_instance_id)
        protocol = None if client is None else client.group_protocol
        groups[protocol if protocol in BROKER_SESSIONS else None].update(silence.groups)
    for protocol in sorted(groups, key=str):
        if protocol is None:
            yield clients(session_of_client(observed, silent_ms, ran_on=True))
        else:
            settings = session_of_broker(groups[protocol], observed, silent_ms, protocol=protocol, ran_on=True)
            yield from map(brokers, settings)


CLIENT = Kind(
    "client",
    "client at fault",
    sentence=_sentence,
    advice=_advice,
    known="packets of the client's connections around its silence: none of its process, some of its host's kernel",
    place="client",
    of_clients=True,
)
