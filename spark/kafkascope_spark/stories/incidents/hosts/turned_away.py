"""Hosts whose connections brokers accepted and closed at once (state turned_away)."""

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.connection_limit import CONNECTION_LIMIT
from kafkascope_spark.stories.servers.table import BrokerState


def turned_away_hosts(states: Iterable[BrokerState], known: Iterable[Failure]) -> list[Failure]:
    """Returns the failures in order of time; overlapping states of any brokers and hosts are one failure, and so are
    those of a host that no broker let in between. known: failures of clients whose protocol does not fit a listener:
    their connections are closed for that reason."""
    rows = list(states)
    misused: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in known:
        for use in failure.misuse.uses if failure.misuse is not None else ():
            misused[use.client_ip, use.server].append(failure)
    away = [row for row in rows if row.state == "turned_away" and row.host_kind == "client"]
    failures: list[Failure] = []
    until_ns = 0
    for row in sorted(away, key=attrgetter("from_ns", "server", "host")):
        if any(failure.overlap_ns(row.from_ns, row.to_ns) >= 0 for failure in misused[row.host, row.server]):
            continue
        if not failures or (row.from_ns > until_ns and not _was_kept_out(row, failures[-1])):
            failures.append(Failure(CONNECTION_LIMIT, "", row.from_ns, row.to_ns))
            until_ns = 0
        failures[-1].states.append(row)
        until_ns = max(until_ns, row.until_ns)
    served = {(row.host, row.server) for row in rows if _has_served(row)}
    for failure in failures:
        _complete(failure)
        failure.is_never_let_in = served.isdisjoint((row.host, row.server) for row in failure.states)
    return failures


def _was_kept_out(row: BrokerState, failure: Failure) -> bool:
    """Whether the host of the state was turned away in the failure, and none of these states ended with a connection
    of the host that was served: it only did not try for a while."""
    before = [state for state in failure.states if state.host == row.host]
    return bool(before) and not any(_has_let_in(state) for state in before)


def _has_let_in(row: BrokerState) -> bool:
    """Whether the state ended with a connection that was served."""
    return row.after_ns is not None and row.after_ns > row.shown_to_ns


def _has_served(row: BrokerState) -> bool:
    """Whether the broker served the host for a while: a connection that it accepts is open for a moment before it is
    closed."""
    return row.state == "serving" and row.until_ns - row.from_ns >= SECOND


def _complete(failure: Failure) -> None:
    ends = [row.until_ns for row in failure.states]
    failure.end_ns = None if max(ends) == FOREVER else max(ends)
    failure.hosts = frozenset(row.host for row in failure.states)
    failure.servers = frozenset(row.server for row in failure.states)
    failure.subject = listed(sorted(failure.hosts))
    failure.fault = _fault(failure)
    longest = max(failure.states, key=lambda row: row.shown_to_ns - row.shown_from_ns)
    failure.waited_ms = (longest.shown_to_ns - longest.shown_from_ns) // 1_000_000


def _fault(failure: Failure) -> Fault:
    """Returns the fault. It ended between the last connection that was closed and the first that was served, at any
    broker and host."""
    first_ns = min(row.shown_from_ns for row in failure.states)
    last_ns = max(row.shown_to_ns for row in failure.states)
    served = (row.after_ns for row in failure.states if row.after_ns is not None and row.after_ns > last_ns)
    return Fault(
        max(row.before_ns for row in failure.states if row.before_ns <= first_ns),
        first_ns,
        last_ns,
        min(served, default=None),
    )
