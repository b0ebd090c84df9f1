"""Hosts whose attempts to connect were not answered, and that no server served meanwhile. The client of such an attempt
is not known, as it sent no request; so the capture shows no stall of it, although it waited."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.packets.connection_waits import Unreached
from kafkascope_spark.stories.servers.table import BrokerState


def give_connecting_hosts(
    failures: Iterable[Failure], ask: Callable[[Sequence[Unreached]], list[int]], stall_ms: int
) -> None:
    """Sets the hosts that waited for a connection, and the longest wait, of the failures for which the capture shows no
    stall. ask: returns how long hosts waited, in nanoseconds; stall_ms: waits that are shorter do not count."""
    of_failures = [(failure, row) for failure in failures if not _has_stalls(failure) for row in _silent(failure)]
    waits = ask([_unreached(row) for _, row in of_failures]) if of_failures else []
    for (failure, row), waited_ns in zip(of_failures, waits, strict=True):
        if waited_ns >= stall_ms * 1_000_000:
            failure.connecting_hosts |= {row.host}
            failure.waited_ms = max(failure.waited_ms, waited_ns // 1_000_000)


def _has_stalls(failure: Failure) -> bool:
    return bool(failure.stalls or failure.earlier_stalls)


def _silent(failure: Failure) -> Iterator[BrokerState]:
    return (row for row in failure.states if row.state == "silent" and row.host_kind == "client")


def _unreached(row: BrokerState) -> Unreached:
    return Unreached(row.host, row.server, row.shown_from_ns, row.shown_to_ns if row.to_ns is None else row.to_ns)
