"""What members of a classic group put into their requests when they join, what they are assigned, and why they leave:
the one place here that has bytes read (kafkascope_parsers.assignments).
"""

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest
from kafkascope_parsers.assignments import Wanted, read_assignment, read_metadata
from kafkascope_parsers.errors import DecodeError
from kafkascope_spark.stories.groups.generation import Generation, Member

USUAL_TYPE = "consumer"
"""What a group is for where the capture does not show it: bytes of another type do not decode as this one's."""


def take_join(member: Member, now: Generation, request: GroupRequest) -> None:
    """Notes the timeouts, the subscription and the owned partitions of a member's JoinGroup."""
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
    """Notes what a member is assigned; it stays unknown where the bytes do not decode."""
    try:
        given = read_assignment(now.protocol_type or USUAL_TYPE, raw or b"", now.assignor)
    except DecodeError:
        given = None
    if given is not None:
        kept = set(member.owned) - set(given.revoked) if given.is_change else set()
        member.assigned, member.standby = tuple(sorted(kept.union(given.items))), tuple(sorted(given.standby))


def leaving_members(request: GroupRequest, base: dict[str, Member]) -> dict[str, str | None]:
    """Member id -> why, of those that a LeaveGroup takes out; static ones may be named by their instance."""
    named = request.request.leaving_members
    if not named:
        return {request.member: None}
    instances = {m.group_instance_id: m.member_id for m in base.values() if m.group_instance_id}
    return {one.member_id or instances.get(one.group_instance_id or "", ""): one.reason or None for one in named}


def join_reason(request: GroupRequest) -> str | None:
    """Why a member joins, in its own words; that it was given a member id is no reason."""
    reason = request.request.reason or None
    return None if reason is None or reason.endswith(f": {request.member}") else str(reason)
