"""To which incident starts, rebalances, recoveries and transactions belong, from rows written by hand. Node 2 is silent
from 5 to 20 s."""

from dataclasses import replace
from typing import Any

import pytest

from kafkascope_spark.stories.incidents.attribution.consequences import NEAR_NS, Consequences
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_silent import BROKER_SILENT
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

from .conftest import NS, MakeRow, MakeStall, MakeState, row_of


@pytest.fixture
def silent_broker(state: MakeState) -> list[BrokerState]:
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "silent", 5, 20), state(2, 21, "serving", 20, 60)]
    return rows + [state(node, host, "serving", 0, 60) for node in (1, 3) for host in (21, 22)]


def owners(states: list[BrokerState], **found: list[Any]) -> dict[str, str | None]:
    """startup_id, rebalance_id, recovery_id or transactional id -> kind of the incident."""
    machine = Incidents(0)
    for rows in {"broker_state": states, **found}.values():
        for row in rows:
            machine.take(row)
    out = list(machine.finish())
    kinds = {row.incident_id: row.kind for row in out if isinstance(row, IncidentRow)}
    names = {"startups": "startup_id", "rebalances": "rebalance_id", "recoveries": "recovery_id"}
    names["transactions"] = "transactional_id"
    found_in = ((row, names[row.TABLE.name]) for row in out if row.TABLE.name in names)
    return {getattr(row, name): kinds.get(getattr(row, "incident_id", None)) for row, name in found_in}


def start(host: int, start_s: float, subject: str | None = None) -> StartupRow:
    name = f"start-{host}-{start_s}"
    ns = int(start_s * NS)
    return row_of(StartupRow, startup_id=name, client_instance_id=f"ci-{host}", start_ns=ns, failed_subject=subject)


def transaction(name: str, host: int, begin: float, end: float | None) -> TransactionRow:
    return row_of(
        TransactionRow,
        transactional_id=name,
        transaction_no=1,
        client_instance_id=f"ci-{host}",
        begin_ns=int(begin * NS),
        end_ns=None if end is None else int(end * NS),
    )


def test_a_start_belongs_to_what_its_client_met(silent_broker: list[BrokerState], recovery: MakeRow) -> None:
    met = recovery("REQUEST_UNANSWERED", 22, 2, 8, None, resource_kind="connection", resource="10.0.0.2:9092")
    starts = [start(22, 7, "10.0.0.2:9092"), start(23, 7), start(22, 40)]
    found = owners(silent_broker, recovery=[met], failed_start=starts)
    assert found == {
        met.recovery_id: "broker_silent",
        "start-22-7": "broker_silent",
        "start-23-7": None,  # this client met nothing
        "start-22-40": None,  # the broker had long been back
    }


def test_a_rebalance_belongs_to_what_its_group_met(
    silent_broker: list[BrokerState], stall: MakeStall, rebalance: MakeRow
) -> None:
    membership = stall("membership", 21, 2, 6, 14, group_id="orders-app")
    first, follows, later = rebalance(7, 9), rebalance(14.5, 15), rebalance(40, 41)
    found = owners(silent_broker, stall=[membership], rebalance=[replace(first, trigger="first"), follows, later])
    assert found == {"reb-7": None, "reb-14.5": "broker_silent", "reb-40": None}


def test_who_joins_while_records_wait_follows_from_nothing(
    silent_broker: list[BrokerState], stall: MakeStall, rebalance: MakeRow
) -> None:
    waiting = stall("consume", 21, 2, 6, 14, group_id="orders-app")
    assert owners(silent_broker, stall=[waiting], rebalance=[rebalance(8, 9)]) == {"reb-8": None}


def test_a_rebalance_that_explains_a_stall_belongs_to_its_incident(stall: MakeStall, rebalance: MakeRow) -> None:
    waiting = stall("consume", 21, 2, 6, 14, group_id="orders-app")
    assert owners([], stall=[waiting], rebalance=[rebalance(12, 14, {"client-22": 5})]) == {"reb-12": "member"}


def test_a_transaction_belongs_to_what_its_id_or_its_client_met(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    stalls = [stall("transaction", 21, 2, 6, 14, transactional_id="tx-a"), stall("produce", 22, 2, 6, 14)]
    rows = [transaction("tx-a", 24, 5, 15), transaction("tx-b", 22, 5, None), transaction("tx-c", 23, 5, 15)]
    found = owners(silent_broker, stall=stalls, transaction=rows)
    assert found == {"tx-a": "broker_silent", "tx-b": "broker_silent", "tx-c": None}


@pytest.mark.parametrize(
    ("name", "begin_s", "found"),
    [
        ("tx-1", 6, True),
        ("tx-2", 6, False),  # another id, of a client that had no trouble
        ("tx-1", 20 + NEAR_NS / NS, True),
        ("tx-1", 20.5 + NEAR_NS / NS, False),
        ("tx-1", 1, False),  # it was over before
    ],
)
def test_a_transaction_belongs_to_what_its_id_waited_for(
    stall: MakeStall, name: str, begin_s: float, found: bool
) -> None:
    failure = Failure(BROKER_SILENT, "node 2", 5 * NS, 20 * NS, node_id=2)
    failure.stalls = [stall("transaction", 21, 2, 5, 20, transactional_id="tx-1")]
    row = transaction(name, 22, begin_s, begin_s + 1)
    (made,) = Consequences({failure: "incident-1"}, {}).with_incidents((), (), (), [row])
    assert isinstance(made, TransactionRow)
    assert made.incident_id == ("incident-1" if found else None)
