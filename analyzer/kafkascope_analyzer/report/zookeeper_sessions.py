"""ZooKeeper sessions of the brokers: which broker held one when, and which were lost.

A broker is registered as long as its session lives, and one that stops in order closes it. A session whose connection
ended otherwise, and that no other connection takes up, expires when nothing was heard of it for its timeout (ZooKeeper
looks every tickTime, by default 2 s); then the controller takes the broker's partitions away. A broker's node is told
by its address. A session that was open when the capture began has no id here, and the timeout of the client's others.
"""

from dataclasses import dataclass, replace
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of, rows
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.words import address

_NS_PER_MS = 1_000_000
_COLUMNS = ["conn_id", "client_ip", "server_ip", "server_port", "zookeeper_session", "zookeeper_timeout_ms"]
_COLUMNS += ["zookeeper_closed", "first_ns", "last_ns", "close_ns", "close_kind", "idle_before_close_ms"]


@dataclass(frozen=True, slots=True)
class ZooKeeperSession:
    """A session, over all its connections. node_id: the broker, None for another client; is_closed: whether the client
    closed it; heard_ns: the last bytes of its last connection; ended_ns: when that closed, None while it is open;
    expired_ns: when nothing had been heard of it for its timeout, None where it is open, was closed by its client, or
    its timeout is not known; reopened_ns: the client's next session.
    """

    node_id: int | None
    client_ip: str | None
    server: str | None
    session: str | None
    timeout_ms: int | None
    first_ns: int
    heard_ns: int
    is_closed: bool
    ended_ns: int | None
    expired_ns: int | None
    reopened_ns: int | None
    conn_ids: tuple[str, ...]


def zookeeper_sessions(dataset: Dataset) -> list[ZooKeeperSession]:
    """The sessions by time. Raises UsageError where a table cannot be read."""
    found = sorted(rows(dataset, CONNECTIONS, _COLUMNS, one_of("protocol", ["zookeeper"])), key=lambda r: r["first_ns"])
    if not found:
        return []
    nodes = _nodes_by_address(dataset)
    sessions: dict[str, ZooKeeperSession] = {}
    for row in found:
        key = row["zookeeper_session"] or row["conn_id"]
        fresh = _session(row, nodes.get(row["client_ip"]))
        sessions[key] = _continued(sessions[key], fresh) if key in sessions else fresh
    end_ns = capture_span(dataset)[1]
    ordered = sorted(sessions.values(), key=lambda session: (session.first_ns, session.conn_ids))
    timeouts = {session.client_ip: session.timeout_ms for session in ordered if session.timeout_ms}
    return [_with_end(session, ordered, timeouts.get(session.client_ip), end_ns) for session in ordered]


def _nodes_by_address(dataset: Dataset) -> dict[str, int]:
    """The only node that serves at each address."""
    found: dict[str, set[int]] = {}
    for row in rows(dataset, CONNECTIONS, ["server_ip", "node_id"], one_of("protocol", ["kafka", "empty"])):
        if row["node_id"] is not None:
            found.setdefault(row["server_ip"], set()).add(row["node_id"])
    return {ip: next(iter(ids)) for ip, ids in found.items() if len(ids) == 1}


def _session(row: dict[str, Any], node_id: int | None) -> ZooKeeperSession:
    """The session of one connection."""
    idle_ns = (row["idle_before_close_ms"] or 0) * _NS_PER_MS
    ended_ns = None if row["close_kind"] == "open" else row["close_ns"]
    return ZooKeeperSession(
        node_id=node_id,
        client_ip=row["client_ip"],
        server=address(row["server_ip"], row["server_port"]),
        session=row["zookeeper_session"],
        timeout_ms=row["zookeeper_timeout_ms"] or None,
        first_ns=row["first_ns"],
        heard_ns=row["last_ns"] if ended_ns is None else ended_ns - idle_ns,
        is_closed=bool(row["zookeeper_closed"]),
        ended_ns=ended_ns,
        expired_ns=None,
        reopened_ns=None,
        conn_ids=(row["conn_id"],),
    )


def _continued(known: ZooKeeperSession, fresh: ZooKeeperSession) -> ZooKeeperSession:
    """A session that goes on on another connection."""
    return replace(fresh, first_ns=known.first_ns, conn_ids=known.conn_ids + fresh.conn_ids)


def _with_end(
    session: ZooKeeperSession, ordered: list[ZooKeeperSession], timeout_ms: int | None, end_ns: int
) -> ZooKeeperSession:
    """The session with when it expired and when its client opened the next. timeout_ms: that of the client's sessions,
    where this one's is not in the capture.
    """
    later = [s for s in ordered if s.client_ip == session.client_ip and s.first_ns > session.heard_ns]
    timeout_ms = session.timeout_ms or timeout_ms
    expires_ns = None
    if timeout_ms is not None and session.ended_ns is not None and not session.is_closed:
        expires_ns = session.heard_ns + timeout_ms * _NS_PER_MS
    return replace(
        session,
        timeout_ms=timeout_ms,
        expired_ns=expires_ns if expires_ns is not None and expires_ns <= end_ns else None,
        reopened_ns=min((s.first_ns for s in later), default=None),
    )
