"""Transactions of a real capture against what its producers logged, one by one; and the rules about them against what
the lab did."""

import json
import pathlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.stories import CLIENTS, FINDINGS, TRANSACTIONS
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories import capture_span
from kafkascope_spark.tables import Tables
from kafkascope_spark.transactions.events import transaction_events
from kafkascope_spark.transactions.transform import teller, transactions

pytestmark = pytest.mark.spark

CAPTURES = pathlib.Path(__file__).parents[3] / "fixtures" / "captures"
MS, SECOND = 1_000_000, 1_000_000_000
LOG_LAG_MS = 60
"""A client's log line comes after the wire, at worst so much."""
Rows = list[dict[str, Any]]
LOGGED = {"txn_commit": "committed", "txn_abort": "aborted", "txn_open": "hanging"}


@pytest.fixture(scope="module")
def dataset(told: Callable[[str], pathlib.Path]) -> pathlib.Path:
    return told("txn")


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((CAPTURES / "txn.truth.json").read_text())
    return raw


@pytest.fixture(scope="module")
def by_producer(dataset: pathlib.Path, truth: dict[str, Any]) -> dict[str, Rows]:
    """The rows of each process that has a transactional id, in order."""
    clients = {c["client_instance_id"]: c for c in pq.read_table(dataset / "stories" / CLIENTS.name).to_pylist()}
    names = {(c["host_ip"], c["client_id"]): c["name"] for c in truth["clients"]}
    found = defaultdict(list)
    for row in pq.read_table(dataset / "stories" / TRANSACTIONS.name).to_pylist():
        client = clients[row["client_instance_id"]]
        name = names[client["client_ip"], client["client_id"].removesuffix("-producer")]
        assert row["transactional_id"] == next(c for c in truth["clients"] if c["name"] == name)["transactional_id"]
        found[name].append(row)
    return {name: sorted(rows, key=lambda row: int(row["transaction_no"])) for name, rows in found.items()}


def producers(truth: dict[str, Any]) -> Rows:
    return [client for client in truth["clients"] if client["transactional_id"]]


def test_each_transaction_that_a_producer_logged_is_a_row(truth: dict[str, Any], by_producer: dict[str, Rows]) -> None:
    for client in producers(truth):
        logged = [line for line in client["log"] if line["event"] in LOGGED]
        begun = {line["n"]: line["ts_ns"] for line in client["log"] if line["event"] == "txn_begin"}
        rows = by_producer[client["name"]]
        fenced = [row for row in rows if row["outcome"] == "fenced"]
        assert len(rows) == len(logged) + len(fenced)
        assert bool(fenced) == bool(client["fatal_error"])
        for line, row in zip(logged, rows, strict=False):
            assert (row["outcome"], row["n_records"]) == (LOGGED[line["event"]], line["records"])
            assert row["begin_ns"] >= begun[line["n"]] - MS
            if row["outcome"] != "hanging":
                assert -1 <= (line["ts_ns"] - row["end_ns"]) / MS <= LOG_LAG_MS
                assert row["verdict"] == "confirmed"


def test_v1_and_v2_and_the_timeout_are_those_of_the_library(
    truth: dict[str, Any], by_producer: dict[str, Rows]
) -> None:
    for client in producers(truth):
        rows = by_producer[client["name"]]
        assert {row["transactions"] for row in rows} == {"v2" if client["lang"] == "java" else "v1"}
        timeout = int(client["props"].get("transaction.timeout.ms", 60_000))
        assert {row["transaction_timeout_ms"] for row in rows} == {timeout}


def test_offsets_are_those_of_the_group_that_the_process_reads_with(
    truth: dict[str, Any], by_producer: dict[str, Rows]
) -> None:
    for client in producers(truth):
        groups = [row["offset_groups"] for row in by_producer[client["name"]]]
        assert groups == [[client["group"]] if client["group"] else []] * len(groups)


def test_the_fenced_one_lost_its_id_to_the_one_that_the_lab_started(
    truth: dict[str, Any], by_producer: dict[str, Rows]
) -> None:
    started = next(e for e in truth["events"] if e["kind"] == "fencing_producer_started")
    (row,) = [row for row in by_producer[started["detail"]["fences"]] if row["outcome"] == "fenced"]
    fencers = {row["client_instance_id"] for row in by_producer["fencer"]}
    assert {row["fenced_by"]} == fencers
    assert 0 < row["fenced_ns"] - started["ts_ns"] < SECOND


def test_the_one_left_open_is_aborted_after_its_timeout(truth: dict[str, Any], by_producer: dict[str, Rows]) -> None:
    left = next(e for e in truth["events"] if e["kind"] == "transaction_left_open")["detail"]
    killed = next(e for e in truth["events"] if e["kind"] == "client_killed")
    (row,) = [row for row in by_producer[left["client"]] if row["outcome"] == "hanging"]
    assert abs(row["left_ns"] - killed["ts_ns"]) < 100 * MS
    interval_ms = truth["lab"]["broker_properties"]["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
    assert left["timeout_ms"] <= row["duration_ms"] <= left["timeout_ms"] + interval_ms + 500
    assert row["end_kind"] == "coordinator"


def test_readers_of_committed_data_wait_behind_it_and_behind_nobody_for_longer(
    dataset: pathlib.Path, truth: dict[str, Any], by_producer: dict[str, Rows]
) -> None:
    clients = {c["client_instance_id"]: c for c in pq.read_table(dataset / "stories" / CLIENTS.name).to_pylist()}
    committed = {c["name"] for c in truth["clients"] if "read_committed" in c["argv"]}
    names = {(c["host_ip"], c["client_id"]): c["name"] for c in truth["clients"]}
    longest: dict[str, int] = defaultdict(int)
    for name, rows in by_producer.items():
        for stretch in (stretch for row in rows for stretch in row["held_back"]):
            reader = clients[stretch["client_instance_id"]]
            assert names[reader["client_ip"], reader["client_id"].removesuffix("-consumer")] in committed
            longest[name] = max(longest[name], stretch["until_ns"] - stretch["from_ns"])
    assert longest.pop("hanging") > 8 * SECOND
    assert max(longest.values()) < 2 * SECOND


def test_evidence_opens(dataset: pathlib.Path, by_producer: dict[str, Rows]) -> None:
    known = set(pq.read_table(dataset / REQUESTS.name, columns=["request_id"])["request_id"].to_pylist())
    for rows in by_producer.values():
        assert all(row["evidence"] and set(row["evidence"]) <= known for row in rows)


def test_findings_are_on_those_clients_at_that_time(
    dataset: pathlib.Path, truth: dict[str, Any], by_producer: dict[str, Rows]
) -> None:
    found = pq.read_table(dataset / "stories" / FINDINGS.name).to_pylist()
    about = {rule: [f for f in found if f["rule"] == rule] for rule in ("fenced_producer", "hanging_transaction")}
    events = {"fenced_producer": "fencing_producer_started", "hanging_transaction": "transaction_left_open"}
    for rule, kind in events.items():
        event = next(e for e in truth["events"] if e["kind"] == kind)
        (finding,) = about[rule]
        name = event["detail"].get("fences") or event["detail"]["client"]
        assert finding["client_instance_id"] == by_producer[name][0]["client_instance_id"]
        assert abs(finding["first_ns"] - event["ts_ns"]) < SECOND
        assert finding["subject"] == event["detail"]["transactional_id"]
        assert finding["severity"] == "warning"
    stuck = [f for f in found if f["rule"] == "stuck_consumer"]
    assert {f["severity"] for f in stuck} == {"warning"}
    assert len(stuck) == 2


@pytest.mark.parametrize("partitions", [2, 7])
def test_the_same_rows_for_any_number_of_partitions(dataset: pathlib.Path, spark: Any, partitions: int) -> None:
    tables = Tables(spark, dataset, capture_span(dataset))
    order = ["transactional_id", "ts_ns", "packet_no", "request_id"]
    spread = transaction_events(tables).repartition(partitions, "transactional_id").sortWithinPartitions(*order)
    one = transactions(tables)
    many = spread.mapInArrow(teller(tables.capture_ns), one.schema)
    key = [("transactional_id", "ascending"), ("transaction_no", "ascending")]
    assert many.toArrow().sort_by(key) == one.toArrow().sort_by(key)
