"""Records that were lost with a connection."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_parsers.api_keys import FETCH, PRODUCE
from kafkascope_spark.stories.incidents.errors.lost_records import give_waiting, lost_records

NS = 1_000_000_000


@pytest.fixture
def lost(recovery):
    """A recovery of a client that sent something at 900 s into a connection that was closed at 601 s."""

    def make(kind="partition", resource="lines-0", api=PRODUCE, outcome="client_ended", closed=601, **more):
        columns = {"first_api_key": api, "outcome": outcome, "resource_kind": kind, "resource": resource}
        columns |= {"cause_id": "cause-1", "recovery_id": f"rec-{resource}", "n_errors": 1}
        row = recovery("CONNECTION_CLOSED", 5, 1, 900, None, **(columns | more))
        return replace(row, closed_ns=None if closed is None else closed * NS)

    return make


def test_what_a_client_lost_with_a_connection_is_one_failure(lost):
    rows = [lost(), lost(resource="lines-1"), lost("connection", "10.0.0.11:9092", api=None)]
    (failure,) = lost_records(rows)
    assert failure.kind.name == "lost_records"
    assert (failure.node_id, failure.hosts) == (1, {"10.0.0.5"})
    assert {row.resource for row in failure.recoveries} == {"lines-0", "lines-1", "10.0.0.11:9092"}


@pytest.mark.parametrize(
    "more",
    [
        {"api": FETCH},
        {"outcome": "recovered", "recovered_ns": 901 * NS},
        {"outcome": "still_open"},
        {"closed": None},
        {"first_error_name": "NOT_LEADER_OR_FOLLOWER"},
    ],
)
def test_what_was_sent_again_or_is_no_record_is_not_lost(lost, more):
    assert list(lost_records([lost(**more)])) == []


def test_what_waited_while_the_server_closed_connections_belongs_to_them(lost, stall):
    """A batch that is too large waits, and smaller ones after it are taken: only the last large one is never sent
    again (https://github.com/Azure/azure-event-hubs-for-kafka/issues/255)."""
    closed = lost("connection", "10.0.0.11:9092", api=None)
    (failure,) = lost_records([lost(), closed])
    at = {"topic": "lines", "partition": 0, "client_instance_id": "ci-5"}
    waited, before = stall("produce", 5, 1, 600, 604, **at), stall("produce", 5, 1, 500, 504, **at)
    assert give_waiting([failure], [waited, before]) == [before]
    assert (failure.stalls, failure.start_ns) == ([waited], 600 * NS)


@pytest.mark.spark
def test_a_record_that_is_sent_into_a_connection_closed_while_idle_is_an_error_of_the_client(dataset_of):
    (incident,) = pq.read_table(dataset_of("closed_while_idle") / "stories" / "incidents").to_pylist()
    assert (incident["kind"], incident["place"], incident["severity"]) == ("lost_records", "client", "error")
    assert incident["sentence"].startswith(
        "console-producer (10.0.1.5) lost at least 1 record of lines-0 at 15:00.000 (08:15:00.000 UTC): the request "
        "went into a connection that node 1 (10.0.0.11:9092) had closed at 10:01.100, 4 min 58 s before"
    )
    assert "after 10 min 0 s without a request (connections.max.idle.ms of the broker)" in advised(incident)
    assert len(incident["evidence"]) == 1
