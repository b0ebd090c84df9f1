"""Which connections of one name belong to one object, for clients that number correlation ids by connection.

An object begins with a connection that asks Metadata first. Every other connection goes to an object that was there
and that no law (draft.py) forbids: the one with which it was closed, or that was just born and has no other yet. What
begins like an object but could be a later connection of another one is one if it differs from that by a law, or by the
moment at which the client closed it.
"""

from dataclasses import dataclass

from kafkascope_spark import wire
from kafkascope_spark.identity.draft import (
    AT_ONCE_NS,
    BOOTSTRAP_APIS,
    TOGETHER_NS,
    Draft,
    first_id,
)
from kafkascope_spark.wire import Connection

CLOSE_NS = 5_000_000
"""Ends nearer than this are of one object more likely than not."""


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """How well a connection fits an object: lower is better; the first two decide, the last breaks ties."""

    gone: bool
    distance: int
    """0: closed at once; 1: nearly; 2: just born and waiting for it, or closed together; 3: ends not known; 4:
    another end. 2 more where one produces and the other consumes."""
    age_ns: int


def objects_of(members: list[Connection]) -> list[Draft]:
    """Objects of the connections, which are in time order; each connection is in exactly one."""
    drafts: list[Draft] = []
    asked = False
    for connection in members:
        begins = _may_begin(connection, asked)
        asked = asked or wire.API_VERSIONS in connection.apis
        draft = _owner(drafts, connection) or _best(drafts, connection, begins)
        if draft is None:
            drafts.append(Draft([connection]))
        else:
            draft.add(connection)
    return _merged(drafts)


def _may_begin(connection: Connection, asked: bool) -> bool:
    """Whether it can be the first of an object. asked: whether any connection of the name ever asked for the API
    versions: kafkajs does so on its first connection only, so that one which does not ask is no beginning."""
    return first_id(connection) is None and (not asked or wire.API_VERSIONS in connection.apis)


def _owner(drafts: list[Draft], connection: Connection) -> Draft | None:
    """The object that ids prove; objects that it proves to be one are joined."""
    found: list[Draft] = []
    for draft in drafts:
        reason = draft.shares_owned(connection)
        if reason is None and draft.continues(connection):
            reason = "correlation ids that go on"
        if reason is not None and draft.forbids(connection) is None:
            draft.reasons.add(reason)
            found.append(draft)
    for other in found[1:]:
        if not found[0].forbids_all(other):
            _join(found[0], other)
            drafts.remove(other)
    return found[0] if found else None


def _join(draft: Draft, other: Draft) -> None:
    for connection in other.connections:
        draft.add(connection)
    draft.reasons |= other.reasons
    draft.doubtful = draft.doubtful or other.doubtful


def _best(drafts: list[Draft], connection: Connection, begins: bool) -> Draft | None:
    """The object that it fits best; None when it is the first of a new one."""
    ranked = []
    for draft in drafts:
        reason = draft.forbids(connection)
        if reason is not None:
            draft.reasons.add(reason)
            continue
        ranked.append((_rank(draft, connection), draft))
    if begins:
        at_birth = connection.first_api == wire.METADATA
        ranked = [(r, d) for r, d in ranked if not r.gone and (r.distance == 0 or _awaits(d) or not at_birth)]
    if not ranked:
        return None
    ranked.sort(key=lambda pair: pair[0])
    best, draft = ranked[0]
    if len(ranked) > 1 and (best.gone, best.distance) == (ranked[1][0].gone, ranked[1][0].distance):
        draft.doubtful = ranked[1][1].doubtful = True
    if best.distance <= 1:
        draft.reasons.add("closed at one moment")
    return draft


def _awaits(draft: Draft) -> bool:
    """Whether it has asked for the cluster only and must open another connection to do its work."""
    return not draft.worked


def _rank(draft: Draft, connection: Connection) -> Rank:
    distance = draft.end_distance(connection)
    age = connection.begin_ns - draft.birth_ns
    if distance is not None and distance <= AT_ONCE_NS:
        level = 0
    elif distance is not None and distance <= CLOSE_NS:
        level = 1
    elif _awaits(draft) or (distance is not None and distance <= TOGETHER_NS):
        level = 2
    else:
        level = 3 if distance is None else 4
    if draft.other_work(connection):
        level += 2
    return Rank(draft.is_gone(connection.begin_ns), level, age)


def _merged(drafts: list[Draft]) -> list[Draft]:
    """Without those that only looked like a new object: nothing tells them from one that was there."""
    kept: list[Draft] = []
    for draft in sorted(drafts, key=lambda d: d.birth_ns):
        hosts = [d for d in kept if _may_be_one(d, draft)]
        if hosts:
            _join(hosts[-1], draft)
            hosts[-1].doubtful = hosts[-1].doubtful or len(hosts) > 1
        else:
            kept.append(draft)
    return kept


def _may_be_one(host: Draft, draft: Draft) -> bool:
    """Whether the draft may be later connections of the host."""
    if host.is_gone(draft.birth_ns) or host.forbids_all(draft) or _other_work(host, draft):
        return False
    if not draft.worked and len(draft.connections) == 1:
        return True
    mine, others = host.final_end, draft.final_end
    together = AT_ONCE_NS if len(draft.connections) > 1 else TOGETHER_NS
    return mine is None or others is None or max(mine[0], others[0]) - min(mine[1], others[1]) <= together


def _other_work(a: Draft, b: Draft) -> bool:
    return any(a.other_work(c) for c in b.connections) or any(b.other_work(c) for c in a.connections)
