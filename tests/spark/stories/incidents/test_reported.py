"""Situations that users reported: what failed, and what has to change, is told by what brokers said."""

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised as advice_of

from kafkascope_spark.queries.statement import words_of
from kafkascope_spark.stories.findings.registry import RULES

pytestmark = pytest.mark.spark

TOLD = {
    "offset_reset_loop": (
        ("offset_out_of_range", "events", "error"),
        ("shop-events (10.0.1.5) got OFFSET_OUT_OF_RANGE", "sent the same again and again"),
        ("--to-earliest", "--topic events"),
    ),
    "transaction_never_completed": (
        ("transaction_pending", "orders-1", "error"),
        ("orders-tx (10.0.1.21) got CONCURRENT_TRANSACTIONS", "the coordinator has not completed the transaction"),
        ("describe --transactional-id orders-1", "node 2"),
    ),
    "unstable_offset_commit": (
        ("transaction_pending", "zstd", "error"),
        ("prod-core (10.0.1.5) got UNSTABLE_OFFSET_COMMIT 115 times",),
        ("the transaction that commits offsets of this group",),
    ),
    "wrong_checksum": (
        ("records_refused", "clicks", "error"),
        ("tracker (10.0.1.20) got CORRUPT_MESSAGE 112 times for clicks-0",),
        ("compression",),
    ),
    "records_without_key": (
        ("records_refused", "profiles", "error"),
        ("INVALID_RECORD 14 times", "One or more records have been rejected"),
        ("Give each record a key where the topic is compacted",),
    ),
    "skipped_sequence": (
        ("producer_refused", "audit", "error"),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER 160 times", "auditor stalled, for 39.3 s"),
        ("InitProducerId",),
    ),
    "coordinator_named_again": (
        ("no_coordinator", "stock", "error"),
        ("Node 2 kept answering that it does not coordinate stock",),
        ("__consumer_offsets",),
    ),
    "no_leader": (
        ("no_leader", "orders-0", "error"),
        ("orders-0 had no leader", "1 client could not work"),
        ("Bring back the brokers that have its in-sync replicas",),
    ),
    "leader_named_again": (
        ("no_leader", "orders-0", "error"),
        ("Node 2 kept answering that it does not lead orders-0", "while node 1 (10.0.0.11:9092) kept naming it"),
        ("The brokers disagree",),
    ),
    "too_few_replicas": (
        ("too_few_replicas", "orders", "error"),
        ("shop (10.0.1.20) got NOT_ENOUGH_REPLICAS 170 times", "shop stalled, for 34.4 s"),
        ("--under-min-isr-partitions", "loses what was acknowledged"),
    ),
    "old_generation": (
        ("member", "group billing", "error"),
        ("billing-1 was no longer a member of group billing (ILLEGAL_GENERATION)", "continued without joining again"),
        ("Restart billing-1",),
    ),
    "committed_from_outside": (
        ("outsider", "group workers", "error"),
        ("replayer (10.0.1.5) committed offsets of group workers without being a member of it",),
        ("a group.id of its own", "No timeout changes that"),
    ),
    "codec_of_a_later_fetch": (
        ("fetch_refused", "events", "error"),
        ("reporting (10.0.1.5) got UNSUPPORTED_COMPRESSION_TYPE 175 times for events-0",),
        ("zstd needs Fetch v10", "compression.type of events"),
    ),
    "tls_at_plaintext": (
        ("client", "10.0.1.5 at 10.0.0.11:9092", "error"),
        ("10.0.1.5 spoke TLS to 10.0.0.11:9092, which does not use TLS",),
        ("PLAINTEXT",),
    ),
    "forgotten_flow": (
        ("dead_flow", "node 1 (10.0.0.11:9092)", "error"),
        ("1 connection between 10.0.1.20 and node 1 (10.0.0.11:9092) was dead", "or a new one worked at once"),
        ("load balancer that forgets", "connections.max.idle.ms"),
    ),
    "version_not_taken": (
        ("lost_records", "sarama (10.0.1.5)", "error"),
        ("50 records of orders-0", "it closed 50 connections like that, each right after a request"),
        ("Kafka 4.0 removed old ones", "socket.request.max.bytes"),
    ),
    "fenced_producer_goes_on": (
        ("producer_refused", "tx", "error"),
        ("app-a (10.0.1.21) got INVALID_PRODUCER_EPOCH 68 times for tx", "app-a stalled, for 33.5 s"),
        ("Close this producer and make a new one",),
    ),
    "no_common_assignor": (
        ("group_refused", "workers", "error"),
        ("node-app (10.0.1.6) got INCONSISTENT_GROUP_PROTOCOL",),
        ("partition.assignment.strategy",),
    ),
    "failed_log_directory": (
        ("log_directory", "node 2", "error"),
        ("Node 2 could not use a log directory", "it returned KAFKA_STORAGE_ERROR"),
        ("log.dirs of node 2", "replica.lag.time.max.ms"),
    ),
    "transaction_timeout_too_long": (
        ("request_refused", "flink-0-1", "error"),
        ("INVALID_TRANSACTION_TIMEOUT 6 times", "6 clients could not work"),
        ("transaction.max.timeout.ms",),
    ),
    "version_of_another_broker": (
        ("lost_records", "web (10.0.1.5)", "error"),
        ("web (10.0.1.5) could not write to orders-1", "what it sent again met the same", "stalled, for 40.4 s"),
        ("send again what had no response",),
    ),
    "fenced_again": (
        ("member", "group k848", "error"),
        ("c-a was no longer a member", "the coordinator refused its member epoch each time"),
        ("Restart these clients", "KAFKA-19233"),
    ),
    "end_of_log_not_known": (
        ("offset_not_available", "stock", "error"),
        ("shop (10.0.1.5) got OFFSET_NOT_AVAILABLE 70 times for stock-0", "cannot say where the log ends"),
        ("node 2", "replica.lag.time.max.ms"),
    ),
    "epoch_went_back": (
        ("producer_refused", "audit", "error"),
        ("auditor (10.0.1.20) got INVALID_PRODUCER_EPOCH", "no transactional id, so that no other producer"),
        ("Restart the producer",),
    ),
}
"""Kind, subject and severity; parts of the sentence; parts of the advice."""


@pytest.mark.parametrize("name", TOLD)
def test_what_brokers_refuse_is_one_incident_with_what_has_to_change(dataset_of, name):
    (incident,) = pq.read_table(dataset_of(name) / "stories" / "incidents").to_pylist()
    what, said, advised = TOLD[name]
    assert (incident["kind"], incident["subject"], incident["severity"]) == what
    assert [part for part in said if part not in incident["sentence"]] == []
    text = advice_of(incident)
    assert [part for part in advised if part not in text] == []
    assert "--to-latest" not in text


ABLE = frozenset(rule.name for rule in RULES if rule.severity == "error" or "severity" in words_of(rule.detectors))
"""The rules that can find an error: theirs is one, or a query of theirs decides."""


@pytest.mark.parametrize(
    ("name", "rule", "said", "advised"),
    [
        (
            "assigned_never_fetched",
            "unread_assignment",
            "orders-1 is assigned to worker (10.0.1.5) in group w",
            "has paused orders-1",
        ),
        ("acks_zero_not_written", "acks_zero", "brokers closed 29 connections right after", "Set acks=all"),
        (
            "foreign_correlation_ids",
            "unfit_responses",
            "whose correlation ids no request of the connection has",
            "Look at what answers at 10.0.0.80:9092",
        ),
        ("another_version", "unfit_responses", "that are no FetchResponse v11", "in the format of another version"),
        (
            "fetch_size_too_small",
            "same_offset_again",
            "no answer had room for a whole batch",
            "Raise the fetch size of rdkafka",
        ),
        ("stuck_at_marker", "same_offset_again", "a transaction's marker alone", "a seek to 15 skips no record"),
    ],
)
def test_what_one_side_does_wrong_is_an_error_though_nothing_is_refused(dataset_of, name, rule, said, advised):
    stories = dataset_of(name, rules=ABLE) / "stories"
    (finding,) = (row for row in pq.read_table(stories / "findings").to_pylist() if row["severity"] == "error")
    assert finding["rule"] == rule
    assert said in finding["sentence"]
    assert advised in finding["advice"]


def test_sessions_that_were_not_renewed_are_one_incident_beside_what_was_lost_with_the_last(dataset_of):
    rows = pq.read_table(dataset_of("session_not_renewed") / "stories" / "incidents").to_pylist()
    kinds = {row["kind"]: row for row in rows}
    assert sorted(kinds) == ["lost_records", "session_ended"]
    ended = kinds["session_ended"]
    assert (ended["subject"], ended["severity"], ended["n_stalls"]) == ("old-lib (10.0.1.20)", "warning", 3)
    assert "did not authenticate again within the 1 min 0 s that a SASL session lasts" in ended["sentence"]


def test_long_polls_that_are_cut_are_no_failed_starts(dataset_of):
    """The consumer connected again each time, and asked for the same offset."""
    starts = pq.read_table(dataset_of("cut_while_it_waits") / "stories" / "startups").to_pylist()
    assert len(starts) > 8
    assert {row["outcome"] for row in starts} <= {"ready", "done"}


def test_a_topic_that_comes_back_is_created_and_no_leader_of_it_moves(dataset_of):
    rows = pq.read_table(dataset_of("topic_comes_back") / "stories" / "incidents").to_pylist()
    assert [(row["kind"], row["subject"], row["severity"]) for row in rows] == [
        ("topic_created", "old-report", "warning")
    ] * 3
