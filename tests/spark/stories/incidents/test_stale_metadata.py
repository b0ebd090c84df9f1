"""Requests to a broker that leads a topic-partition no longer: whose metadata was stale, by hand and as captured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.analyzer.report.small_dataset import write_table
from tests.spark.stories.incidents.advised import advised

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_analyzer.dataset.topology_facts import REPORTED, Fact, Served
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.errors.stale_metadata import may_have_moved, moved
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery, LeaderReport

from .conftest import NS, MakeRow, Row

UNKNOWN, NOT_LEADER = "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"


def led(node_id: int, since: float, epoch: int, topic_id: str | None = None) -> Fact:
    return Fact(("leader", "orders", 0), node_id, int(since * NS), "request", REPORTED, epoch, topic_id)


def incident_of(
    recovery: ClientRecovery,
    *leaders: Fact,
    served: tuple[Served, ...] = (),
    others: tuple[ClientRecovery, ...] = (),
) -> Row:
    machine = Incidents(0, leadership_of=lambda _: Leadership({"orders-0": leaders}, served))
    for row in (recovery, *others):
        machine.take(row)
    (row,) = batch_of_rows(IncidentRow, [r for r in machine.finish() if isinstance(r, IncidentRow)]).to_pylist()
    assert isinstance(row, dict)
    return row


def went_on(recovery: MakeRow, error: str = UNKNOWN, until: float = 30, **more: Any) -> ClientRecovery:
    """The client at host 21 got errors of node 1 from 5 s on."""
    row: ClientRecovery = recovery(error, 21, 1, 5, None, n_errors=25, client_id="edge", **more)
    row.last_error_ns = int(until * NS)
    return row


@pytest.mark.parametrize("error", [UNKNOWN, NOT_LEADER])
def test_a_client_that_does_not_ask_who_leads_has_stale_metadata(recovery: MakeRow, error: str) -> None:
    row = incident_of(went_on(recovery, error), led(1, 0, 5), led(2, 7, 6))
    assert (row["kind"], row["place"], row["hosts"]) == ("stale_client", "client", ["10.0.0.21"])
    assert "kept sending requests for orders-0" in row["sentence"]
    assert "node 2 led it, which shows at 00:07.000 at the latest" in row["sentence"]
    assert "Create" not in advised(row)


def test_who_goes_on_asking_a_replica_that_is_none_any_longer_has_stale_metadata(recovery: MakeRow) -> None:
    """https://github.com/confluentinc/librdkafka/issues/3399: for hours, where it was sent to a replica before."""
    row = incident_of(went_on(recovery, "REPLICA_NOT_AVAILABLE"), led(2, 0, 5))
    assert (row["kind"], row["severity"]) == ("stale_client", "error")
    assert "node 2 led it" in row["sentence"]
    unknown = incident_of(went_on(recovery, "REPLICA_NOT_AVAILABLE"))
    assert "it has no replica there any longer" in unknown["sentence"]


def test_who_is_served_elsewhere_shows_that_the_partition_is_there(recovery: MakeRow) -> None:
    row = incident_of(went_on(recovery), led(1, 0, 5), served=(Served("orders-0", 3, 2 * NS, 20 * NS),))
    assert row["kind"] == "stale_client"
    assert "node 3 served it to others" in row["sentence"]


def test_what_nobody_leads_meanwhile_is_missing(recovery: MakeRow) -> None:
    assert incident_of(went_on(recovery))["kind"] == "missing_topic"
    assert incident_of(went_on(recovery), led(1, 0, 5))["kind"] == "missing_topic"
    served_before = (Served("orders-0", 3, 1 * NS, 4 * NS),)
    assert incident_of(went_on(recovery), led(1, 0, 5), served=served_before)["kind"] == "missing_topic"


def test_what_is_created_or_moved_afterwards_was_missing(recovery: MakeRow) -> None:
    assert incident_of(went_on(recovery), led(1, 0, 5), led(2, 32, 6))["kind"] == "missing_topic"


def test_a_topic_that_was_created_again_is_another(recovery: MakeRow) -> None:
    with_id = led(1, 0, 5, "first"), led(2, 7, 5, "second")
    assert incident_of(went_on(recovery), *with_id)["kind"] == "missing_topic"
    from_epoch_0 = led(1, 0, 5), led(2, 7, 0)
    assert incident_of(went_on(recovery), *from_epoch_0)["kind"] == "missing_topic"


def test_a_broker_that_knows_no_topic_ids_names_the_same_topic(recovery: MakeRow) -> None:
    leaders = led(1, 0, 5, "A" * 22), led(2, 7, 6, "XR0ZyzUHSBWDAKF_DQT2Gw")
    assert incident_of(went_on(recovery), *leaders)["kind"] == "stale_client"


def test_what_metadata_does_not_know_is_missing(recovery: MakeRow) -> None:
    of_topic = recovery(UNKNOWN, 22, None, 6, 10, resource="orders", first_api_key=3)
    row = incident_of(went_on(recovery), led(1, 0, 5), led(2, 7, 6), others=(of_topic,))
    assert row["kind"] == "missing_topic"


def test_a_client_that_asks_at_once_follows_a_move(recovery: MakeRow) -> None:
    row = went_on(recovery, until=5.2, refresh_trigger="error")
    assert incident_of(row, led(1, 0, 5), led(2, 5.1, 6))["kind"] == "leader_move"


def test_a_broker_that_goes_on_naming_an_older_leader_is_behind(recovery: MakeRow) -> None:
    row = went_on(recovery, NOT_LEADER, refresh_trigger="error")
    row.leader_reports = (
        LeaderReport(3, "10.0.0.3:9092", 1, 29 * NS, 24, 8 * NS),
        LeaderReport(3, "10.0.0.3:9092", 2, 31 * NS, 1, 31 * NS),
    )
    incident = incident_of(row, led(1, 0, 5), led(2, 7, 6))
    assert (incident["kind"], incident["place"], incident["node_id"]) == ("stale_broker", "broker", 3)
    assert "named node 1 as the leader of orders-0 until 00:29.000 (24 Metadata responses)" in incident["sentence"]
    assert "22.0 s after another broker had named node 2 (at 00:07.000)" in incident["sentence"]
    brackets = ("fault_start_after_ns", "fault_start_ns", "fault_end_after_ns", "fault_end_ns")
    assert [incident[name] for name in brackets] == [None, 7 * NS, 29 * NS, 31 * NS]


def test_a_broker_may_need_a_moment_to_learn_of_a_move(recovery: MakeRow) -> None:
    row = went_on(recovery, NOT_LEADER, until=7.5, refresh_trigger="error")
    row.leader_reports = (LeaderReport(3, "10.0.0.3:9092", 1, int(7.5 * NS), 5, 6 * NS),)
    assert incident_of(row, led(1, 0, 5), led(2, 7, 6))["kind"] == "leader_move"


def worst(dataset: Path) -> Row:
    rows: list[Row] = pq.read_table(dataset / "stories" / "incidents").to_pylist()
    return min(rows, key=lambda row: ["error", "warning", "info"].index(row["severity"]))


@pytest.mark.spark
def test_a_moved_partition_is_not_taken_for_a_missing_topic(dataset_of: Callable[..., Path]) -> None:
    """clicks-1 moves from node 1 to node 2, which another client asks; this one never asks for Metadata."""
    dataset = dataset_of("stale_client", rules=["missing_topic"])
    row = worst(dataset)
    assert (row["kind"], row["place"]) == ("stale_client", "client")
    assert row["subject"] == "net-producer (10.0.1.5)"
    assert row["n_stalls"] == 1
    assert "missing_topic" not in pq.read_table(dataset / "stories" / "findings")["rule"].to_pylist()


@pytest.mark.spark
def test_a_broker_that_told_an_older_epoch_for_long_is_the_place(dataset_of: Callable[..., Path]) -> None:
    """Node 3 names node 1 as leader for 48 s after node 2 has named itself."""
    row = worst(dataset_of("stale_broker"))
    assert (row["kind"], row["place"], row["node_id"]) == ("stale_broker", "broker", 3)
    assert row["n_stalls"] == 1


def test_a_client_with_an_older_epoch_of_the_same_leader_has_stale_metadata(recovery: MakeRow) -> None:
    """ListOffsets went on with the epoch that the client knew (https://github.com/confluentinc/librdkafka/issues/4620).
    A leader that was elected again is the same node."""
    asked = went_on(recovery, "FENCED_LEADER_EPOCH", first_api_key=api_keys.LIST_OFFSETS)
    row = incident_of(asked, led(1, 0, 5), led(1, 4, 6))
    assert (row["kind"], row["severity"], row["hosts"]) == ("stale_client", "error", ["10.0.0.21"])
    assert "without asking for Metadata" in row["sentence"]
    assert "the leader has a later epoch than the client knows" in row["sentence"]


@pytest.mark.parametrize(
    ("session_epoch", "named", "kind"),
    [
        (None, [("orders", 2)], "other_partition"),
        (0, [("orders", 2)], "other_partition"),
        (7, [("orders", 2)], "stale_client"),
        (None, [("orders", 2), ("orders", 0)], "stale_client"),
        (None, [], "stale_client"),
    ],
    ids=["without a session", "a new session", "a session goes on", "it was asked for", "not captured"],
)
def test_who_gets_errors_about_what_it_did_not_ask_for_has_no_stale_metadata(
    recovery: MakeRow, tmp_path: Path, session_epoch: int | None, named: list[tuple[str, int]], kind: str
) -> None:
    """A server answers a Fetch of one partition with an error of another (https://github.com/IBM/sarama/issues/1087)."""
    request = {"request_id": "c1-9", "ts_ns": 6 * NS}
    write_table(tmp_path, REQUESTS, [{**request, "fetch_session_epoch": session_epoch}])
    sent = [{**request, "direction": "request", "topic": topic, "partition": number} for topic, number in named]
    answer = {**request, "direction": "response", "topic": "orders", "partition": 0}
    write_table(tmp_path, PARTITIONS, [*sent, answer])
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    leaders = Leadership({"orders-0": (led(1, 0, 5), led(2, 7, 6))})
    machine = Incidents(0, leadership_of=lambda _: leaders, packets=Packets(Dataset.open(tmp_path)))
    machine.take(went_on(recovery, NOT_LEADER, evidence=("c1-9",)))
    (row,) = (each for each in machine.finish() if isinstance(each, IncidentRow))
    assert row.kind == kind
    if kind == "other_partition":
        assert (row.node_id, row.place, row.severity) == (1, "broker", "error")
        assert "about orders-0 from 00:05.000" in row.sentence
        assert "answered requests of edge for orders-2 with 25 errors (NOT_LEADER_OR_FOLLOWER)" in row.sentence


def test_the_leader_at_the_time_of_the_error(recovery: MakeRow) -> None:
    """Node 2 led from 7 s on: an error of node 2 then, and one that was over before, are no errors of a former
    leader."""
    leadership = Leadership({"orders-0": (led(1, 0, 5), led(2, 7, 6))})
    stale = went_on(recovery)
    current = recovery(UNKNOWN, 22, 2, 8, None)
    before = recovery(UNKNOWN, 23, 1, 5, 6)
    found = moved([stale, current, before], leadership)
    assert {name: leader.node_id for name, leader in found.items()} == {stale.recovery_id: 2}


@pytest.mark.parametrize(
    ("error", "more", "expected"),
    [
        (NOT_LEADER, {}, True),
        ("FENCED_LEADER_EPOCH", {}, True),
        ("TOPIC_AUTHORIZATION_FAILED", {}, False),
        (NOT_LEADER, {"old_node_id": None}, False),
        (UNKNOWN, {"resource_kind": "group", "resource": "billing"}, False),
    ],
)
def test_errors_that_a_former_leader_gives(recovery: MakeRow, error: str, more: dict[str, Any], expected: bool) -> None:
    assert may_have_moved(recovery(error, 21, 1, 5, None, **more)) is expected


def test_a_topic_that_metadata_does_not_know_is_missing_whoever_led_it(recovery: MakeRow) -> None:
    leadership = Leadership({"orders-0": (led(1, 0, 5), led(2, 7, 6))})
    about_topic = {"resource": "orders", "first_api_key": api_keys.METADATA}
    for until, n_found in ((None, 0), (6, 0), (4.5, 1)):
        unknown = recovery(UNKNOWN, 22, 1, 4, until, **about_topic)
        assert len(moved([went_on(recovery), unknown], leadership)) == n_found
