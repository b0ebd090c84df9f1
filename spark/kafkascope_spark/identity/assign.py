"""Which connections of one name belong to one object, for clients that number correlation ids by connection.

An object begins with a connection that asks Metadata first. Every other connection goes to an object that was there
and that no law (draft.py) forbids: the one with which it was closed, or that was just born and has no other yet. What
begins like an object but could be a later connection of another one is one if it differs from that by a law, or by the
moment at which the client closed it.
"""

from dataclasses import dataclass

from kafkascope_spark import wire
from kafkascope_spark.identity.draft import AT_ONCE_NS, TOGETHER_NS, Draft, first_id
from kafkascope_spark.wire import Connection

CLOSE_NS = 5_000_000
"""Ends nearer than this are of one object more likely than not."""
LOOK_BACK = 64
"""Objects that are gone which a connection that goes on counting is compared with: the last ones."""


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """How well a connection fits an object: lower is better; the first two decide, the last breaks ties."""

    gone: bool
    distance: int
    """0: closed at once; 1: nearly; 2: just born and waiting for it, or closed together; 3: ends not known; 4:
    another end. 2 more where one produces and the other consumes."""
    age_ns: int


class Drafts:
    """The objects of one name while its connections are gone through in time order."""

    def __init__(self) -> None:
        self._live: list[Draft] = []
        self._gone: list[Draft] = []

    def all(self) -> list[Draft]:
        """All of them, by birth."""
        return sorted(self._gone + self._live, key=lambda d: d.birth_ns)

    def at(self, at_ns: int, begins: bool) -> list[Draft]:
        """Those that the next connection can be of: what begins anew is not of one that is gone."""
        still: list[Draft] = []
        for draft in self._live:
            (self._gone if draft.is_gone(at_ns) else still).append(draft)
        self._live = still
        return list(still) if begins else self._gone[-LOOK_BACK:] + still

    def place(self, connection: Connection, draft: Draft | None) -> None:
        """Add the connection to the object, or to a new one."""
        if draft is None:
            self._live.append(Draft([connection]))
            return
        draft.add(connection)
        if draft in self._gone[-LOOK_BACK:]:
            self._gone.remove(draft)
            self._live.append(draft)

    def join(self, draft: Draft, other: Draft) -> None:
        """Make two one."""
        draft.join(other)
        (self._live if other in self._live else self._gone).remove(other)


def objects_of(members: list[Connection]) -> list[Draft]:
    """Objects of the connections, which are in time order; each connection is in exactly one."""
    drafts = Drafts()
    asked = False
    for connection in members:
        begins = _may_begin(connection, asked)
        asked = asked or wire.API_VERSIONS in connection.apis
        possible = drafts.at(connection.begin_ns, begins)
        drafts.place(connection, _owner(drafts, possible, connection) or _best(possible, connection, begins))
    return _merged(drafts.all())


def _may_begin(connection: Connection, asked: bool) -> bool:
    """Whether it can be the first of an object. asked: whether any connection of the name ever asked for the API
    versions: kafkajs does so on its first connection only, so that one which does not ask is no beginning."""
    return first_id(connection) is None and (not asked or wire.API_VERSIONS in connection.apis)


def _owner(drafts: Drafts, possible: list[Draft], connection: Connection) -> Draft | None:
    """The object that ids prove; objects that it proves to be one are joined."""
    owner: Draft | None = None
    for draft in possible:
        reason = draft.shares_owned(connection)
        if reason is None and draft.continues(connection):
            reason = "correlation ids that go on from one connection to the next"
        if reason is None or draft.forbids(connection) is not None:
            continue
        draft.reasons.add(reason)
        if owner is None:
            owner = draft
        elif not owner.forbids_all(draft):
            drafts.join(owner, draft)
    return owner


def _best(possible: list[Draft], connection: Connection, begins: bool) -> Draft | None:
    """The object that it fits best; None when it is the first of a new one."""
    ranked: list[tuple[Rank, Draft]] = []
    for draft in possible:
        reason = draft.forbids(connection)
        if reason is None:
            ranked.append((_rank(draft, connection), draft))
        else:
            draft.reasons.add(reason)
    if begins and connection.first_api == wire.METADATA:
        ranked = [(r, d) for r, d in ranked if r.distance == 0 or _awaits(d, r, connection)]
    if not ranked:
        return None
    ranked.sort(key=lambda pair: pair[0])
    best, draft = ranked[0]
    if len(ranked) > 1 and (best.gone, best.distance) == (ranked[1][0].gone, ranked[1][0].distance):
        draft.doubtful = ranked[1][1].doubtful = True
    if best.distance <= 1:
        draft.reasons.add("closed at one moment")
    return draft


def _awaits(draft: Draft, rank: Rank, connection: Connection) -> bool:
    """Whether the object has only looked for the cluster, so that the connection may be its next one: it has closed
    its first one by then, as librdkafka does, or will close both together, or nobody knows."""
    if draft.worked:
        return False
    known = draft.end_distance(connection) is not None
    return rank.distance <= 1 or not known or draft.last_ns <= connection.begin_ns + AT_ONCE_NS


def _rank(draft: Draft, connection: Connection) -> Rank:
    distance = draft.end_distance(connection)
    if distance is not None and distance <= AT_ONCE_NS:
        level = 0
    elif distance is not None and distance <= CLOSE_NS:
        level = 1
    elif not draft.worked or (distance is not None and distance <= TOGETHER_NS):
        level = 2
    else:
        level = 3 if distance is None else 4
    if draft.other_work(connection):
        level += 2
    return Rank(draft.is_gone(connection.begin_ns), level, connection.begin_ns - draft.birth_ns)


def _merged(drafts: list[Draft]) -> list[Draft]:
    """Without those that only looked like a new object: nothing tells them from one that was there."""
    kept: list[Draft] = []
    live: list[Draft] = []
    for draft in drafts:
        live = [d for d in live if not d.is_gone(draft.birth_ns)]
        hosts = [d for d in live if _may_be_one(d, draft)]
        if hosts:
            hosts[-1].join(draft)
            hosts[-1].doubtful = hosts[-1].doubtful or len(hosts) > 1
        else:
            kept.append(draft)
            live.append(draft)
    return kept


def _may_be_one(host: Draft, draft: Draft) -> bool:
    """Whether the draft may be later connections of the host, which was there when it began."""
    if host.forbids_all(draft) or _other_work(host, draft):
        return False
    if (not draft.worked and len(draft.connections) == 1) or draft.lives_on_what(host):
        return True
    if host.completes(draft) or draft.completes(host) or draft.is_later:
        return True
    mine, others = host.final_end, draft.final_end
    together = AT_ONCE_NS if len(draft.connections) > 1 else TOGETHER_NS
    return mine is None or others is None or max(mine[0], others[0]) - min(mine[1], others[1]) <= together


def _other_work(a: Draft, b: Draft) -> bool:
    return any(a.other_work(c) for c in b.connections) or any(b.other_work(c) for c in a.connections)
