"""Subscriptions, assignments and leave reasons of members of classic groups. This is the only module here that decodes
embedded bytes (kafkascope_parsers.assignments).
"""

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest
from kafkascope_parsers.assignments import Wanted, read_assignment, read_metadata
from kafkascope_parsers.errors import DecodeError
from kafkascope_spark.stories.groups.generation import Generation, Member

USUAL_TYPE = "consumer"
"""Protocol type of a group if the capture does not show it. Bytes of another type do not decode as this one."""


def take_join(member: Member, now: Generation, request: GroupRequest) -> None:
    """Records the timeouts, the subscription and the owned partitions of a member's JoinGroup."""
    body = request.request
    member.session_timeout_ms = body.session_timeout_ms or member.session_timeout_ms
    member.rebalance_timeout_ms = body.rebalance_timeout_ms or member.rebalance_timeout_ms
    now.protocol_type = body.protocol_type or now.protocol_type
    chosen = request.response.protocol_name
    offers = body.protocols
    wanted = [_metadata(now.protocol_type, p.metadata) for p in offers if chosen in (None, "", p.name)]
    known = [w for w in wanted if w is not None]
    if known:
        member.topics = tuple(sorted(known[0].topics))
        member.owned = known[0].owned


def _metadata(protocol_type: str | None, raw: bytes | None) -> Wanted | None:
    try:
        return read_metadata(protocol_type or USUAL_TYPE, raw or b"")
    except DecodeError:
        return None


def assign(member: Member, now: Generation, raw: bytes | None) -> None:
    """Records the assignment of a member; it stays unknown if the bytes do not decode."""
    try:
        given = read_assignment(now.protocol_type or USUAL_TYPE, raw or b"", now.assignor)
    except DecodeError:
        given = None
    if given is not None:
        kept = set(member.owned) - set(given.revoked) if given.is_change else set()
        member.assigned, member.standby = tuple(sorted(kept.union(given.items))), tuple(sorted(given.standby))


def leaving_members(request: GroupRequest, base: dict[str, Member]) -> dict[str, str | None]:
    """Returns member id -> reason for the members that a LeaveGroup removes. Static members may be given by their
    group.instance.id."""
    named = request.request.leaving_members
    if not named:
        return {request.member: None}
    instances = {m.group_instance_id: m.member_id for m in base.values() if m.group_instance_id}
    return {one.member_id or instances.get(one.group_instance_id or "", ""): one.reason or None for one in named}


def join_reason(request: GroupRequest) -> str | None:
    """Returns the reason for which a member says that it joins; None if the reason is only its new member id."""
    reason = request.request.reason or None
    return None if reason is None or reason.endswith(f": {request.member}") else str(reason)
