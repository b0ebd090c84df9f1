"""Topics that were missing, deleted, or deleted and created again, by the IDs that brokers reported; made by hand."""

from typing import Any

import pytest
from tests.spark.stories.incidents.advised import advised
from tests.spark.stories.incidents.conftest import NS, MakeRow

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_analyzer.dataset.topology_facts import Fact
from kafkascope_spark.stories.incidents.errors.recreated_topics import mark_recreated
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.missing_partition import MISSING_PARTITION
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.deleted_topics import Deletion
from kafkascope_spark.stories.incidents.packets.leadership import NO_TOPIC_ID, Leadership
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

MISSING, NOT_LEADER = "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"
OLD, NEW = "9WZ_EbZBTiqmmpLUYWzl1Q", "atNUccjWQ_2mEFdKNyIbWQ"


def told(ids: dict[str, float], *recoveries: ClientRecovery, partitions: int = 0) -> list[dict[str, Any]]:
    """partitions: number of partitions that Metadata named at 0 s."""
    known = {topic_id: int(at * NS) for topic_id, at in ids.items()}
    leaders = {f"orders-{p}": [Fact(("leader", "orders", p), 1, 0, None, "reported")] for p in range(partitions)}
    machine = Incidents(0, leadership_of=lambda _: Leadership(leaders, topic_ids={"orders": known}))
    for row in recoveries:
        machine.take(row)
    rows = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    found: list[dict[str, Any]] = batch_of_rows(IncidentRow, rows).to_pylist()
    return found


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ({OLD: 1, NEW: 11}, "recreated_topic"),
        ({OLD: 1}, "missing_topic"),
        ({OLD: 1, NO_TOPIC_ID: 6}, "missing_topic"),
        ({OLD: 1, NEW: 3}, "missing_topic"),
        ({}, "missing_topic"),
    ],
)
def test_a_topic_that_gets_another_id_while_it_is_missed_was_recreated(
    recovery: MakeRow, ids: dict[str, float], kind: str
) -> None:
    (row,) = told(ids, recovery(MISSING, 21, 1, 5, 12))
    assert row["kind"] == kind


def test_leaders_of_the_new_topic_belong_to_that(recovery: MakeRow) -> None:
    moved = recovery(NOT_LEADER, 22, 1, 18, 20)
    topic, move = told({OLD: 1, NEW: 11}, recovery(MISSING, 21, 1, 5, 12), moved)
    assert (move["kind"], move["root_incident_id"]) == ("leader_move", topic["incident_id"])
    long_after = recovery(NOT_LEADER, 22, 1, 58, 60)
    _, move = told({OLD: 1, NEW: 11}, recovery(MISSING, 21, 1, 5, 12), long_after)
    assert move["root_incident_id"] is None


def test_a_topic_that_had_been_there_was_deleted(recovery: MakeRow) -> None:
    missed = recovery(MISSING, 21, 1, 5, None)
    (deleted,), (never,) = told({OLD: 1}, missed), told({}, missed)
    assert "orders (partition 0) was there no longer" in deleted["sentence"]
    assert "Find out who deleted the topic" in advised(deleted)
    assert "orders (partition 0) was not there" in never["sentence"]
    assert "Create the topic, or correct its name" in advised(never)


def test_a_partition_that_the_topic_does_not_have_is_not_to_be_created_as_a_topic(recovery: MakeRow) -> None:
    missed = recovery(MISSING, 21, 1, 5, None, resource="orders-7")
    (incident,) = told({}, missed, partitions=4)
    assert incident["kind"] == MISSING_PARTITION.name
    assert "orders has 4 partitions, and 10.0.0.21 asked for partition 7" in incident["sentence"]
    assert "--create" not in advised(incident)


@pytest.mark.parametrize(("at_s", "is_deleted"), [(4, True), (9, False)])
def test_who_deleted_a_topic_is_told(recovery: MakeRow, at_s: int, is_deleted: bool) -> None:
    """A deletion after clients missed the topic is not why they missed it."""
    failure = Failure(MISSING_TOPIC, "orders", 5 * NS, None)
    failure.take_error(recovery(MISSING, 21, 1, 5, None))
    deletion = Deletion("orders", at_s * NS, "cleaner (10.0.0.9)")
    mark_recreated([failure], lambda _: Leadership(), lambda: {"orders": [deletion]})
    assert (failure.topic.deletion is deletion) is is_deleted
