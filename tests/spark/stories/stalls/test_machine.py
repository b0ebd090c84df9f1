"""Which clients a service has, and what its stalls are: waits of a producer by itself, and of a group's members
together."""

from collections.abc import Callable

from kafkascope_analyzer.dataset.row_types import column_converters
from kafkascope_analyzer.dataset.tables.event_kinds.services import FetchRun, ProduceWait
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.kinds import kind_of
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.stalls.clients import (
    ServiceClient,
    group_of,
    owner_of,
    service_clients,
    service_key,
)
from kafkascope_spark.stories.stalls.machine import ClientService, Service, ServiceEvent
from kafkascope_spark.stories.stalls.stall import StallLimits

S = 1_000_000_000
LIMITS = StallLimits(100 * S, S)
Make = Callable[..., Connection]


Taken = tuple[ServiceEvent, Origin]


def of_client(client: str, event: ServiceEvent) -> Taken:
    return event, Origin(1, 0, 0, 0, "", 0, client, None)


def client(name: str, group_id: str | None = None) -> Taken:
    known = ServiceClient(name, "10.0.0.1", f"id of {name}", group_id, 0, 1, 90 * S, None, None, closed=False)
    return of_client(name, known)


def written(name: str, partition: int, created: int, accepted: int | None) -> Taken:
    sent, ended = created * S, None if accepted is None else accepted * S
    ids = f"p{created}", f"p{created}"
    event = ProduceWait("t", partition, 3, *ids, 1, sent, sent, sent, ended, None, ended, None, 1)
    return of_client(name, event)


def read(name: str, span: tuple[int, int], offsets: tuple[int, int], waits_from: int | None) -> Taken:
    first, last = span
    since = None if waits_from is None else waits_from * S
    ids = f"{name}-{first}", f"{name}-{last}"
    return of_client(
        name, FetchRun("t", 0, 1, *ids, 1, 1, None, None, first * S, last * S, *offsets, since, None, None, 0)
    )


def test_each_topic_partition_that_a_client_wrote_has_its_stalls() -> None:
    machine = ClientService(LIMITS)
    for one in (client("ci-1"), written("ci-1", 0, 10, 14), written("ci-1", 1, 20, None), written("ci-1", 1, 40, 41)):
        machine.take(*one)
    stalls = list(machine.finish())
    assert [(s.kind, s.partition, s.from_ns // S, s.to_ns and s.to_ns // S) for s in stalls] == [
        ("produce", 0, 10, 14),
        ("produce", 1, 20, 41),
    ]
    assert {(s.client_instance_id, s.client_id, s.group_id, s.incident_id) for s in stalls} == {
        ("ci-1", "id of ci-1", None, None)
    }
    assert stalls[0].evidence == ("p10",)
    assert [stall.is_severe for stall in stalls] == [False, True]


def test_members_of_a_group_are_served_together() -> None:
    """ci-2 goes on 5 s after records were there that ci-1 did not fetch any more."""
    service = Service("g")
    for one in (client("ci-1", "g"), client("ci-2", "g"), read("ci-1", (1, 10), (0, 100), 12)):
        service.take(*one)
    service.take(*read("ci-2", (17, 30), (100, 150), None))
    (stall,) = service.stalls(LIMITS)
    assert (stall.kind, stall.group_id, stall.from_ns // S, stall.to_ns // S) == ("consume", "g", 12, 17)
    assert (stall.client_instance_id, stall.served) == ("ci-2", True)
    ((place, (unread,)),) = service.unread(LIMITS.end_ns).items()
    assert (place, unread.from_ns // S, unread.waited_ms(LIMITS.end_ns)) == (("t", 0), 12, 5_000)
    assert [(run.client_instance_id, run.first_offset) for run in service.fetched()] == [("ci-1", 0), ("ci-2", 100)]


def test_a_client_is_known_to_what_it_writes_and_to_its_group(connection: Make) -> None:
    made = connection("c1", 2, None)
    made.apis, made.groups = {api_keys.PRODUCE, api_keys.FETCH}, {"g": 5, "h": 9}
    made.produce_span = made.fetch_span = (3 * S, 8 * S)
    made.first_accepted_ns = 4 * S
    instance = Instance("ci-1", "10.0.0.9", "app", kind_of([made]), Group([made]), [made])
    known = {"first_ns": 2, "end_state": "closed", "last_ns": 9 * S, "client_instance_id": "ci-1"}
    of_table = ClientRow(**{name: known.get(name, make(None)) for name, make in column_converters(ClientRow).items()})
    found = list(service_clients(instance, of_table))
    assert [(each.key_kind, each.key) for each in found] == [service_key("ci-1", "g"), service_key("ci-1", None)]
    one = found[0].body
    assert isinstance(one, ServiceClient)
    assert (one.client_ip, one.group_id, one.first_accepted_ns, one.last_fetch_ns) == ("10.0.0.9", "g", 4 * S, 8 * S)
    assert one.closed
    assert group_of(instance) == "g"
    assert owner_of("ci-1", None) != owner_of("ci-1", "ci-1"), "a group may have the name of a client"
