"""Ended ZooKeeper sessions of brokers, after which the controller moves the leaders of their partitions.

A broker of a cluster with ZooKeeper is registered as long as its session lives. When the session ends, because the
broker closed it or because ZooKeeper received nothing for the session timeout, the controller moves the leaders of the
broker's partitions. So the session shows when and why leaders moved after a broker failed. If a broker loses its
session and continues to serve, the session itself is the failure.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import BrokerProcess, EndedSession
from kafkascope_spark.stories.incidents.failures.failure_index import KeyedStretches
from kafkascope_spark.stories.incidents.kinds.zookeeper_session import ZOOKEEPER_SESSION as LOST_SESSION
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.servers.table import BrokerState


def ended_sessions(sessions: Sequence[ZooKeeperSession], states: Iterable[BrokerState]) -> list[EndedSession]:
    """Returns the sessions of brokers that ended in the capture, by time. states: rows of broker_states, which give the
    broker at each address. Addresses of several brokers are left out, and so are sessions of a client that held another
    session at the same time: it is not known with which one the broker is registered."""
    names = _names_by_address(states)
    of_client: KeyedStretches[ZooKeeperSession] = KeyedStretches()
    for row in sessions:
        of_client.add(("client", row.client_ip), row.first_ns, _over_ns(row), row)
    found = []
    for row in sessions:
        over_ns = _over_ns(row)
        if row.client_ip not in names or over_ns is None:
            continue
        open_meanwhile = of_client.of(("client", row.client_ip)).latest(over_ns + 1, row.heard_ns)
        if any(other is not row for other in open_meanwhile):
            continue
        node_id, subject = names[row.client_ip]
        found.append(
            EndedSession(
                node_id=node_id,
                subject=subject,
                address=row.client_ip,
                timeout_ms=row.timeout_ms,
                heard_ns=row.heard_ns,
                over_ns=over_ns,
                is_closed=row.is_closed,
                reopened_ns=row.reopened_ns,
                is_replaced=row.is_replaced,
                conn_ids=row.conn_ids,
            )
        )
    return sorted(found, key=lambda session: (session.over_ns, session.conn_ids))


def _names_by_address(states: Iterable[BrokerState]) -> dict[str, tuple[int | None, str]]:
    """Returns the node id (None if unknown) and the name of the broker at each IP address that has only one broker."""
    nodes: dict[str, set[int]] = defaultdict(set)
    for row in states:
        nodes[row.server_ip].update([] if row.node_id is None else [row.node_id])
    alone = {ip: next(iter(ids), None) for ip, ids in nodes.items() if len(ids) <= 1}
    return {ip: (node, ip if node is None else f"node {node} ({ip})") for ip, node in alone.items()}


def _over_ns(session: ZooKeeperSession) -> int | None:
    """Returns when the session ended, at the earliest; None if the capture does not show that."""
    return session.ended_ns if session.is_closed else session.expired_ns


def give_sessions(failures: Iterable[Failure], sessions: Sequence[EndedSession]) -> list[EndedSession]:
    """Sets the session that ended with each failure of a broker. Returns the sessions that belong to no failure."""
    at_address: KeyedStretches[tuple[int, EndedSession]] = KeyedStretches()
    for place, session in enumerate(sessions):
        at_address.add(("address", session.address), session.heard_ns, session.over_ns, (place, session))
    given: set[int] = set()
    for failure in failures:
        if failure.is_of_broker and failure.process.session is None:
            end_ns = FOREVER if failure.end_ns is None else failure.end_ns
            addresses = {row.server_ip for row in failure.states}
            found = (at_address.of(("address", ip)).meeting(failure.start_ns - SECOND, end_ns) for ip in addresses)
            left = (each for each in chain.from_iterable(found) if each[0] not in given)
            first = min(left, key=itemgetter(0), default=None)
            if first is not None:
                given.add(first[0])
                failure.process.session = first[1]
                _end_where_reopened(failure, first[1])
    return [session for place, session in enumerate(sessions) if place not in given]


def _end_where_reopened(failure: Failure, session: EndedSession) -> None:
    """Moves the end of a failure to the time at which the broker opened its next session, if no host was refused after
    that: a broker registers before it serves."""
    back_ns = session.reopened_ns
    if back_ns is None or not failure.kind.restarts or back_ns < max(state.shown_to_ns for state in failure.states):
        return
    if failure.end_ns is None or back_ns < failure.end_ns:
        failure.end_ns = failure.process.reopened_ns = back_ns


def of_lost_sessions(sessions: Iterable[EndedSession]) -> list[Failure]:
    """Returns the failures of brokers that lost their sessions and continued to serve. A session counts as lost only if
    the broker opened another one, or was refused this one: else it may have continued at a ZooKeeper server that the
    capture does not show."""
    return [
        Failure(
            LOST_SESSION,
            subject=session.subject,
            start_ns=session.heard_ns,
            end_ns=session.reopened_ns,
            node_id=session.node_id,
            process=BrokerProcess(session=session),
        )
        for session in sessions
        if not session.is_closed and session.is_replaced
    ]


def give_roots(moves: Iterable[Failure], failures: Iterable[Failure]) -> None:
    """Sets the root of each move of leaders or coordinators without one to the failure whose session ended before the
    move, if there is one."""
    ended: Stretches[Failure] = Stretches(
        (f.process.session.over_ns, _moves_until_ns(f.process.session), f)
        for f in failures
        if f.process.session is not None
    )
    for move in moves:
        if move.kind.is_move and move.root is None:
            move.root = next(ended.latest(move.start_ns, move.start_ns), None)


def _moves_until_ns(session: EndedSession) -> int:
    """Returns until when leader moves may follow from the end of the session: until the broker is back, or FOLLOWS_NS
    after the end."""
    back_ns = FOREVER if session.reopened_ns is None else session.reopened_ns
    return min(session.over_ns + FOLLOWS_NS, back_ns)
