"""Transactions of a real capture against what its producers logged, one by one; and the rules about them against what
the lab did."""

import json
import pathlib
from collections import defaultdict
from collections.abc import Callable
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, EVENTS, REQUESTS
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, EVENT_ORDER
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS
from kafkascope_spark.stories.transactions.machine import ClientEnd, Transactions
from kafkascope_spark.stories.transactions.table import TransactionRow

FIXTURES = pathlib.Path(__file__).parents[4] / "fixtures" / "captures"
MS, SECOND = 1_000_000, 1_000_000_000
LOG_LAG_MS = 60
"""A client's log line comes after the wire, at worst so much."""
Rows = list[dict[str, Any]]
ByProducer = dict[str, list[TransactionRow]]
LOGGED = {"txn_commit": "committed", "txn_abort": "aborted", "txn_open": "hanging"}


@pytest.fixture(scope="module")
def dataset(ingested: Callable[..., pathlib.Path]) -> pathlib.Path:
    return ingested(FIXTURES / "txn.pcap.zst")


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((FIXTURES / "txn.truth.json").read_text())
    return raw


@pytest.fixture(scope="module")
def events(dataset: pathlib.Path, truth: dict[str, Any]) -> dict[str, Rows]:
    """The events of each transactional id, as the clients' state machines pass them on: the process that had the
    socket stands for the client instance. All processes ended before the capture did."""
    names = {socket["local"]: client["name"] for client in truth["clients"] for socket in client["sockets"]}
    owner: dict[str, str | None] = {}
    left: dict[str | None, int] = defaultdict(int)
    for row in pq.read_table(dataset / CONNECTIONS.name).to_pylist():
        owner[row["conn_id"]] = name = names.get(f"{row['client_ip']}:{row['client_port']}")
        left[name] = max(left[name], row["last_ns"])
    table = Dataset.open(dataset).read(EVENTS, filter=pc.field("key_kind") == "transaction")
    rows: dict[str, Rows] = defaultdict(list)
    for row in table.sort_by([(name, "ascending") for name in EVENT_ORDER]).to_pylist():
        event = EVENT_CLASSES[row["kind"]].of(row[row["kind"]])
        rows[row["key"]].append(row | {"client_instance_id": owner[row["conn_id"]], row["kind"]: event})
    for key, of_id in rows.items():
        clients = {name for row in of_id if (name := row["client_instance_id"]) is not None}
        keys = {"key": key, "ts_ns": 0, "packet_no": 0, "conn_id": "", "seq": 0, "kind": "client_end"}
        ends = (ClientEnd(name, left[name]) for name in clients)
        rows[key] = [*(keys | {"client_end": end} for end in ends), *of_id]
    return rows


def event_of(row: dict[str, Any]) -> tuple[Any, Origin]:
    """The event, and when and where it was."""
    return row[row["kind"]], Origin(*(row.get(name) for name in Origin._fields))


def transactions(dataset: pathlib.Path, events: Rows) -> list[TransactionRow]:
    """The rows of the table, from events of one transactional id after the other."""
    last_ns = pc.max(pq.read_table(dataset / CAPTURES.name)["last_ns"]).as_py()
    rows: list[TransactionRow] = []
    for name, of_id in groupby(events, key=itemgetter("key")):
        machine = Transactions(name, last_ns)
        rows += chain.from_iterable(machine.take(*event_of(row)) for row in of_id)
        rows += machine.finish()
    return rows


@pytest.fixture(scope="module")
def by_producer(dataset: pathlib.Path, truth: dict[str, Any], events: dict[str, Rows]) -> ByProducer:
    """The rows of each process that has a transactional id, in order."""
    ids = {client["name"]: client["transactional_id"] for client in truth["clients"]}
    found = defaultdict(list)
    for row in transactions(dataset, [row for key in sorted(events) for row in events[key]]):
        assert row.transactional_id == ids[row.client_instance_id]
        found[row.client_instance_id].append(row)
    return {name: sorted(rows, key=lambda row: int(row.transaction_no or 0)) for name, rows in found.items()}


def producers(truth: dict[str, Any]) -> Rows:
    return [client for client in truth["clients"] if client["transactional_id"]]


def test_each_transaction_that_a_producer_logged_is_a_row(truth: dict[str, Any], by_producer: ByProducer) -> None:
    for client in producers(truth):
        logged = [line for line in client["log"] if line["event"] in LOGGED]
        begun = {line["n"]: line["ts_ns"] for line in client["log"] if line["event"] == "txn_begin"}
        rows = by_producer[client["name"]]
        fenced = [row for row in rows if row.outcome == "fenced"]
        assert len(rows) == len(logged) + len(fenced)
        assert bool(fenced) == bool(client["fatal_error"])
        for line, row in zip(logged, rows, strict=False):
            assert (row.outcome, row.n_records) == (LOGGED[line["event"]], line["records"])
            assert row.begin_ns >= begun[line["n"]] - MS
            if row.outcome != "hanging":
                assert -1 <= (line["ts_ns"] - row.end_ns) / MS <= LOG_LAG_MS
                assert row.verdict == "confirmed"


def test_v1_and_v2_and_the_timeout_are_those_of_the_library(truth: dict[str, Any], by_producer: ByProducer) -> None:
    for client in producers(truth):
        rows = by_producer[client["name"]]
        assert {row.transactions for row in rows} == {"v2" if client["lang"] == "java" else "v1"}
        timeout = int(client["props"].get("transaction.timeout.ms", 60_000))
        assert {row.transaction_timeout_ms for row in rows} == {timeout}


def test_offsets_are_those_of_the_group_that_the_process_reads_with(
    truth: dict[str, Any], by_producer: ByProducer
) -> None:
    for client in producers(truth):
        groups = [row.offset_groups for row in by_producer[client["name"]]]
        assert groups == [(client["group"],) if client["group"] else ()] * len(groups)


def test_the_fenced_one_lost_its_id_to_the_one_that_the_lab_started(
    truth: dict[str, Any], by_producer: ByProducer
) -> None:
    started = next(e for e in truth["events"] if e["kind"] == "fencing_producer_started")
    (row,) = [row for row in by_producer[started["detail"]["fences"]] if row.outcome == "fenced"]
    assert row.fenced_by == "fencer"
    assert 0 < row.fenced_ns - started["ts_ns"] < SECOND


def test_the_one_left_open_is_aborted_after_its_timeout(truth: dict[str, Any], by_producer: ByProducer) -> None:
    left = next(e for e in truth["events"] if e["kind"] == "transaction_left_open")["detail"]
    killed = next(e for e in truth["events"] if e["kind"] == "client_killed")
    (row,) = [row for row in by_producer[left["client"]] if row.outcome == "hanging"]
    assert abs(row.left_ns - killed["ts_ns"]) < 100 * MS
    interval_ms = truth["lab"]["broker_properties"]["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
    assert left["timeout_ms"] <= row.duration_ms <= left["timeout_ms"] + interval_ms + 500
    assert row.end_kind == "coordinator"


def test_readers_of_committed_data_wait_behind_it_and_behind_nobody_for_longer(
    truth: dict[str, Any], by_producer: ByProducer
) -> None:
    committed = {c["name"] for c in truth["clients"] if "read_committed" in c["argv"]}
    longest: dict[str, int] = defaultdict(int)
    for name, rows in by_producer.items():
        for stretch in (stretch for row in rows for stretch in row.held_back):
            assert stretch.client_instance_id in committed
            longest[name] = max(longest[name], stretch.until_ns - stretch.from_ns)
    assert longest.pop("hanging") > 8 * SECOND
    assert max(longest.values()) < 2 * SECOND


def test_evidence_opens(dataset: pathlib.Path, by_producer: ByProducer) -> None:
    known = set(pq.read_table(dataset / REQUESTS.name, columns=["request_id"])["request_id"].to_pylist())
    for rows in by_producer.values():
        assert all(row.evidence and set(row.evidence) <= known for row in rows)


@pytest.mark.spark
def test_findings_are_on_those_clients_at_that_time(
    dataset_of: Callable[..., pathlib.Path], truth: dict[str, Any], by_producer: ByProducer
) -> None:
    stories = dataset_of("txn", rules=["fenced_producer", "hanging_transaction"]) / "stories"
    clients = {c["client_instance_id"]: c for c in pq.read_table(stories / CLIENTS.name).to_pylist()}
    found = pq.read_table(stories / FINDINGS.name).to_pylist()
    about = {rule: [f for f in found if f["rule"] == rule] for rule in ("fenced_producer", "hanging_transaction")}
    events = {"fenced_producer": "fencing_producer_started", "hanging_transaction": "transaction_left_open"}
    for rule, kind in events.items():
        event = next(e for e in truth["events"] if e["kind"] == kind)
        (finding,) = about[rule]
        name = event["detail"].get("fences") or event["detail"]["client"]
        process = next(c for c in truth["clients"] if c["name"] == name)
        client = clients[finding["client_instance_id"]]
        assert (client["client_ip"], client["client_id"]) == (process["host_ip"], process["client_id"])
        assert abs(finding["first_ns"] - event["ts_ns"]) < SECOND
        assert finding["subject"] == event["detail"]["transactional_id"]
        assert finding["severity"] == "warning"
    stuck = [f for f in found if f["rule"] == "stuck_consumer"]
    assert {f["severity"] for f in stuck} == {"warning"}
    assert len(stuck) == 2
