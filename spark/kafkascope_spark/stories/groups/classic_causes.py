"""Causes of the rebalances of a classic group: the earliest observation that explains it, and the requests that show
it.

A coordinator rebalances when a new member joins, a member leaves or is silent for its session timeout, or a member
joins again by itself: with another subscription, because its coordinator was gone, or (cooperative) to give up
partitions that its assignment no longer has (org.apache.kafka.coordinator.group.GroupMetadataManager, KIP-429). The
other members learn of it from the responses to their heartbeats, so observations after the first of these are no cause.
An evicted member sends no request: it was evicted at the end of its session timeout.
"""

from typing import NamedTuple

from kafkascope_spark.stories.groups.causes import Cause, Explanations, first_eviction, request_ids
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member

EVICTION_SLACK_NS = 1_000_000_000
"""Largest difference between the eviction and the session timeout: the coordinator acts later, or received requests
that the capture lacks."""


class Comparison(NamedTuple):
    """A generation and the facts with which it is compared. revoked: members that lost partitions in the previous one;
    n_more: increase of the number of partitions to assign (negative for a decrease)."""

    now: Generation
    before: Generation | None
    was_empty: bool
    departed: list[Departure]
    revoked: frozenset[str]
    n_more: int


class _Candidate(NamedTuple):
    ts_ns: int
    rank: int
    member_id: str
    cause: Cause


def explanations(seen: Comparison) -> Explanations:
    """Returns the possible causes of the generation."""
    rejoin = seen.now.rejoin
    joined = _joined(seen)
    earliest = min([*_left(seen.now), *_evicted(seen), *joined, *_rejoined(seen)], default=None)
    in_time = earliest is not None and (rejoin is None or earliest.ts_ns <= rejoin.ts_ns)
    first = None
    if _is_first(seen):
        joiner = min(joined, default=earliest)
        by = (joiner.cause.member_id, joiner.cause.request_ids) if joiner is not None else (None, ())
        first = Cause("first", _had_no_members(seen), *by)
    return Explanations(first, earliest.cause if earliest is not None and in_time else None, _inferred(seen))


def _is_first(seen: Comparison) -> bool:
    now = seen.now
    if now.number == 1 or seen.was_empty or _died_out(seen):
        return True
    return seen.before is None and now.listed is not None and all(m.fresh for m in now.present.values())


def _died_out(seen: Comparison) -> bool:
    """Whether all members were evicted before, for which the coordinator made a generation without members in
    between."""
    now, before = seen.now, seen.before
    if before is None or now.number is None or before.number is None or now.rejoin is not None:
        return False
    evicted = {d.member.member_id for d in seen.departed if d.how == "evicted"}
    return evicted >= set(before.present) and now.number > before.number + 1


def _had_no_members(seen: Comparison) -> str:
    gone = [d.why for d in seen.departed if d.how == "evicted" and d.why] if _died_out(seen) else []
    return "the group had no members before" + (f": {gone[-1]}" if gone else "")


def _left(now: Generation) -> list[_Candidate]:
    return [
        _Candidate(
            departure.ts_ns or 0,
            0,
            member_id,
            Cause(
                "member_left",
                f"{departure.member.name} left{_with(departure.why)}",
                member_id,
                request_ids(departure.request_id),
            ),
        )
        for member_id, departure in now.left.items()
    ]


def _with(reason: str | None) -> str:
    return f": {reason}" if reason else ""


def _evicted(seen: Comparison) -> list[_Candidate]:
    found = []
    for departure in seen.departed:
        member = departure.member
        if departure.how != "evicted" or member.last_seen_ns is None or not member.session_timeout_ms:
            continue
        due = member.last_seen_ns + member.session_timeout_ms * 1_000_000
        proof = request_ids(seen.now.rejoin.request_id) if seen.now.rejoin is not None else ()
        cause = Cause("member_evicted", departure.why or f"{member.name} was silent", member.member_id, proof)
        found.append(_Candidate(_no_later(due, seen.now), 1, member.member_id, cause))
    return found


def _no_later(due_ns: int, now: Generation) -> int:
    """Returns when a member was evicted: at its timeout, or at the first response that shows it, if that came a little
    earlier."""
    if now.rejoin is not None and now.rejoin.ts_ns < due_ns <= now.rejoin.ts_ns + EVICTION_SLACK_NS:
        return now.rejoin.ts_ns
    return due_ns


def _joined(seen: Comparison) -> list[_Candidate]:
    old = seen.before.present if seen.before is not None else {}
    found = []
    for member in seen.now.members.values():
        if member.join_sent_ns is None or member.member_id in old or not (member.fresh or seen.before):
            continue
        cause = Cause("member_joined", f"{member.name} joined{_with(member.reason)}", member.member_id)
        found.append(_Candidate(member.join_sent_ns, 2, member.member_id, cause))
    return found


def _rejoined(seen: Comparison) -> list[_Candidate]:
    """Returns the members that joined again although no response requested it."""
    old = seen.before.present if seen.before is not None else {}
    found = []
    for member in seen.now.members.values():
        if member.join_sent_ns is None or member.prompted or member.fresh or (old and member.member_id not in old):
            continue
        cause = _own_accord(seen, member, old.get(member.member_id))
        found.append(_Candidate(member.join_sent_ns, 3, member.member_id, cause))
    return found


def _own_accord(seen: Comparison, member: Member, old: Member | None) -> Cause:
    now, before, reason = seen.now, seen.before, _with(member.reason)
    rejoined = f"{member.name} joined again"
    if before is not None and _moved(seen):
        why = f"{rejoined} at node {now.node_id}, its coordinator was node {before.node_id}{reason}"
        proof = request_ids(now.coordinator_lookup[0] if now.coordinator_lookup else None)
        return Cause("coordinator_moved", why, member.member_id, proof)
    if old is not None and old.topics is not None and member.topics is not None and old.topics != member.topics:
        added, gone = sorted({*member.topics} - {*old.topics}), sorted({*old.topics} - {*member.topics})
        changes = [f"with {', '.join(added)}" if added else "", f"without {', '.join(gone)}" if gone else ""]
        return Cause("subscription_changed", f"{rejoined} {' and '.join(filter(None, changes))}", member.member_id)
    if member.member_id in seen.revoked:
        why = f"{member.name} gave up the partitions that it had to, and joined again{reason}"
        return Cause("partitions_revoked", why, member.member_id)
    if seen.n_more:
        n = abs(seen.n_more)
        count = f"there is {n} partition" if n == 1 else f"there are {n} partitions"
        why = f"{rejoined}, {count} {'more' if seen.n_more > 0 else 'less'}{reason}"
        return Cause("subscription_changed", why, member.member_id)
    return Cause("unknown", f"{rejoined} with the same subscription{reason}", member.member_id)


def _moved(seen: Comparison) -> bool:
    nodes = (seen.now.node_id, seen.before.node_id if seen.before is not None else None)
    return None not in nodes and nodes[0] != nodes[1]


def _inferred(seen: Comparison) -> Cause:
    """Returns the cause for the case that members had to join again before any cause was observed."""
    now = seen.now
    proof = request_ids(now.rejoin.request_id) if now.rejoin is not None else ()
    evicted = first_eviction(seen.departed, *proof)
    if evicted is not None:
        return evicted
    if seen.before is not None:
        unseen = [m for m in now.present if m not in seen.before.present and m not in now.members]
        if unseen:
            return Cause("member_joined", f"{unseen[0]} joined, which the capture does not show", unseen[0], proof)
    if _moved(seen):
        return Cause("coordinator_moved", f"its coordinator is node {now.node_id} now", None, proof)
    return Cause("unknown", "nothing in the capture explains it", None, proof)
