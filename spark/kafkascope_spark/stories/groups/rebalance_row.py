"""Makes the row of `rebalances` of one generation or group epoch, for all group protocols."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkascope_parsers.versions import MOST_INT32, parse_number
from kafkascope_spark.stories.groups.causes import Cause
from kafkascope_spark.stories.groups.embedded_data import USUAL_TYPE
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member
from kafkascope_spark.stories.groups.ownership import Change, Move
from kafkascope_spark.stories.groups.table import (
    DepartedMember,
    GroupMember,
    ReassignedPartition,
    RebalanceRow,
)

MS = 1_000_000
Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Round:
    """A completed generation or epoch, with the conclusions of its protocol."""

    now: Generation
    previous: Generation | None
    was_empty: bool
    """Whether the group had no members before."""
    capture_end_ns: int | None
    """End of the capture if that ended the round; None if another round began."""
    cause: Cause
    mode: str | None
    departed: list[Departure]
    gone_by_ns: int | None
    """Time by which the group had removed the departed members."""
    changes: Mapping[str, Change]
    """Changes of the members' items by member id, without members of unknown assignment."""
    moves: Sequence[Move]
    """Items that changed their owner."""
    is_complete: bool
    """Whether the capture shows all members."""
    last_joiner: str | None


def rebalance_row(round_: Round) -> RebalanceRow:
    """Returns the row, without the columns of lag and of unread partitions."""
    now, cause, outcome = round_.now, round_.cause, outcome_of(round_)
    members = tuple(_member(m, round_) for m in in_order(now))
    ends = [m.synced_ns for m in members if m.synced_ns is not None]
    end_ns = max(ends) if ends and outcome in ("stable", "taken_over") else None
    return RebalanceRow(
        rebalance_id=_rebalance_id(now),
        group_id=now.group_id,
        group_protocol=now.protocol.name,
        protocol_type=now.protocol_type,
        node_id=now.node_id,
        generation=now.number,
        trigger=cause.trigger,
        trigger_why=cause.why,
        trigger_member=cause.member_id,
        start_ns=now.start_ns,
        end_ns=end_ns,
        duration_ms=between_ms(now.start_ns, end_ns),
        outcome=outcome,
        mode=round_.mode,
        assignor=now.assignor,
        leader=now.leader,
        n_members=len(members),
        members=members,
        members_complete=round_.is_complete,
        last_joiner=round_.last_joiner,
        n_moved=sum(round_.changes[m.member_id].n_moved for m in members if m.member_id in round_.changes),
        unread_ms=None,
        partitions=_moved_partitions(round_),
        departed=tuple(_departed(d, round_.gone_by_ns) for d in round_.departed),
        n_refused_commits=now.n_refused,
        refused_commits=tuple(now.refused),
        fenced=tuple(now.fenced),
        lag_records=None,
        n_lag_partitions=None,
        incident_id=None,
        evidence=_evidence(cause, now),
    )


def outcome_of(round_: Round) -> str:
    """Returns the column outcome."""
    now = round_.now
    if now.took_over is not None:
        return "taken_over"
    if now.start_ns is None:
        return "unseen"
    if now.settled:
        return "stable"
    return "superseded" if round_.capture_end_ns is None else "open"


def in_order(now: Generation) -> list[Member]:
    """Returns the members in the order in which they took part in the round."""
    return sorted(now.present.values(), key=lambda m: (m.entered_ns is None, m.entered_ns or 0, m.member_id))


def last_entered(now: Generation) -> str | None:
    """Returns the member that took part last."""
    return next((m.member_id for m in reversed(in_order(now)) if m.entered_ns is not None), None)


def is_new(member: Member, previous: Generation | None, *, was_empty: bool) -> bool:
    """Whether the member was not in the previous generation."""
    if previous is None and not was_empty:
        return member.fresh
    return previous is None or member.member_id not in previous.present


def between_ms(start_ns: int | None, end_ns: int | None) -> int | None:
    """Returns the milliseconds from start to end; None if one of them is not known."""
    return None if start_ns is None or end_ns is None else max(0, end_ns - start_ns) // MS


def _rebalance_id(now: Generation) -> str:
    key = f"{now.group_id}|{now.protocol.name}|{now.number}|{now.start_ns}"
    return f"rebalance-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _evidence(cause: Cause, now: Generation) -> tuple[str, ...]:
    """Returns the requests that prove the cause, then all others that prove the generation, in order of time."""
    proof = dict.fromkeys(cause.request_ids)
    proof |= dict.fromkeys(sorted(now.evidence, key=lambda request_id: (now.evidence[request_id], request_id)))
    return tuple(proof)


def _member(member: Member, round_: Round) -> GroupMember:
    change = round_.changes.get(member.member_id)
    return GroupMember(
        member_id=member.member_id,
        client_instance_id=member.client_instance_id,
        joined_ns=member.entered_ns,
        synced_ns=member.synced_ns,
        client_id=member.client_id,
        group_instance_id=member.group_instance_id,
        conn_id=member.conn_id,
        is_new=is_new(member, round_.previous, was_empty=round_.was_empty),
        join_ms=between_ms(member.join_sent_ns, member.joined_ns),
        sync_ms=between_ms(member.sync_sent_ns, member.synced_ns),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        assigned=member.assigned,
        standby=member.standby,
        gained=None if change is None else tuple(sorted(change.gained)),
        lost=None if change is None else tuple(sorted(change.lost)),
    )


def _moved_partitions(round_: Round) -> tuple[ReassignedPartition, ...]:
    """Returns the topic-partitions that changed their owner; none for groups of tasks or connectors."""
    protocol, kind = round_.now.protocol, round_.now.protocol_type
    if protocol.shares_partitions or protocol.has_tasks or kind not in (None, "", USUAL_TYPE):
        return ()
    moved = ((topic_partition(move.item), move) for move in round_.moves)
    return tuple(partition_entry(place, move.before, move.after) for place, move in moved if place is not None)


def topic_partition(item: str) -> Place | None:
    """Returns the topic-partition of an item; None if the item is something else."""
    topic, _, partition = item.rpartition("-")
    number = parse_number(partition, MOST_INT32)
    return (topic, number) if topic and number is not None else None


def partition_entry(place: Place, before: str | None, after: str | None) -> ReassignedPartition:
    """Returns a topic-partition as an element of the column partitions. before, after: member ids of its owners."""
    return ReassignedPartition(*place, before, after, unread_from_ns=None, unread_to_ns=None, unread_ms=None)


def _departed(departure: Departure, gone_by_ns: int | None) -> DepartedMember:
    member = departure.member
    return DepartedMember(
        member_id=member.member_id,
        client_instance_id=member.client_instance_id,
        client_id=member.client_id,
        group_instance_id=member.group_instance_id,
        how=departure.how,
        why=departure.why,
        last_seen_ns=member.last_seen_ns,
        silent_ms=between_ms(member.last_seen_ns, departure.ts_ns if departure.ts_ns is not None else gone_by_ns),
        session_timeout_ms=member.session_timeout_ms,
        request_id=departure.request_id,
    )
