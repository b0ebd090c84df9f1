"""The row of a classic group's generation."""

from typing import NamedTuple

from kafkascope_spark.rebalances.generation import Departure, Generation, Member
from kafkascope_spark.rebalances.ownership import Ownership, Share
from kafkascope_spark.rebalances.row import MS, between_ms, cause_columns, departed_row, head, span, who
from kafkascope_spark.rebalances.triggers import EVICTION_SLACK_NS, Seen, called, cause_of
from kafkascope_spark.rebalances.wire import Row

COOPERATIVE_ASSIGNORS = ("cooperative-sticky", "stream", "compatible", "sessioned")
"""Assignors whose members keep what they have while they join: the consumer's and franz-go's (KIP-429), Streams' since
2.4, Connect's incremental protocols (KIP-415, KIP-507)."""


class Round(NamedTuple):
    """A generation to tell. end_ns: end of the capture where that ended it; None where another one began."""

    now: Generation
    before: Generation | None
    was_empty: bool
    end_ns: int | None


def row_of(told: Round, ownership: Ownership) -> Row:
    """The row. The ownership is brought up to it."""
    now = told.now
    departed = departures(told)
    for departure in departed:
        if departure.how != "replaced":
            ownership.release(departure.member.member_id, departure.ts_ns or departure.member.heard_ns)
        elif departure.why is not None:
            ownership.hand_over(departure.member.member_id, departure.why)
    mode = mode_of(now)
    revoked = ownership.revoked if mode == "cooperative" else frozenset()
    readers = ownership.members | _readers(told.before)
    shares, n_moved = ownership.settle(now.present.values())
    # What cooperative members give up is nobody's until the next round: it is not missing.
    n_more = ownership.added or (-ownership.missing if mode == "eager" else 0)
    cause = cause_of(Seen(now, told.before, told.was_empty, departed, revoked, n_more))
    members = [member_row(m, shares.get(m.member_id), told, mode, m.member_id in readers) for m in _in_order(now)]
    ended = [m["synced_ns"] for m in members if m["synced_ns"] is not None]
    outcome = outcome_of(told)
    end_ns = max(ended) if ended and outcome in ("stable", "taken_over") else None
    since = now.told.ts_ns if now.told is not None else _until(told)
    asked = [m for m in now.present.values() if m.asked_ns is not None]
    return {
        **head(now),
        **cause_columns(cause, now),
        **span(now.start_ns, end_ns),
        "outcome": outcome,
        "mode": mode,
        "assignor": now.assignor,
        "leader": now.leader,
        "n_members": len(members),
        "members": members,
        "members_complete": now.listed is not None,
        "last_joiner": max(asked, key=lambda m: (m.asked_ns or 0, m.member_id)).member_id if asked else None,
        "stopped_ms": max((m["stopped_ms"] for m in members if m["stopped_ms"] is not None), default=None),
        "n_moved": n_moved,
        "departed": [departed_row(d, since) for d in departed],
    }


def outcome_of(told: Round) -> str:
    """How it ended."""
    now = told.now
    if now.took_over is not None:
        return "taken_over"
    if now.start_ns is None:
        return "unseen"
    if now.settled:
        return "stable"
    return "superseded" if told.end_ns is None else "open"


def mode_of(now: Generation) -> str | None:
    """Whether members stop for all of it; None where nothing is known."""
    if now.assignor is None:
        return None
    kept = now.assignor in COOPERATIVE_ASSIGNORS or any(m.owned for m in now.members.values())
    return "cooperative" if kept else "eager"


def _in_order(now: Generation) -> list[Member]:
    return sorted(now.present.values(), key=lambda m: (m.asked_ns is None, m.asked_ns or 0, m.member_id))


def _readers(before: Generation | None) -> frozenset[str]:
    """Members of a generation that had their assignments, whether the capture shows what they had or not."""
    if before is None or not (before.settled or before.start_ns is None):
        return frozenset()
    return frozenset(before.present)


def member_row(member: Member, share: Share | None, told: Round, mode: str | None, reads: bool) -> Row:
    """One of `members`; reads: whether it had an assignment before."""
    before = told.before.present if told.before is not None else {}
    is_new = member.member_id not in before if told.before is not None or told.was_empty else member.fresh
    return {
        **who(member),
        "joined_ns": member.asked_ns,
        "stopped_ms": stopped_ms(member, share, told, eager=mode != "cooperative", reads=reads),
        "is_new": is_new,
        "join_ms": between_ms(member.asked_ns, member.joined_ns),
        "sync_ms": between_ms(member.sync_asked_ns, member.synced_ns),
        "gained": None if share is None else list(share.gained),
        "lost": None if share is None else list(share.lost),
    }


def stopped_ms(member: Member, share: Share | None, told: Round, *, eager: bool, reads: bool) -> int | None:
    """How long the member did not read (eager), or something that it gained was read by nobody; None where that does
    not show, or a new member had nothing to stop."""
    if eager:
        since = member.stopped_ns if member.synced_ns is not None else member.asked_ns
        return between_ms(since, member.synced_ns or told.end_ns) if reads else None
    if share is not None and share.unread_ns is not None:
        return share.unread_ns // MS
    return 0 if member.synced_ns is not None and reads else None


def departures(told: Round) -> list[Departure]:
    """Members of the generation before that are in this one no more, the first to be heard of no more first."""
    now, before = told.now, told.before
    if before is None:
        return sorted(now.left.values(), key=lambda d: (d.ts_ns or 0, d.member.member_id))
    found = [d for d in now.left.values() if d.member.member_id in before.present]
    instances = {m.group_instance_id: m.member_id for m in now.present.values() if m.group_instance_id}
    for member_id, member in before.present.items():
        if member_id in now.present or member_id in now.left:
            continue
        successor = instances.get(member.group_instance_id) if member.group_instance_id else None
        if successor is not None:
            found.append(Departure(member, "replaced", successor))
        elif now.listed is not None and now.number is not None:
            found.append(_silent(member, told))
    return sorted(found, key=lambda d: (d.member.heard_ns or 0, d.member.member_id))


def _silent(member: Member, told: Round) -> Departure:
    """A member that is gone without a word."""
    since = _until(told)
    silent_ns = None if member.heard_ns is None or since is None else max(0, since - member.heard_ns)
    limit_ms = member.session_timeout_ms
    if silent_ns is None or not limit_ms:
        return Departure(member, "unknown", "the capture does not show when it was last heard of")
    spoken = f"{called(member)} was silent for {silent_ns / 1e9:.1f} s (session.timeout.ms {limit_ms})"
    closed = f", its connection ended ({member.close_kind})" if _closed_before(member, since) else ""
    if silent_ns + EVICTION_SLACK_NS >= limit_ms * MS:
        return Departure(member, "evicted", spoken + closed)
    why = f"{called(member)} did not join again in time (rebalance.timeout.ms {member.rebalance_timeout_ms})"
    return Departure(member, "evicted", why + closed)


def _closed_before(member: Member, since: int | None) -> bool:
    return member.close_ns is not None and since is not None and member.close_ns <= since


def _until(told: Round) -> int | None:
    """By when the coordinator had given up on those that did not come: its answers to joins."""
    answered = [m.joined_ns for m in told.now.members.values() if m.joined_ns is not None]
    return min(answered) if answered else told.now.start_ns
