"""The row of a group epoch."""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_spark.rebalances.generation import Generation, Member
from kafkascope_spark.rebalances.row import MS, between_ms, cause_columns, departed_row, head, span, who
from kafkascope_spark.rebalances.triggers import Cause, called
from kafkascope_spark.rebalances.wire import Row

MODE = "incremental"
"""The coordinator moves partitions one by one; nobody stops for the others (KIP-848)."""


@dataclass(slots=True)
class Move:
    """What a round changes for a member."""

    gained: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    n_moved: int = 0
    unread_ns: int | None = None
    """The longest time that something it gained was read by nobody."""


class Before(NamedTuple):
    """The epoch before: its members, and whether any of them had something."""

    member_ids: frozenset[str]
    had_any: bool


class EpochRound(NamedTuple):
    """An epoch to tell. causes: what was seen that made it, in order; end_ns: end of the capture where that ended
    it."""

    now: Generation
    causes: tuple[Cause, ...]
    before: Before | None
    was_empty: bool
    end_ns: int | None


def row_of(told: EpochRound, moves: dict[str, Move]) -> Row:
    """The row."""
    now = told.now
    members = sorted(now.members.values(), key=lambda m: (m.joined_ns is None, m.joined_ns or 0, m.member_id))
    outcome = outcome_of(told)
    ended = [m.synced_ns for m in members if m.synced_ns is not None]
    done = bool(ended) and outcome in ("stable", "taken_over")
    reached = [m for m in members if m.joined_ns is not None]
    rows = [member_row(m, moves.get(m.member_id, Move()), told) for m in members]
    departed = sorted(now.left.values(), key=lambda d: (d.member.heard_ns or 0, d.member.member_id))
    return {
        **head(now),
        **cause_columns(cause_of(told), now),
        **span(now.start_ns, max(ended) if done else None),
        "outcome": outcome,
        "mode": MODE,
        "assignor": now.assignor,
        "leader": None,
        "n_members": len(members),
        "members": rows,
        "members_complete": bool(members) and all(m.fresh for m in members),
        "last_joiner": reached[-1].member_id if reached and now.start_ns is not None else None,
        "stopped_ms": max((r["stopped_ms"] for r in rows if r["stopped_ms"] is not None), default=None),
        "n_moved": sum(moves[m.member_id].n_moved for m in members if m.member_id in moves),
        "departed": [departed_row(d, now.start_ns) for d in departed],
    }


def outcome_of(told: EpochRound) -> str:
    """How it ended."""
    now = told.now
    if now.took_over is not None:
        return "taken_over"
    if now.start_ns is None:
        return "unseen"
    if now.number is not None and all(m.joined_ns is not None for m in now.members.values()):
        return "stable"
    return "superseded" if told.end_ns is None else "open"


def cause_of(told: EpochRound) -> Cause:
    """What made it."""
    now = told.now
    if now.start_ns is None:
        return Cause("unknown", "the capture does not show how it was made")
    if now.took_over is not None:
        return _taken_over(now)
    fresh = [m for m in now.members.values() if m.fresh]
    alone = bool(fresh) and len(fresh) == len(now.members)
    if told.before is None and not now.left and alone:
        first = told.causes[0] if told.causes else Cause("first", "")
        return Cause("first", "the group had no members before", first.member_id, first.request_ids)
    if told.causes:
        return told.causes[0]
    evicted = [d for d in now.left.values() if d.how == "evicted"]
    if evicted:
        proof = (evicted[0].request_id,) if evicted[0].request_id else ()
        return Cause("member_evicted", evicted[0].why or "", evicted[0].member.member_id, proof)
    if told.before is not None and not told.before.had_any and alone:
        return Cause("first", "the first assignment that its members were given")
    return Cause("unknown", "no join, leave or change of subscription in the capture explains it")


def _taken_over(now: Generation) -> Cause:
    new = next((m for m in now.members.values() if m.asked_ns is not None), None)
    if new is None:
        return Cause("member_joined", "a static member came back under a new member id")
    why = f"{called(new)} took the place of the static member {new.group_instance_id}: same epoch, new member id"
    return Cause("member_joined", why, new.member_id)


def member_row(member: Member, move: Move, told: EpochRound) -> Row:
    """One of `members`."""
    known = told.before.member_ids if told.before is not None else frozenset()
    is_new = member.member_id not in known if told.before is not None or told.was_empty else member.fresh
    unread = None if move.unread_ns is None else move.unread_ns // MS
    quiet = 0 if member.synced_ns is not None and not is_new else None
    return {
        **who(member),
        "joined_ns": member.joined_ns,
        "stopped_ms": unread if unread is not None else quiet,
        "is_new": is_new,
        "join_ms": between_ms(member.asked_ns, member.joined_ns),
        "sync_ms": between_ms(member.joined_ns, member.synced_ns),
        "gained": sorted(move.gained),
        "lost": sorted(move.lost),
    }
