"""Assigns connection attempts to clients: connections without a request, because they were refused, unanswered, or
closed before the first request.

Such a connection does not identify its client. It is assigned to the only client of its address that can have opened
it, and to none where several can. A client can have opened it
* while it ran: from its first connection until it had closed all of them itself after its work. A client that lost its
  connections otherwise, or never began its work, may continue to try unseen;
* or shortly before it began: its first addresses come from its configuration and not from packets;
* but only if it ran before the capture, where the connection was open before the capture began;
* unless it has a connection to that server which it continues to use (one whose next request meets a reset was dead),
  and as many working connections as it ever had: consumers keep one for fetching and one for their coordinator,
  franz-go one for each kind of request;
* unless Metadata named only other addresses.
An attempt that several clients can have made goes to the client whose first connection follows it at a fixed interval:
attempts at one server, at one interval, until one succeeded (franz-go: every 5 s).
"""

import ipaddress
from bisect import bisect_left
from collections.abc import Iterable

from kafkascope_spark.stories.clients.identity.candidate import BOOTSTRAP_APIS, closed_by_client, end_of
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.model import Connection

BEFORE_NS = 10_000_000_000
"""How long a client may have tried before its first connection with a request: Java's
socket.connection.setup.timeout.ms and librdkafka's reconnect.backoff.max.ms, 10 s."""
FOUND_DEAD_NS = 1_000_000_000
"""A reset that comes so soon after a connection's last request is the response to it."""
MIN_INTERVAL_NS = 1_000_000_000
"""Shortest interval that shows a period: attempts that are more frequent fit any period."""
JITTER_DIVISOR = 200
"""A timer is late by at most its interval divided by this (5 s: 25 ms)."""


def attach(attempts: list[Connection], groups: list[Group]) -> list[Connection]:
    """Adds each attempt to the group of the only client that can have opened it. Returns the others, in order of
    time."""
    waiting = sorted((_Client(g) for g in groups), key=lambda c: c.first_ns)
    names = _names(c for g in groups for c in g.connections)
    present: list[_Client] = []
    left: list[Connection] = []
    at = 0
    for attempt in sorted(attempts, key=lambda c: (c.begin_ns, c.conn_id)):
        while at < len(waiting) and waiting[at].first_ns - BEFORE_NS <= attempt.begin_ns:
            present.append(waiting[at])
            at += 1
        present = [c for c in present if c.ended_ns is None or c.ended_ns >= attempt.begin_ns]
        possible = _possible_owners(present, attempt, names)
        if len(possible) == 1:
            possible[0].group.connections.append(attempt)
        else:
            left.append(attempt)
            for client in possible:
                client.group.n_ambiguous_attempts += 1
    return _assign_periodic(left, groups)


def _assign_periodic(left: list[Connection], groups: list[Group]) -> list[Connection]:
    """Adds to each group the attempts that precede its first connection at a fixed interval. Returns the others."""
    owners: dict[str, list[Group]] = {}
    chains: list[tuple[Group, list[Connection]]] = []
    by_server: dict[str, list[Connection]] = {}
    for attempt in left:
        if attempt.up_ns is None and attempt.opened_in_capture:
            by_server.setdefault(attempt.server, []).append(attempt)
    for group in groups if by_server else []:
        first = min(group.connections, key=lambda c: (c.begin_ns, c.conn_id))
        chain = _attempts_before(first, by_server.get(first.server, []))
        chains.append((group, chain))
        for attempt in chain:
            owners.setdefault(attempt.conn_id, []).append(group)
    given: set[str] = set()
    for group, chain in chains:
        mine = [a for a in chain if len(owners[a.conn_id]) == 1]
        group.connections += mine
        given.update(a.conn_id for a in mine)
    return [a for a in left if a.conn_id not in given]


def _attempts_before(first: Connection, attempts: list[Connection]) -> list[Connection]:
    """The attempts at the connection's server that precede it at equal intervals: at least two, or none."""
    if not first.opened_in_capture:
        return []
    begins = [a.begin_ns for a in attempts]
    at = bisect_left(begins, first.begin_ns) - 1
    while at >= 0 and first.begin_ns - begins[at] <= BEFORE_NS:
        chain, step = [attempts[at]], first.begin_ns - begins[at]
        while step >= MIN_INTERVAL_NS:
            wanted = chain[-1].begin_ns - step
            near = bisect_left(begins, wanted - step // JITTER_DIVISOR)
            if near == len(begins) or begins[near] > wanted + step // JITTER_DIVISOR:
                break
            chain.append(attempts[near])
        if len(chain) > 1:
            return chain
        at -= 1
    return []


def _possible_owners(present: list["_Client"], attempt: Connection, names: dict[str, set[str]]) -> list["_Client"]:
    """The clients that can have opened it; at most two, because more would not change the result."""
    possible: list[_Client] = []
    for client in present:
        if not attempt.opened_in_capture and not client.began_before_capture:
            continue
        if not client.uses(attempt) and client.may_know(attempt, names):
            possible.append(client)
            if len(possible) == 2:
                break
    return possible


def _names(connections: Iterable[Connection]) -> dict[str, set[str]]:
    """Advertised host -> addresses to which it is known to resolve."""
    names: dict[str, set[str]] = {}
    for connection in connections:
        if connection.advertised is not None:
            host = connection.advertised.rpartition(":")[0]
            names.setdefault(host, set()).add(connection.server.rpartition(":")[0])
    return names


class _Client:
    """A client that may have made the attempt, with the connections of its group."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.first_ns = group.first_ns
        mine = group.connections
        self.began_before_capture = any(not c.opened_in_capture for c in mine)
        """Whether it ran before the capture."""
        ended = all(closed_by_client(c) for c in mine) and group.did_work
        self.ended_ns = max(end_of(c) for c in mine) if ended else None
        """Time at which it had closed all its connections; None when it may have continued unseen."""
        self._advertised = set().union(*(c.named_servers for c in mine))
        self._used: dict[str, list[Connection]] = {}
        for connection in mine:
            if connection.last_request_ns is not None:
                self._used.setdefault(connection.server, []).append(connection)
        self._most: dict[str, tuple[list[int], list[int]]] = {}

    def uses(self, attempt: Connection) -> bool:
        """Whether it had connections to that server then and continued to use them; an idle one may be dead. Not if it
        had more working connections before: then it may lack one."""
        at = attempt.begin_ns
        going_on = [
            c
            for c in self._used.get(attempt.server, ())
            if c.first_ns < at < (c.last_request_ns or 0)
            and (c.close_ns is None or c.close_ns > at)
            and not _found_dead(c)
        ]
        return bool(going_on) and sum(_works(c) for c in going_on) >= self._most_before(attempt.server, at)

    def _most_before(self, server: str, at: int) -> int:
        """The largest number of working connections to the server that it had open at once until then."""
        if server not in self._most:
            self._most[server] = _most_at_once([c for c in self._used[server] if _works(c)])
        times, most = self._most[server]
        until = bisect_left(times, at)
        return most[until - 1] if until else 0

    def may_know(self, attempt: Connection, names: dict[str, set[str]]) -> bool:
        """Whether it can have known that server at the time of the attempt."""
        if attempt.begin_ns <= self.first_ns or not self._advertised or attempt.server in self._used:
            return True
        return any(_may_be(advertised, attempt, names) for advertised in self._advertised)


def _works(connection: Connection) -> bool:
    """Whether it did more than discover the cluster."""
    return bool(connection.apis - BOOTSTRAP_APIS)


def _most_at_once(connections: list[Connection]) -> tuple[list[int], list[int]]:
    """The begin of each connection in order of time, and the largest number that was open at once until then."""
    changes = sorted([(end_of(c), -1) for c in connections] + [(c.begin_ns, 1) for c in connections])
    times: list[int] = []
    most: list[int] = []
    n_open = 0
    for time, change in changes:
        n_open += change
        if change > 0:
            times.append(time)
            most.append(max(n_open, most[-1] if most else 0))
    return times, most


def _found_dead(connection: Connection) -> bool:
    """Whether its last request met a reset, so that the request does not show a working connection."""
    if connection.close_kind != "rst_server" or connection.close_ns is None or connection.last_request_ns is None:
        return False
    return connection.close_ns - connection.last_request_ns < FOUND_DEAD_NS


def _may_be(advertised: str, attempt: Connection, names: dict[str, set[str]]) -> bool:
    """Whether `host:port` of a Metadata response can be the attempt's server. names: see _names."""
    if advertised in (attempt.server, attempt.advertised):
        return True
    host, _, port = advertised.rpartition(":")
    if port != attempt.port or _is_address(host):
        return False
    return host not in names or attempt.server.rpartition(":")[0] in names[host]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
