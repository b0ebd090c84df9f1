"""Hosts with clients that nobody reached. Either they sent nothing to anybody, and acknowledged nothing, while servers
sent again and again (state host_silent); or no broker that they talk to reached them or was reached by them at one
time, where others were served: what failed of one host at all brokers failed at that host."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, takewhile
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.client_host import CLIENT_HOST
from kafkascope_spark.stories.servers.table import BrokerState

SAME_NS = SECOND
"""Hosts that fell silent, and came back, within so much of each other failed together."""

_CUT = frozenset({"silent", "refusing", "down"})
"""States in which nothing goes between a host and a broker."""
LEAST_BROKERS = 2
"""With one broker only, its path looks the same."""


def unreachable_hosts(states: Iterable[BrokerState]) -> list[Failure]:
    """The failures, in order of time. Brokers and controllers that are silent to everybody are told as such."""
    known = list(states)
    silent = [row for row in known if row.state == "host_silent" and row.host_kind == "client"]
    silences = sorted(_silences(silent), key=lambda rows: (rows[0].from_ns, rows[0].host))
    failures: list[Failure] = []
    for rows in silences:
        together = next((f for f in _begun_since(failures, rows[0].from_ns - SAME_NS) if _is_together(f, rows)), None)
        if together is None:
            together = Failure(CLIENT_HOST, "", rows[0].from_ns, rows[0].to_ns)
            failures.append(together)
        together.states += rows
        together.hosts |= {rows[0].host}
        together.subject = listed(sorted(together.hosts))
    used = _servers_of_hosts(known, {host for failure in failures for host in failure.hosts})
    for failure in failures:
        failure.servers = frozenset(server for host in failure.hosts for server in used[host])
    return failures


def _servers_of_hosts(states: Iterable[BrokerState], hosts: Collection[str]) -> dict[str, set[str]]:
    """All servers that some hosts talked to, by host."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in states:
        if row.host in hosts:
            found[row.host].add(row.server)
    return found


def with_cut_hosts(failures: Iterable[Failure], states: Iterable[BrokerState]) -> list[Failure]:
    """The failures of brokers and paths, of which those that one host has at all its brokers at one time are a failure
    of that host. states: rows of broker_states."""
    brokers = brokers_of_hosts(states)
    left = dict.fromkeys(failures)
    by_host: dict[str, list[Failure]] = defaultdict(list)
    for failure in left:
        for host in _hosts_of(failure):
            by_host[host].append(failure)
    of_hosts: list[Failure] = []
    for host, of_host in sorted(by_host.items()):
        for group in _at_one_time(failure for failure in of_host if failure in left and _is_cut(failure, host)):
            cut = {row.broker_key for failure in group for row in failure.states if row.host == host}
            if len(cut) >= LEAST_BROKERS and cut >= brokers[host]:
                of_hosts.append(_of_host(host, group))
                for failure in group:
                    if not without_host(failure, host, failure.states):
                        del left[failure]
    return sorted([*left, *of_hosts], key=lambda failure: (failure.start_ns, failure.subject))


def _hosts_of(failure: Failure) -> set[str]:
    return {row.host for row in failure.states if row.host_kind == "client"}


def brokers_of_hosts(states: Iterable[BrokerState]) -> dict[str, set[str]]:
    """The brokers that served each host at some time."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in states:
        if row.state == "serving":
            found[row.host].add(row.broker_key)
    return found


def _is_cut(failure: Failure, host: str) -> bool:
    """Whether nothing went between the host and a broker, while others were served, or nobody else asked."""
    mine = [row for row in failure.states if row.host == host]
    return (
        bool(mine) and (failure.kind.of_path or _hosts_of(failure) == {host}) and _CUT.issuperset(r.state for r in mine)
    )


def _at_one_time(failures: Iterable[Failure]) -> Iterator[list[Failure]]:
    """Failures that all have time in common, in groups."""
    group: list[Failure] = []
    for failure in sorted(failures, key=lambda f: f.start_ns):
        until = min((FOREVER if f.end_ns is None else f.end_ns for f in group), default=FOREVER)
        if group and failure.start_ns >= until:
            yield group
            group = []
        group.append(failure)
    if group:
        yield group


def _of_host(host: str, group: Collection[Failure]) -> Failure:
    """The failure of a host, from the first broker that was cut to the first that was reached."""
    rows = [row for failure in group for row in failure.states if row.host == host]
    first_served, last_served = min(row.until_ns for row in rows), max(row.until_ns for row in rows)
    return Failure(
        CLIENT_HOST,
        host,
        min(row.from_ns for row in rows),
        None if first_served == FOREVER else first_served,
        None if last_served == FOREVER else last_served,
        hosts=frozenset({host}),
        states=rows,
    )


def without_host(failure: Failure, host: str, rows: Collection[BrokerState]) -> bool:
    """Takes what a host shows from a failure, as far as it is among these rows; whether something is left that shows
    it."""
    taken = {id(row) for row in rows if row.host == host}
    failure.states = [row for row in failure.states if id(row) not in taken]
    if all(row.host != host for row in failure.states):
        failure.hosts -= {host}
    return bool(failure.states)


def _silences(rows: list[BrokerState]) -> Iterator[list[BrokerState]]:
    """The states of each silence of a host: as it says the same to all servers, they have its begin in common."""
    ordered = sorted(rows, key=attrgetter("host", "from_ns", "server"))
    for _, silence in groupby(ordered, key=attrgetter("host", "from_ns")):
        yield list(silence)


def _begun_since(failures: list[Failure], since_ns: int) -> Iterator[Failure]:
    """Those of the failures, which are in order of time, that began at a time or later; the last first."""
    return takewhile(lambda failure: failure.start_ns >= since_ns, reversed(failures))


def _is_together(failure: Failure, rows: list[BrokerState]) -> bool:
    until = FOREVER if failure.end_ns is None else failure.end_ns
    return abs(rows[0].from_ns - failure.start_ns) <= SAME_NS and abs(rows[0].until_ns - until) <= SAME_NS
