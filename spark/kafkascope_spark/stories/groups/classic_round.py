"""Makes the row of a classic group's generation, by comparison with the previous one."""

from kafkascope_spark.stories.findings.wording import duration
from kafkascope_spark.stories.groups.causes import cause_of
from kafkascope_spark.stories.groups.classic_causes import EVICTION_SLACK_NS, Comparison, explanations
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member
from kafkascope_spark.stories.groups.ownership import Ownership
from kafkascope_spark.stories.groups.rebalance_row import MS, Round, last_entered, rebalance_row
from kafkascope_spark.stories.groups.table import RebalanceRow

COOPERATIVE_ASSIGNORS = ("cooperative-sticky", "stream", "compatible", "sessioned")
"""Assignors whose members keep their partitions while they join: those of the consumer and of franz-go (KIP-429), of
Streams since 2.4, and Connect's incremental protocols (KIP-415, KIP-507)."""
Past = tuple[Generation | None, bool]
"""The previous generation, and whether the group had no members since."""


def classic_row(now: Generation, past: Past, capture_end_ns: int | None, ownership: Ownership) -> RebalanceRow:
    """Returns the row of a generation, and updates the ownership to it."""
    before, was_empty = past
    departed, mode = _departures(now, before), _mode(now)
    revoked = ownership.revoked if mode == "cooperative" else frozenset()
    _release(departed, ownership)
    ownership.settle(now.present.values())
    # Partitions that cooperative members give up have no owner until the next round; they are not missing.
    n_more = ownership.n_added or (-ownership.n_missing if mode == "eager" else 0)
    why = explanations(Comparison(now, before, was_empty, departed, revoked, n_more))
    return rebalance_row(
        Round(
            now=now,
            previous=before,
            was_empty=was_empty,
            capture_end_ns=capture_end_ns,
            cause=cause_of(now, why),
            mode=mode,
            departed=departed,
            gone_by_ns=now.rejoin.ts_ns if now.rejoin is not None else _given_up_ns(now),
            changes=ownership.changes,
            moves=ownership.take_moves(),
            is_complete=now.listed is not None,
            last_joiner=last_entered(now),
        )
    )


def _mode(now: Generation) -> str | None:
    """Returns the mode of the rebalance; None if it is not known."""
    if now.assignor is None:
        return None
    kept = now.assignor in COOPERATIVE_ASSIGNORS or any(m.owned for m in now.members.values())
    return "cooperative" if kept else "eager"


def _release(departed: list[Departure], ownership: Ownership) -> None:
    for departure in departed:
        if departure.how != "replaced":
            ownership.release(departure.member.member_id)
        elif departure.why is not None:
            ownership.hand_over(departure.member.member_id, departure.why)


def _departures(now: Generation, before: Generation | None) -> list[Departure]:
    """Returns the members of the previous generation that are not in this one, sorted by their last request."""
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
            found.append(_silent(member, _given_up_ns(now)))
    return sorted(found, key=lambda d: (d.member.last_seen_ns or 0, d.member.member_id))


def _silent(member: Member, given_up_ns: int | None) -> Departure:
    """Returns the departure of a member without a request."""
    limit_ms = member.session_timeout_ms
    if member.last_seen_ns is None or given_up_ns is None or not limit_ms:
        return Departure(member, "unknown", "the capture does not show its last request")
    silent_ns = max(0, given_up_ns - member.last_seen_ns)
    silence = f"{member.name} was silent for {duration(silent_ns)} (session.timeout.ms {limit_ms})"
    is_closed = member.close_ns is not None and member.close_ns <= given_up_ns
    closed = f", its connection ended ({member.close_kind})" if is_closed else ""
    if silent_ns + EVICTION_SLACK_NS >= limit_ms * MS:
        return Departure(member, "evicted", silence + closed)
    why = f"{member.name} did not join again in time (rebalance.timeout.ms {member.rebalance_timeout_ms})"
    return Departure(member, "evicted", why + closed)


def _given_up_ns(now: Generation) -> int | None:
    """Returns the time by which the coordinator had removed the missing members: its first response to JoinGroup."""
    responses = [m.joined_ns for m in now.members.values() if m.joined_ns is not None]
    return min(responses) if responses else now.start_ns
