"""Failures of brokers and paths, derived from the states that each host saw each broker in.

If a broker served some hosts and not others, the path between them failed, not the broker. Two bad stretches are two
failures if the affected hosts were served in between.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, takewhile
from operator import attrgetter

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.incidents.extent.repeated import APART_NS
from kafkascope_spark.stories.incidents.failures.failure import MOSTLY, SECOND, Failure
from kafkascope_spark.stories.incidents.kinds import KIND_OF_STATE, KINDS
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.kinds.listener import LISTENER
from kafkascope_spark.stories.incidents.kinds.not_accepting import NOT_ACCEPTING
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.incidents.kinds.replication import REPLICATION
from kafkascope_spark.stories.incidents.texts.texts import ENDED_STATES
from kafkascope_spark.stories.servers.slow import WARM_UP_NS
from kafkascope_spark.stories.servers.table import BrokerState

Span = tuple[int, int]

FAILED_STATES = frozenset(state for state, kind in KIND_OF_STATE.items() if kind.of_broker and kind.cuts_clients)
PATH_STATES = tuple(kind.states for kind in KINDS if kind.of_path and kind.states)
SLOW_STATES = BROKER_SLOW.states
"""States of a slow broker. A broker that is slow because another one failed is not a failure itself; nor is a slow
path, or slowness to the requests of a single host."""
_LEAST_SLOW_HOSTS = 2


@dataclass(slots=True)
class BadStretch:
    """A stretch of time in which one host was not served, whatever it saw of the broker."""

    host: str
    host_kind: str
    from_ns: int
    to_ns: int
    states: list[BrokerState] = field(default_factory=list)


def broker_failures(states: Iterable[BrokerState]) -> list[Failure]:
    """Returns the failures of all brokers and paths, in order of time. states: rows of broker_states."""
    brokers, others = _by_service(list(states))
    by_broker: dict[int | str, list[BrokerState]] = defaultdict(list)
    at_ip = _nodes_at(brokers)
    for row in brokers:
        by_broker[at_ip.get(row.server_ip, row.server_ip) if row.node_id is None else row.node_id].append(row)
    failures = [failure for rows in by_broker.values() for failure in _of_broker(rows)]
    paths = without_mirrored([failure for rows in by_broker.values() for failure in _served_paths(rows)])
    failures = [*_without_lossy(without_mirrored(failures), paths), *paths]
    failures += _without_ports(_never_served(others), failures)
    explained = _times(failures)
    slow = [failure for rows in by_broker.values() for failure in _slow_broker(rows)]
    failures += [failure for failure in slow if not _is_explained(failure, explained)]
    return sorted(failures, key=lambda f: (f.start_ns, f.subject))


def _by_service(states: list[BrokerState]) -> tuple[list[BrokerState], list[BrokerState]]:
    """Divides the states into those of brokers and those of addresses that served nobody in the capture. For the latter
    it is not known that a broker is there, whatever Metadata says. A host of which no port served anybody still counts
    as a broker if other brokers tried to reach it: they connect only to registered brokers, through the inter-broker
    listener."""
    served = {row.server for row in states if row.state == "serving"}
    hosts = {row.server_ip for row in states if row.state == "serving"}
    tried = {row.server_ip for row in states if _is_of_another_broker(row)} - hosts
    known = served | {row.server for row in states if row.server_ip in tried}
    return [row for row in states if row.server in known], [row for row in states if row.server not in known]


def _is_of_another_broker(row: BrokerState) -> bool:
    return row.host_kind != "client" and row.host != row.server_ip


def _nodes_at(states: Iterable[BrokerState]) -> dict[str, int]:
    """Returns the node id of each IP address that has exactly one, to be used for ports without a known node id."""
    nodes: dict[str, set[int]] = defaultdict(set)
    for row in states:
        if row.node_id is not None:
            nodes[row.server_ip].add(row.node_id)
    return {server_ip: min(found) for server_ip, found in nodes.items() if len(found) == 1}


def _never_served(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields one failure for each address at which nobody was served."""
    for _, of_address in groupby(sorted(rows, key=attrgetter("server")), key=attrgetter("server")):
        stretches = _bad_stretches(list(of_address), FAILED_STATES)
        if stretches:
            yield _unreachable([stretches])


def _without_ports(never_served: Iterable[Failure], failures: list[Failure]) -> list[Failure]:
    """Drops failures of addresses that are another port of a broker that failed at the same time."""
    at_ip: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        for server_ip in {row.server_ip for row in failure.states} if failure.is_of_broker else ():
            at_ip[server_ip].append(failure)
    times = defaultdict(lambda: _times([]), {server_ip: _times(of_ip) for server_ip, of_ip in at_ip.items()})
    return [f for f in never_served if not any(_overlaps(times[row.server_ip], f) for row in f.states)]


def _times(failures: Iterable[Failure]) -> Stretches[Failure]:
    return Stretches((f.start_ns, FOREVER if f.end_ns is None else f.end_ns, f) for f in failures)


def _overlaps(times: Stretches[Failure], failure: Failure) -> bool:
    """Whether the time in which a failure affected clients overlaps one of the given times."""
    longest = times.longest(failure.start_ns, failure.affected_to_ns)
    return longest is not None and longest[0] > 0


def _is_explained(slow: Failure, explained: Stretches[Failure]) -> bool:
    """Whether another failure of the same time explains that a broker was slow. If the broker was slow in work that it
    does without other brokers, only failures of that broker or of the path to it count, also those that were over
    shortly before."""
    if not slow.is_slow_process:
        return _overlaps(explained, slow)
    addresses = {row.server_ip for row in slow.states}
    beside = explained.meeting(slow.start_ns - WARM_UP_NS, slow.affected_to_ns)
    return any(not addresses.isdisjoint((row.server_ip, row.host)) for each in beside for row in each.states)


def _slow_broker(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields the failures in which one broker was slow to several hosts. Hosts that it served in time do not exclude
    that: they may have sent too few requests, or had luck. If only one host talked to the broker at that time, that
    host is enough. A controller that no client talks to is left out: no client waits for it."""
    if not any(row.host_kind == "client" for row in rows):
        return
    hosts = {row.host for row in rows}
    for cluster in _overlapping(_bad_stretches(rows, SLOW_STATES)):
        if len({stretch.host for stretch in cluster}) >= min(_LEAST_SLOW_HOSTS, len(hosts)):
            yield _while_served(cluster, frozenset())


def _served_paths(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields the failures in which packets between a broker and some hosts were lost, or connections between them were
    dead. Service to other hosts does not matter here: the broker served the affected hosts, too. That a broker accepts
    no connections shows only when a host tries to connect."""
    for states in PATH_STATES:
        apart_ns = APART_NS if states == NOT_ACCEPTING.states else 0
        for cluster in _overlapping(_bad_stretches(rows, states), apart_ns):
            yield _while_served(cluster, frozenset(stretch.host for stretch in cluster))


def _without_lossy(failures: Iterable[Failure], paths: Iterable[Failure]) -> Iterator[Failure]:
    """Yields the failures without those of brokers that did not reach each other for a moment on a path that lost
    packets until then or from then on: their states are added to the failure of that path."""
    lossy = [(_ends_of(path), path) for path in paths if path.kind is REPLICATION]
    for failure in failures:
        ends = _ends_of(failure)
        losing = (p for its, p in lossy if its == ends and p.overlap_ns(failure.start_ns, failure.end_ns) >= 0)
        path = next(losing, None) if failure.kind is REPLICATION else None
        if path is None:
            yield failure
        else:
            path.states += failure.states
            path.start_ns = min(path.start_ns, failure.start_ns)
            until_ns = max(path.affected_to_ns, failure.affected_to_ns)
            path.end_ns = path.affected_until_ns = None if until_ns == FOREVER else until_ns


def _ends_of(failure: Failure) -> frozenset[str]:
    """Returns the addresses of the brokers and hosts of a failure."""
    return frozenset(ip for row in failure.states for ip in (row.server_ip, row.host))


def _of_broker(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields the failures of one broker, without the times in which it was only slow or its packets were lost."""
    serving = [row for row in rows if row.state == "serving"]
    served = _united((row.from_ns, row.until_ns) for row in serving)
    at_addresses: dict[frozenset[str], list[Span]] = {}
    whole: list[BadStretch] = []
    partial: list[BadStretch] = []
    for stretch in _bad_stretches(rows, FAILED_STATES):
        others = _served_beside(stretch, serving, at_addresses) if _is_closed(stretch) else served
        others = [] if _is_for_all(stretch) else others
        (partial if _share_served(stretch, others) >= MOSTLY else whole).append(stretch)
    failed = list(_without_service_between(_overlapping(whole), served))
    late, rest = _noticed_late(partial, failed)
    first_served_ns = min((row.from_ns for row in serving), default=FOREVER)
    for clusters, of_clusters in zip(failed, late, strict=True):
        failure = _failure(clusters, frozenset(), of_clusters)
        failure.is_since_before = failure.start_ns < first_served_ns
        yield failure
    for cluster in _overlapping(rest):
        yield _failure([cluster], frozenset(s.host for s in cluster), [])


def _noticed_late(
    partial: Iterable[BadStretch], failed: Sequence[Sequence[list[BadStretch]]]
) -> tuple[list[list[BadStretch]], list[BadStretch]]:
    """Divides the stretches in which the broker served others: into a list for each failure for everybody with which
    they have time in common (the first, where there are several), and the rest. failed: the groups of stretches of each
    failure, in order of time."""
    late: list[list[BadStretch]] = [[] for _ in failed]
    others: list[BadStretch] = []
    spans = [(*_span(cluster), number) for number, clusters in enumerate(failed) for cluster in clusters]
    spans = [(since, until, number) for since, until, number in spans if since < until]
    ends = [until for _, until, _ in spans]
    for stretch in partial:
        at = bisect_right(ends, stretch.from_ns)
        is_late = at < len(spans) and spans[at][0] < stretch.to_ns and stretch.from_ns < stretch.to_ns
        (late[spans[at][2]] if is_late else others).append(stretch)
    return late, others


def _span(cluster: Iterable[BadStretch]) -> Span:
    stretches = list(cluster)
    return min(s.from_ns for s in stretches), max(s.to_ns for s in stretches)


def _is_closed(stretch: BadStretch) -> bool:
    """Whether the broker was down for the host in the whole stretch. Its other addresses do not matter then: the
    inter-broker listener may look open only because nobody connects to it at that time. A broker that only refuses the
    host is not down."""
    return all(row.state == "down" for row in stretch.states)


def _is_for_all(stretch: BadStretch) -> bool:
    """Whether the broker's process sent nothing to any host in the whole stretch: a host that looks served sent no
    request then. True for a frozen broker, and for one from which no packet came."""
    return all(row.state == "frozen" or row.is_to_all for row in stretch.states)


def _served_beside(
    stretch: BadStretch, serving: Iterable[BrokerState], known: dict[frozenset[str], list[Span]]
) -> Sequence[Span]:
    """Returns the times in which the broker served anybody at the addresses at which the host was not served. known:
    results by set of addresses; a missing one is added."""
    addresses = frozenset(row.server for row in stretch.states)
    if addresses not in known:
        known[addresses] = _united((r.from_ns, r.until_ns) for r in serving if r.server in addresses)
    return known[addresses]


def _bad_stretches(rows: list[BrokerState], bad_states: frozenset[str]) -> list[BadStretch]:
    """Returns the bad stretches of each host, in order of time. Consecutive bad states form one stretch."""
    found: list[BadStretch] = []
    ordered = sorted(rows, key=lambda row: (row.host, row.from_ns))
    for host, of_host in groupby(ordered, key=lambda row: row.host):
        last: BadStretch | None = None
        for row in of_host:
            if row.state not in bad_states:
                continue
            if last is None or row.from_ns > last.to_ns:
                last = BadStretch(host, row.host_kind, row.from_ns, row.until_ns)
                found.append(last)
            last.to_ns = max(last.to_ns, row.until_ns)
            last.states.append(row)
    return sorted(found, key=lambda s: (s.from_ns, s.host))


def _united(spans: Iterable[Span]) -> list[Span]:
    """Returns the union of the spans as spans without overlaps, in order of time."""
    united: list[Span] = []
    for lo, hi in sorted(spans):
        if united and lo <= united[-1][1]:
            united[-1] = united[-1][0], max(united[-1][1], hi)
        else:
            united.append((lo, hi))
    return united


def _share_served(stretch: BadStretch, served: Sequence[Span]) -> float:
    """Returns the share of the stretch in which the broker served somebody, up to the end of its service in the
    capture. A host that is served a moment longer than the others, and nobody later, lost the same broker."""
    last_served_ns = served[-1][1] if served else 0
    if last_served_ns < min(stretch.to_ns, stretch.from_ns + SECOND):
        return 0.0
    until = min(stretch.to_ns, last_served_ns)
    first = max(bisect_right(served, (stretch.from_ns, FOREVER)) - 1, 0)
    if stretch.to_ns == stretch.from_ns:  # a single attempt
        return float(any(lo <= stretch.from_ns < hi for lo, hi in islice(served, first, first + 1)))
    covered = 0
    for lo, hi in takewhile(lambda span: span[0] < stretch.to_ns, islice(served, first, None)):
        covered += max(min(hi, stretch.to_ns) - max(lo, stretch.from_ns), 0)
    return covered / max(until - stretch.from_ns, 1)


def _overlapping(stretches: list[BadStretch], apart_ns: int = 0) -> Iterator[list[BadStretch]]:
    """Yields groups of stretches that overlap, or have less than apart_ns between them, in order of time."""
    group: list[BadStretch] = []
    until = 0
    for stretch in stretches:
        if group and stretch.from_ns >= until:
            yield group
            group, until = [], 0
        group.append(stretch)
        until = max(until, stretch.to_ns + apart_ns)
    if group:
        yield group


def _without_service_between(
    clusters: Iterable[list[BadStretch]], served: Sequence[Span]
) -> Iterator[list[list[BadStretch]]]:
    """Joins groups of stretches between which the broker served nobody. It may have served nobody because nobody sent a
    request."""
    run: list[list[BadStretch]] = []
    ends = [end for _, end in served]
    for cluster in clusters:
        since, until = (max(s.to_ns for s in run[-1]) if run else 0), min(s.from_ns for s in cluster)
        at = bisect_right(ends, since)
        if run and at < len(served) and until > max(served[at][0], since):
            yield run
            run = []
        run.append(cluster)
    if run:
        yield run


def _failure(clusters: Sequence[list[BadStretch]], hosts: frozenset[str], late: list[BadStretch]) -> Failure:
    """Returns the failure that groups of stretches show. It begins with the broker's last packet to anybody, or, if
    connections ended or paths were cut, with the first of these. It affects clients until the last of them is served,
    whenever other brokers connect again. late: stretches of hosts that noticed the end of the failure late."""
    first, last = clusters[0], clusters[-1]
    first_over = min(s.to_ns for s in first)
    noticed = [s.from_ns for s in first if s.from_ns <= first_over]
    is_ending = all(s.states[0].state in ENDED_STATES for s in first)
    of_clients = [stretch for stretch in (*last, *late) if stretch.host_kind == "client"]
    first_served, last_served = min(s.to_ns for s in last), max(s.to_ns for s in of_clients or (*last, *late))
    states = [row for s in (*(s for cluster in clusters for s in cluster), *late) for row in s.states]
    kind = PATH if hosts else KIND_OF_STATE[_dominant_state(states)]
    if hosts and all(row.host_kind != "client" for row in states):
        kind = REPLICATION
    named = next((row for row in states if row.node_id is not None), states[0])
    return Failure(
        kind,
        subject=named.broker,
        start_ns=min(noticed) if is_ending or hosts else max(noticed),
        end_ns=None if first_served == FOREVER else first_served,
        affected_until_ns=None if last_served == FOREVER else last_served,
        node_id=named.node_id,
        server=named.server,
        servers=frozenset(state.server for state in states),
        hosts=hosts,
        states=states,
        waited_ms=max(row.unread_ms for row in states),
    )


def _while_served(cluster: list[BadStretch], hosts: frozenset[str]) -> Failure:
    """Returns the failure of a broker or path that served all hosts, but badly. It lasts as long as any stretch."""
    failure = _failure([cluster], hosts, [])
    kind = KIND_OF_STATE[cluster[0].states[0].state]
    failure.kind = REPLICATION if kind is PATH and failure.kind is REPLICATION else kind
    failure.start_ns, end_ns = cluster[0].from_ns, max(stretch.to_ns for stretch in cluster)
    failure.end_ns = failure.affected_until_ns = None if end_ns == FOREVER else end_ns
    if failure.kind.keeps_out:
        failure.waited_ms = max(row.shown_to_ns - row.shown_from_ns for row in failure.states) // 1_000_000
    return failure


def _unreachable(clusters: Sequence[list[BadStretch]]) -> Failure:
    """Returns the failure of an address that never served anybody: whether a broker is there is not known. The node is
    that of which Metadata gave the address."""
    failure = _failure(clusters, frozenset(), [])
    failure.kind, failure.subject = LISTENER, failure.server or ""
    return failure


def _dominant_state(states: list[BrokerState]) -> str:
    """Returns the state with the longest total duration over all hosts."""
    lasted: dict[str, int] = defaultdict(int)
    last = max((row.to_ns for row in states if row.to_ns is not None), default=0)
    for row in states:
        lasted[row.state] += max(min(row.until_ns, max(last, row.from_ns + 1)) - row.from_ns, 0)
    return max(sorted(lasted), key=lambda state: lasted[state])


def without_mirrored(failures: Iterable[Failure]) -> list[Failure]:
    """Drops failures that only show another failure from the other side: two brokers that cannot reach each other are
    one failure, and a broker that failed for everybody does not reach the others either. The failure with most hosts
    stays: a broker that several others did not reach."""
    kept: list[Failure] = []
    at_ip: dict[str, dict[Failure, None]] = defaultdict(dict)
    """The kept failures by each address of their brokers."""
    for failure in sorted(failures, key=lambda f: (bool(f.hosts), -len(f.hosts), f.start_ns, f.subject)):
        addresses = {row.server_ip for row in failure.states}
        of_hosts = at_ip[min(failure.hosts)] if failure.hosts else {}
        original = next((f for f in of_hosts if _is_mirrored(failure, addresses, f)), None)
        if original is None:
            kept.append(failure)
        else:
            original.states += failure.states
            original.start_ns = min(original.start_ns, failure.start_ns)
            if FOREVER not in (original.affected_to_ns, failure.affected_to_ns):
                original.affected_until_ns = max(original.affected_to_ns, failure.affected_to_ns)
        for server_ip in addresses:
            at_ip[server_ip][original or failure] = None
    return kept


def _is_mirrored(failure: Failure, addresses: set[str], other: Failure) -> bool:
    """Whether a failure shows another one from the other side: its hosts are addresses of the other failure's broker. A
    broker that several others did not reach did not reach further ones, such as the controller, for the same cause."""
    if failure.overlap_ns(other.start_ns, other.end_ns) <= 0:
        return False
    its_hosts = failure.hosts <= {row.server_ip for row in other.states}
    is_cut_off = len(other.hosts) > 1 and len(failure.hosts) == 1
    return its_hosts and (not other.hosts or is_cut_off or bool(other.hosts & addresses))
