"""What the machine over services needs to know of the clients: who they are, and how long they want to be served."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow

GROUP, SERVICE = "group", "service"
"""Key kinds of the rows that the first stage passes on. What happened at a topic-partition becomes what happened to a
service: how a client, or the group that it is in, was served there."""


@dataclass(frozen=True, slots=True)
class ServiceClient(StageRow):
    """A client of a service. group_id: the group that it reads in. first_ns: its first packet; first_accepted_ns: when
    a broker first accepted records of it, 0 where that was before the capture; last_fetch_ns: its last Fetch request,
    None for none; last_join_ns: its last JoinGroup; left_ns: its end, None while it lives; closed: whether it ended
    because it wanted to."""

    client_instance_id: str
    client_ip: str
    client_id: str | None
    group_id: str | None
    first_ns: int
    first_accepted_ns: int | None
    last_fetch_ns: int | None
    last_join_ns: int | None
    left_ns: int | None
    closed: bool
    shares: bool = False
    """Whether it reads in a share group (KIP-932)."""


def group_of(instance: Instance) -> str | None:
    """The group that a client reads in; None for a client without one."""
    return min(set().union(*(c.groups for c in instance.connections)), default=None)


class ServiceKey(NamedTuple):
    """Under which key the events of a service travel: those of a group with its other events."""

    kind: str
    key: str


def service_key(instance_id: str, group_id: str | None) -> ServiceKey:
    """The key of what a group reads, or of what a client writes, or reads without a group."""
    return ServiceKey(SERVICE, instance_id) if group_id is None else ServiceKey(GROUP, group_id)


def owner_of(instance_id: str, group_id: str | None) -> str:
    """Who wants the service, as ids of stalls are made from it."""
    return f"client {instance_id}" if group_id is None else f"group {group_id}"


def service_clients(instance: Instance, row: ClientRow) -> Iterator[PassedOn]:
    """What the services need to know of a client: of what it writes, and of what its group reads. row: its row of
    `clients`."""
    apis: set[int] = set().union(*(c.apis for c in instance.connections))
    group_id = group_of(instance)
    client = ServiceClient(
        client_instance_id=instance.instance_id,
        client_ip=instance.client_ip,
        client_id=instance.client_id,
        group_id=group_id,
        first_ns=row.first_ns,
        first_accepted_ns=_first_accepted_ns(instance),
        last_fetch_ns=max((c.fetch_span[1] for c in instance.connections if c.fetch_span is not None), default=None),
        last_join_ns=max((c.last_join_ns for c in instance.connections if c.last_join_ns is not None), default=None),
        left_ns=row.left_ns,
        closed=row.end_state == "closed",
        shares=api_keys.SHARE_FETCH in apis,
    )
    if group_id is not None:
        yield _passed_on(client, group_id)
    if api_keys.PRODUCE in apis or api_keys.FETCH in apis:
        yield _passed_on(client, None)


def _passed_on(client: ServiceClient, group_id: str | None) -> PassedOn:
    key = service_key(client.client_instance_id, group_id)
    return PassedOn(key.kind, key.key, client, client.client_instance_id)


def _first_accepted_ns(instance: Instance) -> int | None:
    producing = [c for c in instance.connections if c.produce_span is not None]
    if any(not c.opened_in_capture for c in producing):
        return 0
    return min((c.first_accepted_ns for c in producing if c.first_accepted_ns is not None), default=None)
