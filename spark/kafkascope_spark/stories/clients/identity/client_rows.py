"""The rows of the table `clients`."""

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.candidate import TOGETHER_NS, closed_by_client, end_of
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.library import software_name_of
from kafkascope_spark.stories.clients.table import ClientRow, EndState
from kafkascope_spark.stories.libraries.claimed import claimed_software
from kafkascope_spark.stories.model import Connection

SILENT_NS = 60_000_000_000
"""A client that sent nothing for so long before the end of the capture, on a connection that was not closed, has
died."""


def client_row(instance: Instance, member_ids: list[str], evicted_ns: int, capture_ns: tuple[int, int]) -> ClientRow:
    """The row of an instance.

    member_ids: in order of appearance. evicted_ns: last time that the coordinator had removed the member, 0 for never.
    """
    connections = instance.connections
    kind = instance.kind
    members, transactional_ids, group_instances = instance.group.evidence()
    rest = sorted(members - set(member_ids))
    software = next((c.software_name for c in connections if c.software_name), None)
    guess = software_name_of(instance.library) if software is None else None
    claimed = claimed_software(connections) if instance.is_encrypted else None
    return ClientRow(
        client_instance_id=instance.instance_id,
        client_id=instance.client_id,
        client_ip=instance.client_ip,
        principal=next((c.principal for c in connections if c.principal), None),
        software_name=software or guess,
        software_version=next((c.software_version for c in connections if c.software_version), None),
        software_from="api_versions" if software else "behaviour" if guess else None,
        claimed_software=None if claimed is None else claimed.software,
        claimed_software_why=None if claimed is None else claimed.why,
        kind=kind.kind,
        group_protocol=kind.group_protocol,
        transactions=kind.transactions,
        group_id=None
        if kind.kind == "admin"
        else _named(connections, "group", set().union(*(c.groups for c in connections))),
        member_ids=(*member_ids, *rest),
        group_instance_id=min(group_instances, default=None),
        transactional_id=_named(connections, "transaction", transactional_ids),
        identity="shared" if instance.group.shared else "sole",
        identity_why=_why(instance),
        conn_ids=tuple(c.conn_id for c in connections),
        first_ns=min(c.first_ns for c in connections),
        last_ns=max(c.last_ns for c in connections),
        n_requests=sum(c.n_requests + (c.n_claimed or 0) for c in connections),
        n_errors=None if instance.is_encrypted else sum(c.n_errors for c in connections),
        end_state=_end(connections, evicted_ns, instance, capture_ns),
    )


def _named(connections: list[Connection], coordinator_type: str, used: set[str]) -> str | None:
    """The group or transactional id that the client used, or else for which it requested the coordinator."""
    sought = {key for c in connections for kind, key in c.sought if kind == coordinator_type}
    return min(used or sought, default=None)


def _why(instance: Instance) -> str:
    """How the client was separated from others, and what the capture does not decide."""
    group = instance.group
    if not group.n_ambiguous_attempts:
        return group.why
    return f"{group.why}; {group.n_ambiguous_attempts} more attempts to connect were its own or another client's"


def _end(connections: list[Connection], evicted_ns: int, instance: Instance, capture_ns: tuple[int, int]) -> EndState:
    opened = [c for c in connections if not c.failed_to_open]
    left = [c for c in opened if c.close_ns is None]
    if left:
        return "died" if capture_ns[1] - max(c.last_ns for c in left) > SILENT_NS else "open"
    if evicted_ns and evicted_ns >= instance.last_activity_ns:
        return "evicted"
    return "closed" if opened and not _fell_silent(instance, opened) else "died"


def _fell_silent(instance: Instance, opened: list[Connection]) -> bool:
    """Whether the client ended without a clean close: it reset all its last connections, or it was a member of a group
    that it did not leave, and closed them at once. A static member of a classic group does not leave, and Kafka Streams
    never does (internal.leave.group.on.close). Whether an encrypted client left is not known."""
    last_ns = max(end_of(c) for c in opened)
    last = [c for c in opened if last_ns - end_of(c) <= TOGETHER_NS]
    if all(c.close_kind == "rst_client" for c in last):
        return True
    if instance.is_encrypted:
        return False
    apis: set[int] = set().union(*(c.apis for c in opened))
    is_classic = api_keys.HEARTBEAT in apis and not any(c.group_instances for c in opened)
    is_member = is_classic or not apis.isdisjoint(api_keys.GROUP_HEARTBEATS)
    streams = "-StreamThread-" in (instance.client_id or "")
    has_left = any(c.has_left for c in opened)
    return is_member and not streams and not has_left and all(closed_by_client(c) for c in last)
