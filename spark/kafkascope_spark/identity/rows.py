"""Rows of `clients`."""

from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.wire import Connection, Row

SILENT_NS = 60_000_000_000
"""A client that sent nothing for so long before the end of the capture, on a connection nobody closed, is gone."""


def client_row(instance: Instance, member_ids: list[str], evicted_ns: int, capture_ns: tuple[int, int]) -> Row:
    """The row of an instance. member_ids: in order of appearance; evicted_ns: last time the group disowned it, 0 for
    never."""
    connections = instance.connections
    kind = instance.kind
    members, transactional_ids, group_instances = instance.group.evidence()
    rest = sorted(members - set(member_ids))
    return {
        "client_instance_id": instance.instance_id,
        "client_id": instance.client_id,
        "client_ip": instance.client_ip,
        "principal": next((c.principal for c in connections if c.principal), None),
        "software_name": next((c.software_name for c in connections if c.software_name), None),
        "software_version": next((c.software_version for c in connections if c.software_version), None),
        "kind": kind.kind,
        "group_protocol": kind.group_protocol,
        "transactions": kind.transactions,
        "group_id": None
        if kind.kind == "admin"
        else _named(connections, "group", set().union(*(c.groups for c in connections))),
        "member_ids": member_ids + rest,
        "group_instance_id": min(group_instances, default=None),
        "transactional_id": _named(connections, "transaction", transactional_ids),
        "identity": "shared" if instance.group.shared else "sole",
        "identity_why": instance.group.why,
        "conn_ids": [c.conn_id for c in connections],
        "first_ns": min(c.first_ns for c in connections),
        "last_ns": max(c.last_ns for c in connections),
        "n_requests": sum(c.n_requests for c in connections),
        "n_errors": sum(c.n_errors for c in connections),
        "end": _end(connections, evicted_ns, instance, capture_ns),
    }


def _named(connections: list[Connection], coordinator_type: str, used: set[str]) -> str | None:
    """The group or transactional id that it used, or else that it asked for the coordinator of."""
    sought = {key for c in connections for kind, key in c.sought if kind == coordinator_type}
    return min(used or sought, default=None)


def _end(connections: list[Connection], evicted_ns: int, instance: Instance, capture_ns: tuple[int, int]) -> str:
    left = [c for c in connections if c.close_ns is None and not c.failed_to_open]
    if not left:
        last = max(connections, key=lambda c: (c.close_ns or c.last_ns, c.conn_id))
        if evicted_ns and evicted_ns >= instance.last_activity_ns:
            return "evicted"
        return "died" if last.close_kind in ("rst_client", "unanswered", "refused") else "closed"
    return "died" if capture_ns[1] - max(c.last_ns for c in left) > SILENT_NS else "open"
