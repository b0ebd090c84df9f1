"""The rules on transactions, each on rows that say one thing."""

import pathlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_spark.queries.transform import findings
from kafkascope_spark.stories.findings.rules import fenced_producer, hanging_transaction, stuck_consumer
from kafkascope_spark.stories.tables import CLIENTS, TRANSACTIONS
from kafkascope_spark.tables import Tables

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000
NOON = 1_700_000_000 * SECOND
RULES = (fenced_producer.RULE, hanging_transaction.RULE, stuck_consumer.RULE)
Row = dict[str, Any]
HEALTHY = ("committed", "aborted", "open", "cut")


def transaction(name: str, outcome: str, **said: Any) -> Row:
    """A transaction of the client `name` that began at NOON; its transactional id is `name`-tx."""
    base = {"transaction_no": 1, "transactional_id": f"{name}-tx", "client_instance_id": name, "outcome": outcome}
    counts = {"n_records": 3, "evidence": [f"{name}-1"], "begin_ns": NOON, "duration_ms": 1_000}
    return {**base, **counts, "transaction_timeout_ms": 9_000, "held_back": [], **said}


def held(reader: str, seconds: int) -> Row:
    span = {"from_ns": NOON, "until_ns": NOON + seconds * SECOND}
    return {"client_instance_id": reader, "partition": "t-0", "records": 5, "request_id": f"{reader}-7", **span}


CASES = [
    *(transaction(f"well-{outcome}", outcome, held_back=[held("reader", 5)]) for outcome in HEALTHY),
    transaction("zombie", "fenced", fenced_by="heir", fenced_ns=NOON + SECOND, end_ns=NOON + 2 * SECOND),
    transaction("left", "fenced", transactional_id="both-tx", fenced_by="right", fenced_ns=NOON + SECOND),
    transaction("right", "fenced", transactional_id="both-tx", fenced_by="left", fenced_ns=NOON + 2 * SECOND),
    transaction("lost", "fenced", n_records=0, end_ns=NOON + SECOND),
    transaction("dead", "hanging", left_ns=NOON + SECOND, held_back=[held("reader", 8), held("other", 8)]),
    transaction("slow", "aborted", end_kind="coordinator", end_ns=NOON + 10 * SECOND),
    *(
        transaction("slower", "aborted", end_kind="coordinator", begin_ns=NOON + at, end_ns=NOON + at + 10 * SECOND)
        for at in (0, 20 * SECOND, 40 * SECOND)
    ),
    transaction("flink", "committed", duration_ms=90_000, held_back=[held("patient", 90)]),
    transaction("", "cut", transactional_id=None, client_instance_id=None, held_back=[held("waiting", 20)]),
    transaction("", "cut", transactional_id=None, client_instance_id=None, held_back=[held("stuck", 61)]),
]


@pytest.fixture(scope="module")
def found(spark: Any, as_dataset: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    dataset = tmp_path_factory.mktemp("rules")
    named = {row["client_instance_id"] for row in CASES} | {"reader", "other", "heir", "patient"}
    clients = [{"client_instance_id": n, "client_id": n, "client_ip": "10.0.0.1"} for n in sorted(named - {None, ""})]
    write(dataset, CLIENTS, clients)
    write(dataset, TRANSACTIONS, CASES)
    tables = Tables(spark, as_dataset(dataset, (NOON - SECOND, NOON + 100 * SECOND)))
    rows: list[Row] = findings(tables, RULES).toArrow().to_pylist()
    return rows


def write(dataset: pathlib.Path, table: Table, rows: list[Row]) -> None:
    place = dataset / "stories" / table.name
    place.mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist([{"cluster": "", **row} for row in rows], schema=table.schema), place / "part-0.parquet"
    )


def about(found: list[Row], rule: str, client: str) -> Row:
    (row,) = [row for row in found if (row["rule"], row["client_instance_id"]) == (rule, client)]
    return row


def test_what_ends_by_itself_is_no_finding(found: list[Row]) -> None:
    assert not [row for row in found if "well" in row["sentence"]]
    assert len(found) == 4 + 3 + 5


def test_fenced_by_whom_and_when(found: list[Row]) -> None:
    row = about(found, "fenced_producer", "zombie")
    assert row["sentence"] == (
        "zombie (10.0.0.1) was fenced: heir (10.0.0.1) took its transactional id zombie-tx over at 00:02.000 "
        "(22:13:21.000 UTC); 3 records of its open transaction lost"
    )
    assert (row["severity"], row["subject"], row["first_ns"]) == ("warning", "zombie-tx", NOON + SECOND)
    assert (row["evidence"], row["conn_ids"]) == (["zombie-1"], ["zombie"])
    unseen = about(found, "fenced_producer", "lost")
    assert "a producer that the capture does not show" in unseen["sentence"]
    assert "records" not in unseen["sentence"]


def test_two_that_take_the_id_by_turns_are_an_error(found: list[Row]) -> None:
    for client in ("left", "right"):
        row = about(found, "fenced_producer", client)
        assert (row["severity"], row["subject"]) == ("error", "both-tx")
        assert "by turns" in row["sentence"]


def test_hanging_is_an_error_until_the_coordinator_ends_it(found: list[Row]) -> None:
    dead, slow = about(found, "hanging_transaction", "dead"), about(found, "hanging_transaction", "slow")
    assert (dead["severity"], slow["severity"]) == ("error", "warning")
    assert dead["first_ns"] == NOON + SECOND
    assert "ended at 00:02.000 (22:13:21.000 UTC)" in dead["sentence"]
    assert "2 read_committed consumers waited" in dead["sentence"]
    assert "the coordinator aborted it at 00:11.000" in slow["sentence"]
    assert "(now 9000)" in slow["advice"]


def test_a_producer_that_is_too_slow_again_and_again_is_one_finding(found: list[Row]) -> None:
    row = about(found, "hanging_transaction", "slower")
    assert "kept 3 transactions of slower-tx open for longer than their timeout" in row["sentence"]
    assert row["severity"] == "warning"


@pytest.mark.parametrize(
    ("reader", "severity"),
    [("reader", "warning"), ("other", "warning"), ("patient", "info"), ("waiting", "info"), ("stuck", "warning")],
)
def test_a_reader_behind_what_hangs_or_behind_nobody_knows_what(found: list[Row], reader: str, severity: str) -> None:
    row = about(found, "stuck_consumer", reader)
    assert (row["severity"], row["subject"]) == (severity, "t-0")
    assert f"{reader}-7" in row["evidence"]
    assert ("the capture does not show" in row["sentence"]) == (reader in ("waiting", "stuck"))
