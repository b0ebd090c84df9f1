"""Groups the connections of one client name into client instances, for clients that count correlation ids per
connection.

A client begins with a connection whose first request is Metadata. Every other connection goes to a candidate that
existed then and that no rule (candidate.py) excludes: the one with which it was closed, or a new one that has no other
connection yet. A group of connections that begins like a client, but may be later connections of another one, stays a
client of its own if a rule separates the two, or the time at which the client closed them.
"""

from dataclasses import dataclass

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.candidate import AT_ONCE_NS, TOGETHER_NS, InstanceCandidate, first_id
from kafkascope_spark.stories.model import Connection

CLOSE_NS = 5_000_000
"""Connections that are closed within this time probably belong to one client."""
LOOK_BACK = 64
"""Ended candidates, the last ones, with which a connection that continues correlation ids is compared."""


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """How well a connection fits a candidate: lower is better; the first two fields decide, the last breaks ties."""

    ended: bool
    distance: int
    """0: closed by one call; 1: closed shortly after; 2: the candidate has only begun, or both were closed together; 3:
    the ends are unknown; 4: closed at another time. 2 more where one produces and the other consumes."""
    age_ns: int


class InstanceCandidates:
    """The candidates of one client name, while its connections are processed in order of time."""

    def __init__(self) -> None:
        self._live: list[InstanceCandidate] = []
        self._ended: list[InstanceCandidate] = []

    def all(self) -> list[InstanceCandidate]:
        """All candidates, in order of their first connection."""
        return sorted(self._ended + self._live, key=lambda d: d.begin_ns)

    def at(self, at_ns: int, begins: bool) -> list[InstanceCandidate]:
        """The candidates to which the next connection can belong. One that begins a client belongs to none that
        ended."""
        still: list[InstanceCandidate] = []
        for candidate in self._live:
            (self._ended if candidate.has_ended(at_ns) else still).append(candidate)
        self._live = still
        return list(still) if begins else self._ended[-LOOK_BACK:] + still

    def place(self, connection: Connection, candidate: InstanceCandidate | None) -> None:
        """Adds the connection to the candidate, or to a new one."""
        if candidate is None:
            self._live.append(InstanceCandidate([connection]))
            return
        candidate.add(connection)
        if candidate in self._ended[-LOOK_BACK:]:
            self._ended.remove(candidate)
            self._live.append(candidate)

    def join(self, candidate: InstanceCandidate, other: InstanceCandidate) -> None:
        """Merges the other candidate into the first."""
        candidate.join(other)
        (self._live if other in self._live else self._ended).remove(other)


def candidates_by_behaviour(members: list[Connection]) -> list[InstanceCandidate]:
    """The candidates of the connections, which are in order of time; each connection is in exactly one."""
    candidates = InstanceCandidates()
    sends_api_versions = False
    for connection in members:
        begins = _may_begin(connection, sends_api_versions)
        sends_api_versions = sends_api_versions or api_keys.API_VERSIONS in connection.apis
        possible = candidates.at(connection.begin_ns, begins)
        candidates.place(connection, _owner(candidates, possible, connection) or _best(possible, connection, begins))
    return _merged(candidates.all())


def _may_begin(connection: Connection, sends_api_versions: bool) -> bool:
    """Whether the connection can be the first of a client.

    sends_api_versions: whether a connection of the name has sent ApiVersions. kafkajs sends it on its first connection
    only, so that a connection without it is not the first.
    """
    return first_id(connection) is None and (not sends_api_versions or api_keys.API_VERSIONS in connection.apis)


def _owner(
    candidates: InstanceCandidates, possible: list[InstanceCandidate], connection: Connection
) -> InstanceCandidate | None:
    """The candidate to which exclusive or continued ids assign the connection. Candidates that it connects are
    merged."""
    owner: InstanceCandidate | None = None
    for candidate in possible:
        reason = candidate.shared_id_kind(connection)
        if reason is None and candidate.continues(connection):
            reason = "correlation ids that go on from one connection to the next"
        if reason is None or candidate.contradiction(connection) is not None:
            continue
        candidate.reasons.add(reason)
        if owner is None:
            owner = candidate
        elif not owner.contradicts(candidate):
            candidates.join(owner, candidate)
    return owner


def _best(possible: list[InstanceCandidate], connection: Connection, begins: bool) -> InstanceCandidate | None:
    """The candidate that the connection fits best; None when it is the first connection of a new one."""
    ranked: list[tuple[Rank, InstanceCandidate]] = []
    for candidate in possible:
        reason = candidate.contradiction(connection)
        if reason is None:
            ranked.append((_rank(candidate, connection), candidate))
        else:
            candidate.reasons.add(reason)
    if begins and connection.first_api == api_keys.METADATA:
        ranked = [(r, d) for r, d in ranked if r.distance == 0 or _awaits(d, r, connection)]
    if not ranked:
        return None
    ranked.sort(key=lambda pair: pair[0])
    best, candidate = ranked[0]
    if len(ranked) > 1 and (best.ended, best.distance) == (ranked[1][0].ended, ranked[1][0].distance):
        candidate.is_ambiguous = ranked[1][1].is_ambiguous = True
    if best.distance <= 1:
        candidate.reasons.add("closed at one moment")
    return candidate


def _awaits(candidate: InstanceCandidate, rank: Rank, connection: Connection) -> bool:
    """Whether the candidate has only discovered the cluster, so that the connection may be its next one: it has closed
    its first one before, as librdkafka does, or closes both together, or opens the next one first, as aiokafka does, or
    its end is unknown."""
    if candidate.did_work:
        return False
    if candidate.is_bootstrap_beside(connection):
        return True
    known = candidate.end_distance(connection) is not None
    return rank.distance <= 1 or not known or candidate.last_ns <= connection.begin_ns + AT_ONCE_NS


def _rank(candidate: InstanceCandidate, connection: Connection) -> Rank:
    distance = candidate.end_distance(connection)
    if distance is not None and distance <= AT_ONCE_NS:
        level = 0
    elif distance is not None and distance <= CLOSE_NS:
        level = 1
    elif not candidate.did_work or (distance is not None and distance <= TOGETHER_NS):
        level = 2
    else:
        level = 3 if distance is None else 4
    if candidate.does_other_work(connection):
        level += 2
    return Rank(candidate.has_ended(connection.begin_ns), level, connection.begin_ns - candidate.begin_ns)


def _merged(candidates: list[InstanceCandidate]) -> list[InstanceCandidate]:
    """The candidates, after those are merged that nothing separates from an earlier one."""
    kept: list[InstanceCandidate] = []
    live: list[InstanceCandidate] = []
    for candidate in candidates:
        live = [d for d in live if not d.has_ended(candidate.begin_ns)]
        hosts = [d for d in live if _may_be_one(d, candidate)]
        if hosts:
            hosts[-1].join(candidate)
            hosts[-1].is_ambiguous = hosts[-1].is_ambiguous or len(hosts) > 1
        else:
            kept.append(candidate)
            live.append(candidate)
    return kept


def _may_be_one(host: InstanceCandidate, candidate: InstanceCandidate) -> bool:
    """Whether the candidate may consist of later connections of the host, which existed when it began."""
    if host.contradicts(candidate) or _do_other_work(host, candidate):
        return False
    if (not candidate.did_work and len(candidate.connections) == 1) or candidate.uses_coordinator_found_by(host):
        return True
    if (
        host.is_coordinator_connection_of(candidate)
        or candidate.is_coordinator_connection_of(host)
        or candidate.lacks_bootstrap
        or candidate.reads_on_behalf_of(host)
        or host.is_given_up_beside(candidate)
        or candidate.goes_on_with_lookup_of(host)
    ):
        return True
    mine, others = host.final_end, candidate.final_end
    together = AT_ONCE_NS if len(candidate.connections) > 1 else TOGETHER_NS
    return mine is None or others is None or max(mine[0], others[0]) - min(mine[1], others[1]) <= together


def _do_other_work(a: InstanceCandidate, b: InstanceCandidate) -> bool:
    return any(a.does_other_work(c) for c in b.connections) or any(b.does_other_work(c) for c in a.connections)
