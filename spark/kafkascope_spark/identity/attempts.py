"""Who opened a connection that carried no request: refused, not answered, or closed before the first one.

Such a connection says nothing about its client. It is given to the only client object of its address that can have
opened it; when several can, to none. An object can have opened it
* when it was there: from its first connection until it had closed all of them itself, its work done; what lost its
  connections otherwise, or never got to work, may go on trying unseen;
* or when it was about to begin: what a client tries first is in its configuration, not in the packets;
* but what was open before the capture began is of an object that was there before;
* unless it has a connection to that server which it goes on using (one that its next request finds reset was dead),
  and as many that do work as it ever had: consumers keep one for fetching and one for their coordinator, franz-go one
  for each kind of request;
* unless Metadata told it of other addresses only.
What several can have opened goes, all the same, to the object whose first connection comes in step with it: tried at
one interval, at one server, until it got through (franz-go: every 5 s).
"""

import ipaddress
from bisect import bisect_left
from collections.abc import Iterable

from kafkascope_spark.identity.draft import BOOTSTRAP_APIS, closed_by_client, end_of
from kafkascope_spark.identity.grouping import Group
from kafkascope_spark.wire import Connection

BEFORE_NS = 10_000_000_000
"""How long an object may have tried in vain before its first connection with a request: Java's
socket.connection.setup.timeout.ms and librdkafka's reconnect.backoff.max.ms, 10 s."""
FOUND_DEAD_NS = 1_000_000_000
"""A reset that comes so soon after a connection's last request answers it."""
STEP_NS = 1_000_000_000
"""The shortest interval that tells a rhythm from chance: what comes oftener falls in step with anything."""
OFF_STEP = 200
"""A timer is late by no more than this part of its interval (5 s: 25 ms)."""


def attach(attempts: list[Connection], groups: list[Group]) -> list[Connection]:
    """Add each attempt to the group of the only object that can have opened it. Returns the others, by time."""
    waiting = sorted((_Candidate(g) for g in groups), key=lambda c: c.first_ns)
    names = _names(c for g in groups for c in g.connections)
    present: list[_Candidate] = []
    left: list[Connection] = []
    at = 0
    for attempt in sorted(attempts, key=lambda c: (c.begin_ns, c.conn_id)):
        while at < len(waiting) and waiting[at].first_ns - BEFORE_NS <= attempt.begin_ns:
            present.append(waiting[at])
            at += 1
        present = [c for c in present if c.gone_ns is None or c.gone_ns >= attempt.begin_ns]
        able = _able(present, attempt, names)
        if len(able) == 1:
            able[0].group.connections.append(attempt)
        else:
            left.append(attempt)
            for candidate in able:
                candidate.group.n_unsure += 1
    return _give_in_step(left, groups)


def _give_in_step(left: list[Connection], groups: list[Group]) -> list[Connection]:
    """Add to each group the attempts that lead up to its first connection at one interval. Returns the others."""
    owners: dict[str, list[Group]] = {}
    chains: list[tuple[Group, list[Connection]]] = []
    by_server: dict[str, list[Connection]] = {}
    for attempt in left:
        if attempt.up_ns is None and attempt.opened_in_capture:
            by_server.setdefault(attempt.server, []).append(attempt)
    for group in groups if by_server else []:
        first = min(group.connections, key=lambda c: (c.begin_ns, c.conn_id))
        chain = _leading_to(first, by_server.get(first.server, []))
        chains.append((group, chain))
        for attempt in chain:
            owners.setdefault(attempt.conn_id, []).append(group)
    given: set[str] = set()
    for group, chain in chains:
        mine = [a for a in chain if len(owners[a.conn_id]) == 1]
        group.connections += mine
        given.update(a.conn_id for a in mine)
    return [a for a in left if a.conn_id not in given]


def _leading_to(first: Connection, attempts: list[Connection]) -> list[Connection]:
    """Of attempts at the connection's server, by time, those at equal intervals before it: at least two, or none."""
    if not first.opened_in_capture:
        return []
    begins = [a.begin_ns for a in attempts]
    at = bisect_left(begins, first.begin_ns) - 1
    while at >= 0 and first.begin_ns - begins[at] <= BEFORE_NS:
        chain, step = [attempts[at]], first.begin_ns - begins[at]
        while step >= STEP_NS:
            wanted = chain[-1].begin_ns - step
            near = bisect_left(begins, wanted - step // OFF_STEP)
            if near == len(begins) or begins[near] > wanted + step // OFF_STEP:
                break
            chain.append(attempts[near])
        if len(chain) > 1:
            return chain
        at -= 1
    return []


def _able(present: list["_Candidate"], attempt: Connection, names: dict[str, set[str]]) -> list["_Candidate"]:
    """The objects that can have opened it; no more than two: more would not change what follows."""
    able: list[_Candidate] = []
    for candidate in present:
        if not attempt.opened_in_capture and not candidate.is_older:
            continue
        if not candidate.uses(attempt) and candidate.may_know(attempt, names):
            able.append(candidate)
            if len(able) == 2:
                break
    return able


def _names(connections: Iterable[Connection]) -> dict[str, set[str]]:
    """Addresses that an advertised host is known to stand for."""
    names: dict[str, set[str]] = {}
    for connection in connections:
        if connection.advertised is not None:
            host = connection.advertised.rpartition(":")[0]
            names.setdefault(host, set()).add(connection.server.rpartition(":")[0])
    return names


class _Candidate:
    """A group whose object may have tried a connection that came to nothing."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.first_ns = group.first_ns
        mine = group.connections
        self.is_older = any(not c.opened_in_capture for c in mine)
        """Whether it was there before the capture began."""
        gone = all(closed_by_client(c) for c in mine) and group.worked
        self.gone_ns = max(end_of(c) for c in mine) if gone else None
        """When it had closed all its connections; None when it may have gone on unseen."""
        self._told = set().union(*(c.told for c in mine))
        self._used: dict[str, list[Connection]] = {}
        for connection in mine:
            if connection.last_request_ns is not None:
                self._used.setdefault(connection.server, []).append(connection)
        self._most: dict[str, tuple[list[int], list[int]]] = {}

    def uses(self, attempt: Connection) -> bool:
        """Whether it had connections to that server then and went on using them: an idle one may be dead. It lacks
        one when it once had more that did work."""
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
        """The most connections to the server that it had open at once until then and that did work."""
        if server not in self._most:
            self._most[server] = _most_at_once([c for c in self._used[server] if _works(c)])
        times, most = self._most[server]
        until = bisect_left(times, at)
        return most[until - 1] if until else 0

    def may_know(self, attempt: Connection, names: dict[str, set[str]]) -> bool:
        """Whether it can have known that server then."""
        if attempt.begin_ns <= self.first_ns or not self._told or attempt.server in self._used:
            return True
        return any(_may_be(told, attempt, names) for told in self._told)


def _works(connection: Connection) -> bool:
    """Whether it did more than look for the cluster."""
    return bool(connection.apis - BOOTSTRAP_APIS)


def _most_at_once(connections: list[Connection]) -> tuple[list[int], list[int]]:
    """When each connection began, by time, and the most that were open at once until then."""
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
    """Whether its last request ran into a reset: sending it shows no use of a connection that works."""
    if connection.close_kind != "rst_server" or connection.close_ns is None or connection.last_request_ns is None:
        return False
    return connection.close_ns - connection.last_request_ns < FOUND_DEAD_NS


def _may_be(told: str, attempt: Connection, names: dict[str, set[str]]) -> bool:
    """Whether `host:port` of a Metadata answer can be the attempt's server. names: see _names."""
    if told in (attempt.server, attempt.advertised):
        return True
    host, _, port = told.rpartition(":")
    if port != attempt.port or _is_address(host):
        return False
    return host not in names or attempt.server.rpartition(":")[0] in names[host]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
