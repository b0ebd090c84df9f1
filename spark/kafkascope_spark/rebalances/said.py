"""What members of a classic group say when they join, what they are given, and why they leave: the one place here that
has bytes read (kafkascope_parsers.assignments).
"""

from kafkascope_parsers.assignments import Wanted, read_assignment, read_metadata
from kafkascope_parsers.errors import DecodeError
from kafkascope_spark.rebalances.generation import Generation, Member
from kafkascope_spark.rebalances.wire import Exchange

USUAL_TYPE = "consumer"
"""What a group is for where the capture does not say: bytes of another type do not decode as this one's."""


def take_terms(member: Member, now: Generation, x: Exchange) -> None:
    """What the member says when it joins."""
    asked = x.asked
    member.session_timeout_ms = asked.get("session_timeout_ms") or member.session_timeout_ms
    member.rebalance_timeout_ms = asked.get("rebalance_timeout_ms") or member.rebalance_timeout_ms
    now.protocol_type = asked.get("protocol_type") or now.protocol_type
    chosen = x.told.get("protocol_name")
    offers = asked.get("protocols") or []
    wanted = [_wanted(now.protocol_type, p["metadata"]) for p in offers if chosen in (None, "", p["name"])]
    known = [w for w in wanted if w is not None]
    if known:
        member.topics = tuple(sorted(known[0].topics))
        member.owned = known[0].owned


def _wanted(protocol_type: str | None, raw: bytes | None) -> Wanted | None:
    try:
        return read_metadata(protocol_type or USUAL_TYPE, raw or b"")
    except DecodeError:
        return None


def assign(member: Member, now: Generation, raw: bytes | None) -> None:
    """What the member is given; it stays unknown where the bytes do not decode."""
    try:
        given = read_assignment(now.protocol_type or USUAL_TYPE, raw or b"", now.assignor)
    except DecodeError:
        given = None
    if given is not None:
        kept = set(member.owned) - set(given.revoked) if given.is_change else set()
        member.assigned, member.standby = tuple(sorted(kept.union(given.items))), tuple(sorted(given.standby))


def leavers(x: Exchange, base: dict[str, Member]) -> dict[str, str | None]:
    """Member id -> why, of those that a request takes out of the group; static ones may be named by their instance."""
    named = x.asked.get("leavers")
    if not named:
        return {x.member: None}
    instances = {m.group_instance_id: m.member_id for m in base.values() if m.group_instance_id}
    found = {(one["member_id"] or instances.get(one["group_instance_id"], "")): one["reason"] for one in named}
    return {member_id: why or None for member_id, why in found.items()}


def reason(x: Exchange) -> str | None:
    """Why a member joins, in its own words; that it was given a member id is no reason."""
    said = x.asked.get("reason") or None
    return None if said is None or said.endswith(f": {x.member}") else str(said)
