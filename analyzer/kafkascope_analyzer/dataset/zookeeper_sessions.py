"""ZooKeeper sessions from rows of connections: the holder and time of each, and whether it expired.

A broker is registered as long as its session lives, and closes it in an orderly shutdown. A session whose connection
ended otherwise, and that no other connection takes up, expires when ZooKeeper has received nothing from its client for
the session timeout (ZooKeeper looks every tickTime, by default 2 s); then the controller gives the broker's partitions
to others. A client that comes back too late gets a timeout of 0 (ConnectResponse), and opens a new session. A session
that was open when the capture began has no id here, and the timeout of the client's others.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables.connections import CONNECTIONS


@dataclass(frozen=True, slots=True)
class ZooKeeperConnection(Row):
    """A connection that speaks ZooKeeper's protocol."""

    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    client_ip: str | None
    server_ip: str | None
    server_port: int | None
    zookeeper_session: str | None
    zookeeper_timeout_ms: int | None
    zookeeper_closed: bool
    first_ns: int
    last_ns: int
    close_ns: int | None
    close_kind: str | None
    idle_before_close_ms: int | None


ZOOKEEPER_PROTOCOL = "zookeeper"
"""Value of `connections.protocol`."""
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class ZooKeeperSession:
    """A session, over all its connections. node_id: the broker, None for another client or where it is not known;
    is_closed: whether the client closed it; heard_ns: time of the last bytes of its last connection; ended_ns: when
    that connection closed, None while it is open; expired_ns: when nothing had been received for its timeout, None
    where it is open, was closed by its client, or its timeout is not known; reopened_ns: the client's next session;
    is_replaced: the client opened that one, or was refused this one, after this one had expired.
    """

    node_id: int | None
    client_ip: str | None
    server_ip: str | None
    server_port: int | None
    session: str | None
    timeout_ms: int | None
    first_ns: int
    heard_ns: int
    is_closed: bool
    ended_ns: int | None
    expired_ns: int | None
    reopened_ns: int | None
    is_replaced: bool
    conn_ids: tuple[str, ...]


def sessions_of(connections: Iterable[ZooKeeperConnection], end_ns: int) -> list[ZooKeeperSession]:
    """Returns the sessions by time. end_ns: the capture's last packet."""
    sessions: dict[str, ZooKeeperSession] = {}
    refused_ns: dict[str | None, list[int]] = {}
    for row in sorted(connections, key=lambda row: (row.first_ns, row.conn_id)):
        if row.zookeeper_session is not None and not row.zookeeper_timeout_ms:
            refused_ns.setdefault(row.client_ip, []).append(row.first_ns)
            continue
        key = row.zookeeper_session or row.conn_id
        fresh = _session(row)
        sessions[key] = _continued(sessions[key], fresh) if key in sessions else fresh
    ordered = sorted(sessions.values(), key=lambda session: (session.first_ns, session.conn_ids))
    timeouts = {session.client_ip: session.timeout_ms for session in ordered if session.timeout_ms}
    of_client: dict[str | None, list[ZooKeeperSession]] = {}
    for session in ordered:
        of_client.setdefault(session.client_ip, []).append(session)
    return [
        _with_end(
            replace(session, timeout_ms=session.timeout_ms or timeouts.get(session.client_ip)),
            [other for other in of_client[session.client_ip] if other is not session],
            refused_ns.get(session.client_ip, []),
            end_ns,
        )
        for session in ordered
    ]


def _session(row: ZooKeeperConnection) -> ZooKeeperSession:
    """Returns the session of one connection."""
    idle_ns = (row.idle_before_close_ms or 0) * _NS_PER_MS
    ended_ns = None if row.close_kind == "open" else row.close_ns
    return ZooKeeperSession(
        node_id=None,
        client_ip=row.client_ip,
        server_ip=row.server_ip,
        server_port=row.server_port,
        session=row.zookeeper_session,
        timeout_ms=row.zookeeper_timeout_ms or None,
        first_ns=row.first_ns,
        heard_ns=row.last_ns if ended_ns is None else ended_ns - idle_ns,
        is_closed=row.zookeeper_closed,
        ended_ns=ended_ns,
        expired_ns=None,
        reopened_ns=None,
        is_replaced=False,
        conn_ids=(row.conn_id,),
    )


def _continued(known: ZooKeeperSession, fresh: ZooKeeperSession) -> ZooKeeperSession:
    """Returns a session that continues on another connection."""
    return replace(fresh, first_ns=known.first_ns, conn_ids=known.conn_ids + fresh.conn_ids)


def _with_end(
    session: ZooKeeperSession, others: list[ZooKeeperSession], refused_ns: list[int], end_ns: int
) -> ZooKeeperSession:
    """Returns the session with the times when it expired and when its client opened the next. others: the client's
    other sessions; refused_ns: when the client requested a session that had expired."""
    reopened_ns = min((other.first_ns for other in others if other.first_ns > session.heard_ns), default=None)
    expired_ns = None
    if session.timeout_ms is not None and session.ended_ns is not None and not session.is_closed:
        expired_ns = session.heard_ns + session.timeout_ms * _NS_PER_MS
    if expired_ns is None or expired_ns > end_ns:
        return replace(session, reopened_ns=reopened_ns)
    came_back_ns = [*refused_ns, *(other.first_ns for other in others)]
    is_replaced = any(moment >= expired_ns for moment in came_back_ns)
    return replace(session, expired_ns=expired_ns, reopened_ns=reopened_ns, is_replaced=is_replaced)
