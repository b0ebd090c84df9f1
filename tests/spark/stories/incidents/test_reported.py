"""Situations that users reported: what failed, and what has to change, is told by what brokers said."""

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised as advice_of

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
        ("Node 2 went on answering that it does not coordinate stock",),
        ("__consumer_offsets",),
    ),
    "no_leader": (
        ("no_leader", "orders-0", "error"),
        ("orders-0 had no leader", "1 client could not work"),
        ("Bring back the brokers that have its in-sync replicas",),
    ),
    "no_common_assignor": (
        ("group_refused", "workers", "error"),
        ("node-app (10.0.1.6) got INCONSISTENT_GROUP_PROTOCOL",),
        ("partition.assignment.strategy",),
    ),
    "failed_log_directory": (
        ("broker_error", "logs", "error"),
        ("shipper (10.0.1.20) got KAFKA_STORAGE_ERROR",),
        ("log.dirs of node 2",),
    ),
    "transaction_timeout_too_long": (
        ("request_refused", "flink-0-1", "error"),
        ("INVALID_TRANSACTION_TIMEOUT 6 times", "6 clients could not work"),
        ("transaction.max.timeout.ms",),
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


@pytest.mark.parametrize(
    ("name", "said", "advised"),
    [
        ("fetch_size_too_small", "no answer had room for a whole batch", "Raise the fetch size of rdkafka"),
        ("stuck_at_marker", "a transaction's marker alone", "a seek to 15 skips no record"),
    ],
)
def test_a_consumer_that_gets_no_further_is_an_error(dataset_of, name, said, advised):
    stories = dataset_of(name, findings=True) / "stories"
    (finding,) = (row for row in pq.read_table(stories / "findings").to_pylist() if row["severity"] == "error")
    assert finding["rule"] == "same_offset_again"
    assert said in finding["sentence"]
    assert advised in finding["advice"]
