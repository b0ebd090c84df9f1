"""The connections of one client address, grouped into clients."""

from collections import Counter

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.clients.address import Address, Owner
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.stalls.stall import StallLimits

from .test_machine import MS, row

CAPTURE_NS = (0, 9_000 * MS)


def test_each_connection_has_one_owner_and_each_owner_one_row() -> None:
    address = Address("10.0.0.1", CAPTURE_NS, StallLimits(CAPTURE_NS[1], 1_000 * MS), FailedParts())
    names = [f"c{at}" for at in (1, 5, 70)]
    for at in (1, 5, 70):
        address.take(*row("10.0.0.1", f"c{at}", at))
    assert address.owners() == {}  # not all connections are known yet
    clients = [made for made in address.finish() if isinstance(made, ClientRow)]
    owners = address.owners()
    assert list(owners) == names
    per_client = Counter(owner.client_instance_id for owner in owners.values())
    assert per_client == {client.client_instance_id: len(client.conn_ids) for client in clients}
    assert all(isinstance(owner, Owner) and owner.group_id is None for owner in owners.values())
    assert {client.client_ip for client in clients} == {"10.0.0.1"}


def test_an_address_without_connections_makes_no_client() -> None:
    address = Address("10.0.0.1", CAPTURE_NS, StallLimits(CAPTURE_NS[1], 1_000 * MS), FailedParts())
    assert [*address.ready(), *address.finish()] == []
