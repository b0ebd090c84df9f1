"""Clients that ended without a clean close."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.incidents.clients.died_clients import died_clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.kinds.not_reading import NOT_READING
from kafkascope_spark.stories.incidents.rows.incident_rows import severity_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow

from .conftest import MakeState, row_of

NS = 1_000_000_000
MakeClient = Callable[..., AffectedClient]


def died(client: MakeClient, host: int, at: float, **more: object) -> AffectedClient:
    return client(host, end_state="died", died_ns=int(at * NS), **more)


def test_clients_of_one_host_that_end_together_are_told_together(client: MakeClient) -> None:
    clients = [
        died(client, 21, 5.0),
        died(client, 21, 5.4, client_instance_id="ci-b", client_id="b"),
        died(client, 21, 9.0, client_instance_id="ci-c", client_id="c"),
        died(client, 22, 5.0),
        client(23),
    ]
    found = list(died_clients(clients, []))
    assert [(f.start_ns, f.subject, sorted(f.client_instance_ids)) for f in found] == [
        (5 * NS, "b (10.0.0.21), client-21 (10.0.0.21)", ["ci-21", "ci-b"]),
        (5 * NS, "client-22 (10.0.0.22)", ["ci-22"]),
        (9 * NS, "c (10.0.0.21)", ["ci-c"]),
    ]
    assert {f.kind.name for f in found} == {"client_died"}


def test_a_producer_that_leaves_a_transaction_open_did_not_close(client: MakeClient) -> None:
    """Its kernel closes its connections in order; a consumer could not read past the transaction for 9 s."""
    reader = row_of(BlockedConsumer, client_instance_id="ci-22", from_ns=5 * NS, until_ns=14 * NS)
    left = row_of(
        TransactionRow, client_instance_id="ci-21", transactional_id="tx", left_ns=4 * NS, held_back=(reader,)
    )
    closed = row_of(TransactionRow, client_instance_id="ci-22", transactional_id="ty")
    clients = [client(21, end_state="closed"), client(22, end_state="closed")]
    (failure,) = died_clients(clients, [], [left, closed])
    assert (failure.start_ns, failure.end_ns, failure.waited_ms) == (4 * NS, 14 * NS, 9_000)
    assert "while the transaction of tx was open, which held back 1 consumer for 9.00 s" in sentence_of(
        failure, None, 0
    )
    assert severity_of(failure) == "warning"


def test_a_client_whose_group_went_on_without_it_is_told_there(
    client: MakeClient, rebalance: Callable[..., object]
) -> None:
    gone = died(client, 21, 5.0)
    told = Failure(MEMBER, "group orders", 5 * NS, 9 * NS)
    told.rebalances = [rebalance(6, 9, {"client-21": 5.0})]
    assert list(died_clients([gone], [told])) == []


@pytest.mark.parametrize(
    ("servers", "at_s", "n"),
    [(("10.0.0.1:9092",), 16, 0), (("10.0.0.1:9092",), 30, 1), (("10.0.0.1:9092", "10.0.0.2:9092"), 16, 1)],
    ids=["it gave up", "it was served again", "another server served it"],
)
def test_a_client_that_gives_up_a_server_that_does_not_read_has_not_died(
    client: MakeClient, state: MakeState, servers: tuple[str, ...], at_s: int, n: int
) -> None:
    """A producer without acknowledgements whose proxy stops to read resets its connection, and opens another one
    (https://github.com/grepplabs/kafka-proxy/issues/54)."""
    failure = Failure(NOT_READING, "node 1", 5 * NS, 16 * NS, states=[state(1, 21, "not_reading", 5, 16)])
    assert len(list(died_clients([died(client, 21, at_s, servers=servers)], [failure]))) == n
