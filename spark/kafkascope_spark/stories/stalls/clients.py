"""`ServiceClient`: the facts about a client that the machine over services needs: its identity, and the time in which
it wants to be served."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow

GROUP, SERVICE = "group", "service"
"""Key kinds of the rows that the first stage passes on. Events of topic-partitions are followed by service: how a
client, or its group, was served at each topic-partition."""


@dataclass(frozen=True, slots=True)
class ServiceClient(StageRow):
    """A client of a service. group_id: the group in which it reads. first_ns: its first packet; first_accepted_ns: when
    a broker first accepted its records, 0 if that was before the capture; last_fetch_ns: its last Fetch request, None
    for none; last_join_ns: its last JoinGroup; left_ns: its end, None if it did not end; closed: whether it closed
    itself."""

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
    late_copies: tuple[tuple[str, int], ...] = ()
    """Its connections on which only its kernel still sent, and since when (Instance.late_copies)."""


def group_of(instance: Instance) -> str | None:
    """Returns the group in which a client reads; None for a client without one."""
    return min(set().union(*(c.groups for c in instance.connections)), default=None)


class ServiceKey(NamedTuple):
    """The key of a service's events. Those of a group have the key of the group's other events."""

    kind: str
    key: str


def service_key(instance_id: str, group_id: str | None) -> ServiceKey:
    """Returns the key of a service: what a group reads, or what a client writes or reads without a group."""
    return ServiceKey(SERVICE, instance_id) if group_id is None else ServiceKey(GROUP, group_id)


def owner_of(instance_id: str, group_id: str | None) -> str:
    """Returns the owner of a service as text, from which ids of stalls are made."""
    return f"client {instance_id}" if group_id is None else f"group {group_id}"


def service_clients(instance: Instance, row: ClientRow) -> Iterator[PassedOn]:
    """Yields the client for the service of what it writes, and for that of what its group reads. row: its row of
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
        late_copies=tuple(sorted(instance.late_copies.items())),
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
