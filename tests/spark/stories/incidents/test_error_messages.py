"""What brokers wrote beside their errors, in the sentence of the incident."""

from collections.abc import Collection

from kafkascope_spark.stories.incidents.course.sightings import Packets, ReportedError
from kafkascope_spark.stories.incidents.errors.error_messages import MOST_CHARACTERS, give_messages, quoted
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.broker_error import BROKER_ERROR
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import NS, MakeRow, MakeState

UNVERIFIED = "Unable to verify the partition has been added to the transaction. Underlying error: NETWORK_EXCEPTION"


class Written(Packets):
    """Has an error with such a message for each request, about a topic-partition."""

    def __init__(self, **messages: str) -> None:
        super().__init__()
        self._messages = messages

    def reported_errors(self, request_ids: Collection[str]) -> list[ReportedError]:
        known = sorted(i for i in request_ids if i in self._messages)
        return [ReportedError(i, self._messages[i], "events", 2) for i in known]


def test_a_refused_write_belongs_to_the_coordinator_that_was_away(state: MakeState, recovery: MakeRow) -> None:
    """Node 2 coordinates the transaction and is down; node 1 cannot ask it, and refuses a write that it leads."""
    refused = recovery("NOT_ENOUGH_REPLICAS", 21, 1, 6, 9, evidence=("produce-7",))
    machine = Incidents(0, packets=Written(**{"produce-7": UNVERIFIED}))
    for host in (21, 22):
        for row in (state(2, host, "serving", 0, 5), state(2, host, "down", 5, 20), state(1, host, "serving", 0, 60)):
            machine.take(row)
    machine.take(refused)
    (incident,) = (row for row in machine.finish() if isinstance(row, IncidentRow))
    assert (incident.kind, incident.node_id) == ("broker_down", 2)
    assert incident.sentence.endswith(f' Brokers said: "{UNVERIFIED}".')
    assert all("min.insync.replicas" not in action.text for action in incident.actions)


def test_the_most_frequent_messages_are_quoted(recovery: MakeRow) -> None:
    failure = Failure(LEADER_MOVE, "orders-0", 5 * NS, 8 * NS)
    for at, ids in enumerate((("a", "b"), ("c",), ("d",))):
        failure.take_recovery(recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, at, 9, evidence=ids))
    give_messages([failure], Written(a="Moved.", b="x" * 300, c="Moved.", d="Rare."))
    assert quoted(failure) == ' Brokers said: "Moved", "Rare".'
    failure.messages = ["x" * 300]
    assert quoted(failure) == f' Brokers said: "{"x" * MOST_CHARACTERS}…".'
    refused = "Log record DefaultRecord(offset=0) is rejected by the record interceptor RecordSchemaValidator"
    failure.messages = [
        "One or more records have been rejected due to 2 record errors in total, and only showing the first three "
        f"errors at most: [{refused}]"
    ]
    assert quoted(failure) == f' Brokers said: "{refused}".'
    assert quoted(Failure(LEADER_MOVE, "orders-0", 5 * NS, 8 * NS)) == ""


def test_errors_of_a_group_name_their_topic_partitions(recovery: MakeRow) -> None:
    """A commit has an error for each topic-partition, and its recovery is that of the group."""
    of_group = Failure(BROKER_ERROR, "mirror", 5 * NS, 8 * NS)
    of_group.take_recovery(recovery("UNKNOWN_SERVER_ERROR", 21, 1, 6, 9, resource_kind="group", evidence=("a",)))
    of_topic = Failure(BROKER_ERROR, "orders-0", 5 * NS, 8 * NS)
    of_topic.take_recovery(recovery("UNKNOWN_SERVER_ERROR", 21, 1, 6, 9, evidence=("a",)))
    give_messages([of_group, of_topic], Written(a=""))
    assert (of_group.refused_partitions, of_topic.refused_partitions) == ({"events-2"}, frozenset())
