"""Failures of hosts with clients that no server could reach. Either the host sent and acknowledged nothing while
servers retransmitted to it (state host_silent); or all brokers that the host talks to and the host could not reach each
other at the same time, while other hosts were served: a failure of one host at all brokers is a failure of that
host."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, takewhile
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.clients.client_failures import TOGETHER_NS
from kafkascope_spark.stories.incidents.failures.failure import MOSTLY, Failure
from kafkascope_spark.stories.incidents.kinds.client_host import CLIENT_HOST
from kafkascope_spark.stories.incidents.kinds.host_slow import HOST_SLOW
from kafkascope_spark.stories.servers.table import BrokerState

_CUT = frozenset({"silent", "refusing", "down"})
"""States in which no data passes between a host and a broker."""
LEAST_BROKERS = 2
"""Fewest brokers of a host that prove a failure of the host: with one broker, a failure of the path looks the same."""


def unreachable_hosts(states: Iterable[BrokerState], of_brokers: Iterable[Failure] = ()) -> list[Failure]:
    """Returns the failures of silent hosts, in order of time. Hosts of brokers and controllers are left out: they have
    failures of their own. A host that sends again and still reaches no broker is unreachable until it does: such
    silences are added to the failure of that host among of_brokers."""
    known = list(states)
    silent = [row for row in known if row.state == "host_silent" and row.host_kind == "client"]
    silences = sorted(_silences(silent), key=lambda rows: (rows[0].from_ns, rows[0].host))
    failures: list[Failure] = []
    for rows in silences:
        from_ns, until_ns = rows[0].from_ns, rows[0].until_ns
        begun = _begun_since(failures, from_ns - TOGETHER_NS)
        together = next((each for each in begun if _is_together(each, from_ns, until_ns)), None)
        if together is None:
            together = Failure(CLIENT_HOST, "", rows[0].from_ns, rows[0].to_ns)
            failures.append(together)
        together.states += rows
        together.hosts |= {rows[0].host}
        together.subject = listed(sorted(together.hosts))
    used = _servers_of_hosts(known, {host for failure in failures for host in failure.hosts})
    for failure in failures:
        failure.servers = frozenset(server for host in failure.hosts for server in used[host])
    cut = [failure for failure in of_brokers if failure.kind is CLIENT_HOST]
    return [failure for failure in failures if not any(_is_added(failure, each) for each in cut)]


def _is_added(silence: Failure, cut: Failure) -> bool:
    """Adds the silence of a host to a failure of the same host without service in between. Returns whether it did."""
    if silence.hosts != cut.hosts or cut.overlap_ns(silence.start_ns, silence.end_ns) < 0:
        return False
    cut.states = [*silence.states, *cut.states]
    cut.start_ns = min(silence.start_ns, cut.start_ns)
    if silence.affected_to_ns > cut.affected_to_ns:
        cut.end_ns = cut.affected_until_ns = silence.end_ns
    return True


def slow_hosts(states: Iterable[BrokerState], failures: Iterable[Failure]) -> list[Failure]:
    """Returns the failures of hosts whose clients were slow, in order of time, but for those that overlap a failure of
    a broker, a path or a host: clients that wait for one broker may ask others late."""
    explained = [failure for failure in failures if failure.kind.cuts_clients or failure.kind.of_path]
    slow = [row for row in states if row.state == "host_slow" and row.host_kind == "client"]
    found: list[Failure] = []
    for rows in sorted(_silences(slow), key=lambda rows: (rows[0].from_ns, rows[0].host)):
        failure = Failure(HOST_SLOW, rows[0].host, rows[0].from_ns, max(row.to_ns or 0 for row in rows))
        failure.states, failure.hosts = rows, frozenset({rows[0].host})
        failure.servers = frozenset(row.server for row in rows)
        if all(other.overlap_ns(failure.start_ns, failure.end_ns) <= 0 for other in explained):
            found.append(failure)
    return found


def _servers_of_hosts(states: Iterable[BrokerState], hosts: Collection[str]) -> dict[str, set[str]]:
    """Returns all servers that the given hosts talked to, by host."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in states:
        if row.host in hosts:
            found[row.host].add(row.server)
    return found


def with_cut_hosts(failures: Iterable[Failure], states: Iterable[BrokerState]) -> list[Failure]:
    """Returns the failures, where those of one host at all its brokers at the same time are replaced by one failure of
    that host. A broker to which the host was silent for most of that time counts, too. failures: those of brokers and
    paths; states: rows of broker_states."""
    known = list(states)
    brokers = brokers_of_hosts(known)
    silent = [row for row in known if row.state == "host_silent"]
    left = dict.fromkeys(failures)
    by_host: dict[str, list[Failure]] = defaultdict(list)
    for failure in left:
        for host in _hosts_of(failure):
            by_host[host].append(failure)
    of_hosts: list[Failure] = []
    for host, of_host in sorted(by_host.items()):
        for group in _at_one_time(failure for failure in of_host if failure in left and _is_cut(failure, host)):
            cut = {row.broker_key for failure in group for row in failure.states if row.host == host}
            cut |= _mostly_silent_to((row for row in silent if row.host == host), group)
            if len(cut) >= LEAST_BROKERS and cut >= brokers[host]:
                of_hosts.append(_of_host(host, group))
                for failure in group:
                    if not without_host(failure, host, failure.states):
                        del left[failure]
    return sorted([*left, *_together(of_hosts)], key=lambda failure: (failure.start_ns, failure.subject))


def _mostly_silent_to(silent: Iterable[BrokerState], group: Collection[Failure]) -> set[str]:
    """Returns the brokers to which a host was silent for most of the time of its failures at other brokers."""
    since_ns, until_ns = min(f.start_ns for f in group), max(f.affected_to_ns for f in group)
    lasted: dict[str, int] = defaultdict(int)
    for row in silent:
        lasted[row.broker_key] += max(min(row.until_ns, until_ns) - max(row.from_ns, since_ns), 0)
    return {key for key, ns in lasted.items() if ns >= MOSTLY * (until_ns - since_ns)}


def _together(of_hosts: Iterable[Failure]) -> list[Failure]:
    """Returns the failures of hosts; those of several hosts that began and ended together are one."""
    found: list[Failure] = []
    for failure in sorted(of_hosts, key=lambda each: (each.start_ns, each.subject)):
        until_ns = FOREVER if failure.end_ns is None else failure.end_ns
        begun = _begun_since(found, failure.start_ns - TOGETHER_NS)
        one = next((each for each in begun if _is_together(each, failure.start_ns, until_ns)), None)
        if one is None:
            found.append(failure)
            continue
        one.states += failure.states
        one.hosts |= failure.hosts
        one.servers |= failure.servers
        one.subject = listed(sorted(one.hosts))
    return found


def _hosts_of(failure: Failure) -> set[str]:
    return {row.host for row in failure.states if row.host_kind == "client"}


def brokers_of_hosts(states: Iterable[BrokerState]) -> dict[str, set[str]]:
    """Returns the brokers that ever served each host, by host."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in states:
        if row.state == "serving":
            found[row.host].add(row.broker_key)
    return found


def _is_cut(failure: Failure, host: str) -> bool:
    """Whether no data passed between the host and the broker, while the broker served other hosts or had no others."""
    mine = [row for row in failure.states if row.host == host]
    return (
        bool(mine) and (failure.kind.of_path or _hosts_of(failure) == {host}) and _CUT.issuperset(r.state for r in mine)
    )


def _at_one_time(failures: Iterable[Failure]) -> Iterator[list[Failure]]:
    """Yields groups of failures that all overlap."""
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
    """Returns the failure of a host. It begins when the first broker could not be reached, and ends when the first one
    could be reached again."""
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
    """Removes the given states of a host from a failure. Returns whether the failure has states left."""
    taken = {id(row) for row in rows if row.host == host}
    failure.states = [row for row in failure.states if id(row) not in taken]
    if all(row.host != host for row in failure.states):
        failure.hosts -= {host}
    return bool(failure.states)


def _silences(rows: list[BrokerState]) -> Iterator[list[BrokerState]]:
    """Yields the states of each silence of a host. They all begin at the same time, because a silent host is silent to
    all servers."""
    ordered = sorted(rows, key=attrgetter("host", "from_ns", "server"))
    for _, silence in groupby(ordered, key=attrgetter("host", "from_ns")):
        yield list(silence)


def _begun_since(failures: list[Failure], since_ns: int) -> Iterator[Failure]:
    """Yields the failures that began at since_ns or later, the last first. failures: in order of time."""
    return takewhile(lambda failure: failure.start_ns >= since_ns, reversed(failures))


def _is_together(failure: Failure, from_ns: int, until_ns: int) -> bool:
    until = FOREVER if failure.end_ns is None else failure.end_ns
    return abs(from_ns - failure.start_ns) <= TOGETHER_NS and abs(until_ns - until) <= TOGETHER_NS
