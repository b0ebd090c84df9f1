"""Hosts and brokers whose own link lost packets. What is lost between one host and all its brokers at one time is lost
at that host; what is lost between one broker and all hosts that talk to it is lost at that broker."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import takewhile
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.broker_failures import without_mirrored
from kafkascope_spark.stories.incidents.client_hosts import LEAST_BROKERS, brokers_of_hosts, without_host
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.broker_lossy import BROKER_LOSSY
from kafkascope_spark.stories.incidents.kinds.host_lossy import HOST_LOSSY
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.servers.table import BrokerState

_APART_NS = 5 * SECOND
"""What a link loses with longer pauses is not of one time."""
_LEAST_HOSTS = 2
"""With one host only, the path from it looks the same."""


def with_lossy_links(failures: Iterable[Failure], states: Iterable[BrokerState]) -> list[Failure]:
    """The failures of brokers and paths, of which the lossy paths of one host to all its brokers, and those of one
    broker to all its hosts, are one failure of that host or broker. states: rows of broker_states."""
    known = list(states)
    left = dict.fromkeys(failures)
    of_hosts: list[Failure] = []
    brokers = brokers_of_hosts(known)
    for host, of_host in sorted(_paths_of_hosts(left).items()):
        for rows in _near(row for failure in of_host for row in failure.states if row.host == host):
            if _has_all(rows, brokers[host]):
                _add(of_hosts, host, rows)
                for failure in of_host:
                    if failure in left and not without_host(failure, host, rows):
                        del left[failure]
    for failure in left:
        if failure.kind is PATH and failure.is_lossy and _meets_all_hosts(failure, known):
            failure.kind, failure.hosts = BROKER_LOSSY, frozenset()
    lossy = [failure for failure in left if failure.is_lossy]
    found = [*(failure for failure in left if not failure.is_lossy), *without_mirrored(lossy), *of_hosts]
    return sorted(found, key=lambda failure: (failure.start_ns, failure.subject))


def _paths_of_hosts(failures: Iterable[Failure]) -> dict[str, list[Failure]]:
    """The failed paths of each host with clients."""
    found: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        if failure.kind is PATH:
            for host in {row.host for row in failure.states if row.host_kind == "client"}:
                found[host].append(failure)
    return found


def _near(rows: Iterable[BrokerState]) -> Iterator[list[BrokerState]]:
    """States without a long pause between them, in groups."""
    group: list[BrokerState] = []
    until = 0
    for row in sorted(rows, key=attrgetter("from_ns", "server")):
        if group and row.from_ns > until + _APART_NS:
            yield group
            group, until = [], 0
        group.append(row)
        until = max(until, row.until_ns)
    if group:
        yield group


def _has_all(rows: list[BrokerState], brokers: set[str]) -> bool:
    """Whether packets were lost, and no broker of the host is without a bad state meanwhile. Where nothing arrives for
    a moment, the path looks cut."""
    bad = {row.broker_key for row in rows}
    return len(bad) >= LEAST_BROKERS and bad >= brokers and any(row.state == "lossy" for row in rows)


def _add(failures: list[Failure], host: str, rows: list[BrokerState]) -> None:
    """Adds what a host lost to the failure of other hosts at that time, or as one of its own."""
    start_ns, until_ns = min(row.from_ns for row in rows), max(row.until_ns for row in rows)
    end_ns = None if until_ns == FOREVER else until_ns
    since = takewhile(lambda failure: failure.affected_to_ns > start_ns, reversed(failures))
    together = next((failure for failure in since if failure.start_ns < until_ns), None)
    if together is None:
        together = Failure(HOST_LOSSY, host, start_ns, end_ns)
        failures.append(together)
    together.start_ns = min(together.start_ns, start_ns)
    together.end_ns = None if together.end_ns is None or end_ns is None else max(together.end_ns, end_ns)
    together.states += rows
    together.hosts |= {host}
    together.subject = listed(sorted(together.hosts))
    together.servers |= {row.server for row in rows}


def _meets_all_hosts(failure: Failure, states: Iterable[BrokerState]) -> bool:
    """Whether all hosts with clients that talked to the broker meanwhile lost packets."""
    mine = {row.host for row in failure.states if row.host_kind == "client"}
    keys = {row.broker_key for row in failure.states}
    met = (row for row in states if row.broker_key in keys and row.host_kind == "client" and row.state != "unknown")
    return len(mine) >= _LEAST_HOSTS and mine >= {r.host for r in met if failure.overlap_ns(r.from_ns, r.to_ns) > 0}
