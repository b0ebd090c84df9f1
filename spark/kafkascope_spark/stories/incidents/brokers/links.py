"""Hosts and brokers whose own link lost or delayed packets. If all paths of one host to its brokers are bad at the same
time, the link of that host is bad; if the paths of one broker to all its hosts are, the link of that broker is."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.brokers.broker_failures import without_mirrored
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind
from kafkascope_spark.stories.incidents.hosts.client_hosts import LEAST_BROKERS, brokers_of_hosts, without_host
from kafkascope_spark.stories.incidents.kinds.broker_delayed import BROKER_DELAYED
from kafkascope_spark.stories.incidents.kinds.broker_lossy import BROKER_LOSSY
from kafkascope_spark.stories.incidents.kinds.dead_flow import DEAD_FLOW
from kafkascope_spark.stories.incidents.kinds.host_delayed import HOST_DELAYED
from kafkascope_spark.stories.incidents.kinds.host_lossy import HOST_LOSSY
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.incidents.kinds.path_delayed import PATH_DELAYED
from kafkascope_spark.stories.incidents.packets.latencies import FEW, Asked, Latencies
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.apis import ANSWERED_AT_ONCE

_APART_NS = 5 * SECOND
"""Bad states of a host's paths that are further apart than this are separate failures."""
_AT_ONCE = frozenset().union(*ANSWERED_AT_ONCE.values())
_LEAST_HOSTS = 2
"""Fewest hosts that prove a bad link of a broker: with one host, a bad path looks the same."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A bad state of links, with the kinds of incident for a path, for a host's link and for a broker's link."""

    state: str
    path: Kind
    host: Kind
    broker: Kind


_LINKS = (
    _Link("delayed", PATH_DELAYED, HOST_DELAYED, BROKER_DELAYED),
    _Link("lossy", PATH, HOST_LOSSY, BROKER_LOSSY),
)


def with_links(
    failures: Iterable[Failure], states: Iterable[BrokerState], ask: Callable[[Sequence[Asked]], list[Latencies]]
) -> list[Failure]:
    """Returns the failures, where lossy or slow paths of one host to all its brokers, or of one broker to all its
    hosts, are joined to one failure of that host or broker. failures: those of brokers and paths; states: rows of
    broker_states; ask: returns how long responses took."""
    found, known = list(failures), list(states)
    brokers = brokers_of_hosts(known)
    for link in _LINKS:
        found = _with_link(link, found, known, brokers)
    slow = [failure for failure in found if failure.kind is PATH_DELAYED]
    delayed = [failure for failure in slow if _are_several(failure, slow)]
    asked = [Asked(failure.start_ns, failure.affected_to_ns, _AT_ONCE) for failure in delayed]
    for failure, latencies in zip(delayed, ask(asked) if asked else [], strict=True):
        if not _serves_others_soon(failure, latencies):
            failure.kind, failure.hosts = BROKER_DELAYED, frozenset()
    found = _without_links_of(found)
    return sorted(found, key=lambda failure: (failure.start_ns, failure.subject))


def _with_link(
    link: _Link, failures: list[Failure], states: list[BrokerState], brokers: dict[str, set[str]]
) -> list[Failure]:
    left = dict.fromkeys(failures)
    of_hosts: list[Failure] = []
    for host, of_host in sorted(_paths_of_hosts(link, left).items()):
        for rows in _near(row for failure in of_host for row in failure.states if row.host == host):
            if _has_all(link, rows, brokers[host]):
                _add(of_hosts, Failure(link.host, host, *_times(rows)), host, rows)
                for failure in of_host:
                    if failure in left and not without_host(failure, host, rows):
                        del left[failure]
    mine = dict.fromkeys(failure for failure in left if any(row.state == link.state for row in failure.states))
    for failure in mine:
        if failure.kind is link.path and _meets_all_hosts(failure, states):
            failure.kind, failure.hosts = link.broker, frozenset()
    return [*(failure for failure in left if failure not in mine), *without_mirrored(mine), *of_hosts]


def _are_several(failure: Failure, slow: Iterable[Failure]) -> bool:
    """Whether the paths of one broker to several hosts were slow, one of which has clients. Brokers and controllers to
    which the broker itself was a slow host count, too. slow: all failures of slow paths."""
    kinds = {row.host: row.host_kind for row in failure.states}
    addresses = {row.server_ip for row in failure.states}
    as_host = (each for each in slow if failure.overlap_ns(each.start_ns, each.end_ns) > 0)
    reached = {row.server_ip for each in as_host for row in each.states if row.host in addresses}
    return len(kinds.keys() | reached) >= _LEAST_HOSTS and "client" in kinds.values()


def _serves_others_soon(failure: Failure, latencies: Latencies) -> bool:
    """Whether the broker of slow paths responded to another host in less than half of the time by which packets were
    late."""
    late_ns = max(row.late_ms or 0 for row in failure.states) * 1_000_000
    hosts = {row.host for row in failure.states}
    others = (each for pair, each in latencies.of_pairs.items() if pair[1] == failure.node_id and pair[0] not in hosts)
    return any(each.n >= FEW and 2 * each.longest_ns < late_ns for each in others)


def _without_links_of(failures: list[Failure]) -> list[Failure]:
    """Drops failed paths to or from brokers whose packets were all delayed at that time: while a packet takes a second
    or more, the path looks cut."""
    slow = [failure for failure in failures if failure.kind is BROKER_DELAYED]
    left = []
    for failure in failures:
        is_path = failure.kind.of_path or failure.kind.between_brokers
        ofs = (each for each in slow if is_path and _is_link_of(each, failure))
        original = next(ofs, None)
        if original is None:
            left.append(failure)
        else:
            original.states += failure.states
            original.start_ns = min(original.start_ns, failure.start_ns)
            ends = [original.end_ns, failure.end_ns]
            original.end_ns = None if None in ends else max(end for end in ends if end is not None)
            original.affected_until_ns = original.end_ns
    return left


def _is_link_of(slow: Failure, failure: Failure) -> bool:
    """Whether all states of a failure concern one broker, at a time at which its packets were delayed."""
    addresses = {row.server_ip for row in slow.states if row.state == "delayed"}
    is_its = all(row.server_ip in addresses or row.host in addresses for row in failure.states)
    return is_its and slow.overlap_ns(failure.start_ns, failure.end_ns) > 0


def _paths_of_hosts(link: _Link, failures: Iterable[Failure]) -> dict[str, list[Failure]]:
    """Returns the failed paths of each host with clients, by host; and its dead connections: a connection looks dead
    if every attempt of TCP is lost, while another gets through."""
    found: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        if failure.kind in (link.path, DEAD_FLOW):
            for host in {row.host for row in failure.states if row.host_kind == "client"}:
                found[host].append(failure)
    return found


def _near(rows: Iterable[BrokerState]) -> Iterator[list[BrokerState]]:
    """Yields groups of states without a long pause between them."""
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


def _has_all(link: _Link, rows: list[BrokerState], brokers: set[str]) -> bool:
    """Whether one path of the host is in the state of the link, and the paths to all its brokers are bad. Other bad
    states count, too: a lossy path on which nothing arrives for a moment looks cut."""
    bad = {row.broker_key for row in rows}
    return len(bad) >= LEAST_BROKERS and bad >= brokers and any(row.state == link.state for row in rows)


def _times(rows: list[BrokerState]) -> tuple[int, int | None]:
    """Returns when the first of the states began and when the last ended; None as end if one did not end."""
    until_ns = max(row.until_ns for row in rows)
    return min(row.from_ns for row in rows), None if until_ns == FOREVER else until_ns


def _add(failures: list[Failure], found: Failure, host: str, rows: list[BrokerState]) -> None:
    """Adds the states of a host to the failure of other hosts of that time, or adds a new failure."""
    since = takewhile(lambda failure: failure.affected_to_ns > found.start_ns, reversed(failures))
    together = next((failure for failure in since if failure.start_ns < found.affected_to_ns), None)
    if together is None:
        together = found
        failures.append(together)
    together.start_ns = min(together.start_ns, found.start_ns)
    is_open = together.end_ns is None or found.end_ns is None
    together.end_ns = None if is_open else max(together.end_ns or 0, found.end_ns or 0)
    together.states += rows
    together.hosts |= {host}
    together.subject = listed(sorted(together.hosts))
    together.servers |= {row.server for row in rows}


def _meets_all_hosts(failure: Failure, states: Iterable[BrokerState]) -> bool:
    """Whether all hosts with clients that talked to the broker during the failure show it."""
    mine = {row.host for row in failure.states if row.host_kind == "client"}
    keys = {row.broker_key for row in failure.states}
    met = (row for row in states if row.broker_key in keys and row.host_kind == "client" and row.state != "unknown")
    return len(mine) >= _LEAST_HOSTS and mine >= {r.host for r in met if failure.overlap_ns(r.from_ns, r.to_ns) > 0}
