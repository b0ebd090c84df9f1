"""The parts of a row of `rebalances` that are the same for every group protocol."""

import hashlib

from kafkascope_spark.rebalances.generation import Departure, Generation, Member
from kafkascope_spark.rebalances.triggers import Cause
from kafkascope_spark.rebalances.wire import Row

MS = 1_000_000


def head(now: Generation) -> Row:
    """What names the generation."""
    key = f"{now.group_id}|{now.protocol}|{now.number}|{now.start_ns}"
    return {
        "rebalance_id": f"rebalance-{hashlib.sha256(key.encode()).hexdigest()[:16]}",
        "group_id": now.group_id,
        "group_protocol": now.protocol,
        "protocol_type": now.protocol_type,
        "node_id": now.node_id,
        "generation": now.number,
    }


def cause_columns(cause: Cause, now: Generation) -> Row:
    """What made it, and all that proves the generation."""
    proof = dict.fromkeys(cause.request_ids)
    proof |= dict.fromkeys(sorted(now.evidence, key=lambda request_id: (now.evidence[request_id], request_id)))
    return {
        "trigger": cause.trigger,
        "trigger_why": cause.why,
        "trigger_member": cause.member_id,
        "n_refused_commits": now.n_refused,
        "refused_commits": now.refused,
        "fenced": now.fenced,
        "evidence": list(proof),
    }


def span(start_ns: int | None, end_ns: int | None) -> Row:
    """From when to when."""
    known = start_ns is not None and end_ns is not None
    return {
        "start_ns": start_ns,
        "end_ns": end_ns,
        "duration_ms": max(0, (end_ns or 0) - (start_ns or 0)) // MS if known else None,
    }


def who(member: Member) -> Row:
    """Who a member is."""
    return {
        "member_id": member.member_id,
        "client_instance_id": member.client_instance_id,
        "client_id": member.client_id,
        "group_instance_id": member.group_instance_id,
        "conn_id": member.conn_id,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "assigned": None if member.assigned is None else list(member.assigned),
        "standby": list(member.standby),
        "synced_ns": member.synced_ns,
    }


def departed_row(departure: Departure, since_ns: int | None) -> Row:
    """One of `departed`; since_ns: by when the group went on without it."""
    member = departure.member
    since = departure.ts_ns if departure.ts_ns is not None else since_ns
    return {
        "member_id": member.member_id,
        "client_instance_id": member.client_instance_id,
        "client_id": member.client_id,
        "group_instance_id": member.group_instance_id,
        "how": departure.how,
        "why": departure.why,
        "last_heard_ns": member.heard_ns,
        "silent_ms": between_ms(member.heard_ns, since),
        "session_timeout_ms": member.session_timeout_ms,
        "request_id": departure.request_id,
    }


def between_ms(start_ns: int | None, end_ns: int | None) -> int | None:
    """Milliseconds from one to the other; None where one is not known."""
    return None if start_ns is None or end_ns is None else max(0, end_ns - start_ns) // MS
