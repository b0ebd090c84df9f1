"""Transactions that live producers kept open, and that held back consumers.

Recorded of a librdkafka producer that kept a transaction open for 16 s: the consumer of committed records got nothing
of other producers for 15.6 s. Oracle: when the producer called begin and abort.
"""

from collections.abc import Callable, Iterable

import pytest

from kafkascope_spark.stories.incidents.attribution.held_transactions import held_transactions
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of, severity_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.transactions.table import BlockedConsumer, TransactionRow

from .conftest import NS, row_of

MakeClient = Callable[..., AffectedClient]


def transaction(from_s: float, until_s: float, **more: object) -> TransactionRow:
    """A transaction of the producer ci-21 that held back the consumer ci-22."""
    reader = row_of(
        BlockedConsumer,
        client_instance_id="ci-22",
        partition="orders-0",
        from_ns=int(from_s * NS),
        until_ns=int(until_s * NS),
    )
    own = {"client_instance_id": "ci-21", "transactional_id": "tx", "end_kind": "abort", "end_ns": int(until_s * NS)}
    own |= {"duration_ms": int((until_s - from_s) * 1000), "transaction_timeout_ms": 60_000}
    return row_of(TransactionRow, held_back=(reader,), **{**own, **more})


def found(client: MakeClient, rows: Iterable[TransactionRow], failures: Iterable[Failure] = ()) -> list[Failure]:
    clients = {f"ci-{host}": client(host) for host in (21, 22)}
    return list(held_transactions(rows, clients, failures, 0))


def test_the_producer_is_named_with_who_waited_and_for_how_long(client: MakeClient) -> None:
    (failure,) = found(client, [transaction(10.9, 26.5)])
    assert (failure.kind.name, failure.subject) == ("held_transaction", "client-21 (10.0.0.21)")
    assert sentence_of(failure, failure.end_ns, 0) == (
        "client-21 (10.0.0.21) kept its transaction tx open from 00:10.900 (00:00:10.900 UTC) to 00:26.500 (15.6 s), "
        "which held back 1 consumer for 15.6 s; it was aborted by its producer after 15.6 s. No other client stalled "
        "because of it."
    )
    assert (severity_of(failure), failure.client_instance_ids) == ("error", {"ci-22"})
    known = {f"ci-{host}": client(host, "sarama") for host in (21, 22)}
    (action,) = actions_of(failure, Observed(failure, known, ()))
    assert "Producer.Transaction.Timeout (sarama) (now 60000)" in action.text


@pytest.mark.parametrize(
    ("outcome", "end_ns", "end"),
    [
        ("open", None, "it was still open at the end of the capture"),
        ("cut", 26 * NS, "held back 1 consumer for 16.0 s. No"),
    ],
)
def test_one_that_nothing_ended_is_not_over(outcome: str, end_ns: int | None, end: str, client: MakeClient) -> None:
    """Of one whose end is not in the capture, the responses to its consumers show until when it lasted."""
    (failure,) = found(client, [transaction(10, 26, outcome=outcome, end_kind=None, end_ns=None)])
    assert failure.end_ns == end_ns
    assert end in sentence_of(failure, failure.end_ns, 0)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([transaction(10, 14)], "some seconds of work in a transaction are usual"),
        ([transaction(2, 17)], "the consumer was not seen to be served before"),
        ([transaction(10, 30), transaction(50, 70), transaction(90, 110)], "so it works, as with its checkpoints"),
        ([transaction(10, 26, left_ns=12 * NS)], "its producer ended: another kind"),
        ([transaction(10, 26, fenced_ns=26 * NS)], "another process took over its id"),
        ([transaction(10, 26, transactional_id=None)], "a producer that the capture does not show: a finding"),
        ([transaction(1, 9.9, transactional_id="ty"), transaction(10, 26)], "it always waits behind one of them"),
    ],
)
def test_what_is_usual_or_belongs_to_another_kind_is_none(
    rows: list[TransactionRow], why: str, client: MakeClient
) -> None:
    assert not found(client, rows), why


def test_a_producer_that_could_not_end_its_transaction_is_not_blamed(client: MakeClient) -> None:
    """Its coordinator was down meanwhile: the incident is that of the broker."""
    down = Failure(BROKER_DOWN, "node 1", 12 * NS, 25 * NS, client_instance_ids={"ci-21"})
    before = Failure(BROKER_DOWN, "node 1", 2 * NS, 4 * NS, client_instance_ids={"ci-21"})
    assert not found(client, [transaction(10, 26)], [down])
    assert found(client, [transaction(10, 26)], [before])
