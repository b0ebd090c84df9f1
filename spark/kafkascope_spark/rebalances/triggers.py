"""What made a classic group rebalance: the earliest of the things seen that could, and how that shows.

A coordinator rebalances when a new member joins, a member leaves or is silent for its session timeout, or a member
joins again of its own accord: with another subscription, because its coordinator was gone, or (cooperative) to give up
what it was told to (org.apache.kafka.coordinator.group.GroupMetadataManager, KIP-429). The other members hear of it in
the answers to their heartbeats; so what is seen only after the first of these is no cause. A member evicted leaves no
request: its session timeout since it was last heard tells when.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_spark.rebalances.generation import Departure, Generation, Member

EVICTION_SLACK_NS = 1_000_000_000
"""How far a coordinator may be from the timeout: it acts later, or heard of the member by what the capture lacks."""


@dataclass(frozen=True, slots=True)
class Cause:
    """trigger as in dataset.stories.rebalances.TRIGGERS; why: a sentence; request_ids prove it."""

    trigger: str
    why: str
    member_id: str | None = None
    request_ids: tuple[str, ...] = ()


class Seen(NamedTuple):
    """What a generation is compared with. revoked: members that lost something in the one before; n_more: how many
    partitions there are to give out more than before (less: below 0)."""

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


def cause_of(seen: Seen) -> Cause:
    """What made the generation."""
    now = seen.now
    if now.took_over is not None:
        return _taken_over(seen)
    if now.start_ns is None:
        return Cause("unknown", "the capture does not show how it was made")
    candidates = [*_left(now), *_evicted(seen), *_joined(seen), *_rejoined(seen)]
    first = min(candidates, default=None)
    if _is_first(seen):
        joined = min(_joined(seen), default=first)
        who = joined.cause.member_id if joined is not None else None
        return Cause("first", _had_no_members(seen), who, joined.cause.request_ids if joined else ())
    limit = now.told.ts_ns if now.told is not None else None
    if first is not None and (limit is None or first.ts_ns <= limit):
        return first.cause
    return _unexplained(seen)


def _is_first(seen: Seen) -> bool:
    now = seen.now
    if now.number == 1 or seen.was_empty:
        return True
    if _died_out(seen):
        return True
    return seen.before is None and now.listed is not None and all(m.fresh for m in now.present.values())


def _died_out(seen: Seen) -> bool:
    """Whether all members were evicted, for which the coordinator made a generation without members, before this."""
    now, before = seen.now, seen.before
    if before is None or now.number is None or before.number is None or now.told is not None:
        return False
    evicted = {d.member.member_id for d in seen.departed if d.how == "evicted"}
    return evicted >= set(before.present) and now.number > before.number + 1


def _had_no_members(seen: Seen) -> str:
    gone = [d.why for d in seen.departed if d.how == "evicted" and d.why] if _died_out(seen) else []
    return "the group had no members before" + (f": {gone[-1]}" if gone else "")


def called(member: Member) -> str:
    """A member for a sentence."""
    return member.client_id or member.member_id


def _taken_over(seen: Seen) -> Cause:
    now = seen.now
    new = next((m for m in now.members.values() if m.joined_ns is not None), None)
    if new is None:
        return Cause("member_joined", "a static member came back under a new member id")
    why = f"{called(new)} took the place of the static member {new.group_instance_id}: same generation, new member id"
    return Cause("member_joined", why, new.member_id)


def _left(now: Generation) -> list[_Candidate]:
    found = []
    for member_id, departure in now.left.items():
        said = f": {departure.why}" if departure.why else ""
        cause = Cause("member_left", f"{called(departure.member)} left{said}", member_id, _ids(departure.request_id))
        found.append(_Candidate(departure.ts_ns or 0, 0, member_id, cause))
    return found


def _ids(request_id: str | None) -> tuple[str, ...]:
    return (request_id,) if request_id else ()


def _evicted(seen: Seen) -> list[_Candidate]:
    found = []
    for departure in seen.departed:
        member = departure.member
        if departure.how != "evicted" or member.heard_ns is None or not member.session_timeout_ms:
            continue
        due = member.heard_ns + member.session_timeout_ms * 1_000_000
        proof = (seen.now.told.request_id,) if seen.now.told is not None else ()
        cause = Cause("member_evicted", departure.why or f"{called(member)} was silent", member.member_id, proof)
        found.append(_Candidate(_no_later(due, seen.now), 1, member.member_id, cause))
    return found


def _no_later(due_ns: int, now: Generation) -> int:
    """When a member was evicted, where the first sign of it came a little before it was due."""
    if now.told is not None and now.told.ts_ns < due_ns <= now.told.ts_ns + EVICTION_SLACK_NS:
        return now.told.ts_ns
    return due_ns


def _joined(seen: Seen) -> list[_Candidate]:
    old = seen.before.present if seen.before is not None else {}
    found = []
    for member in seen.now.members.values():
        if member.asked_ns is None or member.member_id in old or not (member.fresh or seen.before):
            continue
        why = f"{called(member)} joined" + (f": {member.reason}" if member.reason else "")
        found.append(_Candidate(member.asked_ns, 2, member.member_id, Cause("member_joined", why, member.member_id)))
    return found


def _rejoined(seen: Seen) -> list[_Candidate]:
    """Members that joined again without being told to."""
    old = seen.before.present if seen.before is not None else {}
    found = []
    for member in seen.now.members.values():
        if member.asked_ns is None or member.prompted or member.fresh or (old and member.member_id not in old):
            continue
        cause = _own_accord(seen, member, old.get(member.member_id))
        found.append(_Candidate(member.asked_ns, 3, member.member_id, cause))
    return found


def _own_accord(seen: Seen, member: Member, old: Member | None) -> Cause:
    now, before = seen.now, seen.before
    who, said = called(member), f": {member.reason}" if member.reason else ""
    if before is not None and _moved(seen):
        why = f"{who} joined again at node {now.node_id}, its coordinator was node {before.node_id}{said}"
        return Cause("coordinator_moved", why, member.member_id, _ids(now.sought[0] if now.sought else None))
    if old is not None and old.topics is not None and member.topics is not None and old.topics != member.topics:
        added, gone = sorted({*member.topics} - {*old.topics}), sorted({*old.topics} - {*member.topics})
        changes = [f"with {', '.join(added)}" if added else "", f"without {', '.join(gone)}" if gone else ""]
        return Cause(
            "subscription_changed", f"{who} joined again {' and '.join(filter(None, changes))}", member.member_id
        )
    if member.member_id in seen.revoked:
        why = f"{who} gave up partitions that it was told to, and joined again{said}"
        return Cause("partitions_revoked", why, member.member_id)
    if seen.n_more:
        n = abs(seen.n_more)
        count = f"there is {n} partition" if n == 1 else f"there are {n} partitions"
        why = f"{who} joined again, {count} {'more' if seen.n_more > 0 else 'less'}{said}"
        return Cause("subscription_changed", why, member.member_id)
    return Cause("unknown", f"{who} joined again with the same subscription{said}", member.member_id)


def _moved(seen: Seen) -> bool:
    nodes = (seen.now.node_id, seen.before.node_id if seen.before is not None else None)
    return None not in nodes and nodes[0] != nodes[1]


def _unexplained(seen: Seen) -> Cause:
    """The members were told to join again before anything was seen that could be why."""
    now = seen.now
    proof = (now.told.request_id,) if now.told is not None else ()
    evicted = [d for d in seen.departed if d.how == "evicted"]
    if evicted:
        gone = evicted[0].member
        return Cause("member_evicted", evicted[0].why or f"{called(gone)} was silent", gone.member_id, proof)
    if seen.before is not None:
        unseen = [m for m in now.present if m not in seen.before.present and m not in now.members]
        if unseen:
            return Cause("member_joined", f"{unseen[0]} joined, which the capture does not show", unseen[0], proof)
    if _moved(seen):
        return Cause("coordinator_moved", f"its coordinator is node {now.node_id} now", None, proof)
    return Cause("unknown", "nothing in the capture explains it", None, proof)
