"""Who leads what, replayed: older reports are passed over, what a node confirmed itself never replaces a report."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.topology_facts import (
    CONFIRMED,
    CONTROLLED,
    REPORTED,
    Fact,
    Replay,
    _key_of_role,
    facts_in_order,
)

LEADER = Fact(("leader", "t", 0), 1, 10, "r1", REPORTED, epoch=4, topic_id="id")


def replayed(*facts: Fact) -> list[int | None]:
    """The node after each fact."""
    replay = Replay()
    nodes = []
    for fact in facts:
        replay.take(fact)
        nodes.append(replay.state[fact.key].node_id)
    return nodes


@pytest.mark.parametrize(
    ("later", "node"),
    [
        ({"node_id": 2, "epoch": 5}, 2),
        ({"node_id": 2, "epoch": 3}, 1),
        ({"node_id": 2, "epoch": 3, "topic_id": "another"}, 2),
        ({"node_id": 2, "epoch": 3, "source": CONTROLLED}, 2),
        ({"node_id": 2, "source": CONFIRMED}, 1),
        ({"node_id": 2, "epoch": None}, 2),
    ],
)
def test_an_earlier_epoch_of_the_same_topic_is_passed_over(later: dict[str, object], node: int) -> None:
    assert replayed(LEADER, replace(LEADER, since_ns=20, **later)) == [1, node]  # type: ignore[arg-type]


def test_after_the_controller_a_report_without_an_epoch_says_nothing() -> None:
    controlled = replace(LEADER, source=CONTROLLED)
    assert replayed(controlled, replace(LEADER, node_id=2, epoch=None)) == [1, 1]


def test_a_change_is_another_node_and_what_is_known_stays() -> None:
    replay = Replay()
    first = replay.take(LEADER)
    assert first is not None
    assert (first.before, first.after) == (None, LEADER)
    assert replay.take(replace(LEADER, since_ns=20, epoch=None, topic_id=None)) is None
    assert replay.state[LEADER.key].since_ns == 10
    moved = replay.take(replace(LEADER, node_id=2, since_ns=30, epoch=5, topic_id=None))
    assert moved is not None
    assert moved.before is not None
    assert (moved.before.node_id, moved.after.node_id, replay.state[LEADER.key].topic_id) == (1, 2, "id")


@pytest.mark.parametrize(
    ("role", "subject", "key"),
    [
        ("partition_leader", "a-b-12", ("leader", "a-b", 12)),
        ("partition_leader", "no_number", None),
        ("partition_leader", "t-99999999999", None),
        ("group_coordinator", "g-1", ("coordinator", "group", "g-1")),
        ("group_coordinator", None, None),
    ],
)
def test_what_a_role_is_about(role: str, subject: str | None, key: tuple[object, ...] | None) -> None:
    assert _key_of_role(role, subject) == key


def test_facts_come_by_time_from_reports_and_from_what_nodes_did(small: ModuleType, tmp_path: Path) -> None:
    found = facts_in_order(Dataset.open(small.write_dataset(tmp_path / "small.kscope")))
    assert [fact.since_ns for fact in found] == sorted(fact.since_ns for fact in found)
    assert [fact.key for fact in found if fact.source == CONFIRMED] == [("leader", "clicks", n) for n in range(6)]
    assert [fact.key[:2] for fact in found if fact.source == REPORTED] == [
        ("broker", 1),
        ("broker", 2),
        ("cluster", "TwwNmqfCTgWzF4iqAQIDBA"),
    ]
