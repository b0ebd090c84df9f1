"""Failures of what keeps state about connections: all connections of a host, or of a broker, were lost at one time
although nobody closed them (states flows_lost and flow_dead)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.broker_flows_reset import BROKER_FLOWS_RESET
from kafkascope_spark.stories.incidents.kinds.client_host import CLIENT_HOST
from kafkascope_spark.stories.incidents.kinds.dead_flow import DEAD_FLOW
from kafkascope_spark.stories.incidents.kinds.flows_reset import FLOWS_RESET
from kafkascope_spark.stories.servers.table import BrokerState

_APART_NS = 3 * SECOND
"""Connections that were lost further apart than this were lost for different reasons: heartbeats, which may be the only
packets on a connection, come every 3 seconds."""
_LEAST = 2
"""Fewest brokers of a host, and hosts of a broker, that show a common cause; and fewest lost connections of a host that
uses one broker."""


def lost_flows(states: Iterable[BrokerState], failures: Iterable[Failure]) -> Iterator[Failure]:
    """Yields the failures in order of time, but for those that overlap a failure of one of their brokers or of the
    paths to it. failures: those of brokers and paths."""
    known = list(failures)
    lost = sorted((row for row in states if row.state == "flows_lost"), key=attrgetter("from_ns", "server", "host"))
    for rows in _near(lost):
        for failure in (*_of_brokers(rows), *_of_hosts(rows)):
            servers = {row.server for row in failure.states}
            others = (other for other in known if servers & {row.server for row in other.states})
            if all(other.overlap_ns(failure.start_ns, failure.end_ns) <= 0 for other in others):
                yield failure


def join_forgotten(of_brokers: list[Failure], of_clients: Iterable[Failure]) -> None:
    """Makes lost connections of unreachable hosts that reached several brokers again on new connections, while the old
    ones to these brokers stayed dead: the hosts worked, and a device on the way had forgotten all connections that were
    in use. The dead connections are removed from of_brokers."""
    dead = [failure for failure in of_brokers if failure.kind is DEAD_FLOW]
    for failure in [each for each in (*of_brokers, *of_clients) if each.kind is CLIENT_HOST]:
        rows = [row for each in dead for row in each.states if _was_in_use(row, failure)]
        if len({row.broker_key for row in rows}) < _LEAST or {row.host for row in rows} != failure.hosts:
            continue
        failure.kind, failure.fault = FLOWS_RESET, fault_of(failure)
        failure.states = [*failure.states, *rows]
        for each in dead:
            each.states = [row for row in each.states if row not in rows]
            each.hosts = frozenset(row.host for row in each.states)
    of_brokers[:] = [failure for failure in of_brokers if failure.kind is not DEAD_FLOW or failure.states]


def _was_in_use(row: BrokerState, failure: Failure) -> bool:
    """Whether connections of one of the hosts may have been dead since the time in which it was unreachable."""
    return row.host in failure.hosts and row.before_ns <= failure.affected_to_ns and row.until_ns > failure.start_ns


def _near(rows: Iterable[BrokerState]) -> Iterator[list[BrokerState]]:
    """Yields groups of states that begin at about the same time. rows: in order of time."""
    group: list[BrokerState] = []
    for row in rows:
        if group and row.from_ns > group[0].from_ns + _APART_NS:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _of_brokers(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields the failure of the only broker that lost connections, if it lost those of several hosts."""
    hosts = frozenset(row.host for row in rows)
    if len({row.broker_key for row in rows}) == 1 and len(hosts) >= _LEAST:
        failure = _failure(rows)
        failure.kind, failure.subject, failure.node_id = BROKER_FLOWS_RESET, rows[0].broker, rows[0].node_id
        failure.server = rows[0].server
        yield failure


def _of_hosts(rows: list[BrokerState]) -> Iterator[Failure]:
    """Yields one failure of all hosts with clients that lost their connections to several brokers, or several
    connections to the only broker of all."""
    of_host: dict[str, list[BrokerState]] = defaultdict(list)
    for row in rows:
        if row.host_kind == "client":
            of_host[row.host].append(row)
    several = [mine for mine in of_host.values() if len({row.broker_key for row in mine}) >= _LEAST]
    is_alone = len(rows) == 1 and rows[0].n_waiting >= _LEAST
    if several or (is_alone and of_host):
        yield _failure([row for mine in several or of_host.values() for row in mine])


def _failure(rows: list[BrokerState]) -> Failure:
    hosts = frozenset(row.host for row in rows)
    begin, end = min(row.from_ns for row in rows), max(row.until_ns for row in rows)
    failure = Failure(FLOWS_RESET, listed(sorted(hosts)), begin, end, hosts=hosts, states=rows)
    failure.servers = frozenset(row.server for row in rows)
    return failure
