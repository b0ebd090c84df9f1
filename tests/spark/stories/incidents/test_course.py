"""The course of a failure: from rows written by hand, and of a real capture against what was done to the broker."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.topology_facts import Fact
from kafkascope_spark.stories.incidents.course.losses import Loss
from kafkascope_spark.stories.incidents.course.sightings import How, Packets, RequestPackets, Sighting
from kafkascope_spark.stories.incidents.course.steps import give_courses, has_course
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds import KINDS
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.kinds.permission import PERMISSION
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.leadership import Leadership
from kafkascope_spark.stories.incidents.packets.replicas import IsrChange, Replicas
from kafkascope_spark.stories.incidents.table import CourseStep, IncidentRow

from .conftest import NS, MakeRow, MakeStall, MakeState, row_of

CAPTURES = Path(__file__).parents[4] / "fixtures" / "captures"
TRUTH = json.loads((CAPTURES / "leader_move.truth.json").read_text())
KILLED_NS = next(e["ts_ns"] for e in TRUTH["events"] if e["kind"] == "broker_killed")
STARTING_NS = next(e["ts_ns"] for e in TRUTH["events"] if e["kind"] == "broker_starting")
LOST = Loss("clicks-leader60-0", 3, KILLED_NS, STARTING_NS, epoch=1)


def course(machine: Incidents) -> list[tuple[str, float]]:
    incidents = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    return [(step.step, step.ts_ns / NS) for step in incidents[0].course]


@pytest.fixture
def down(state: MakeState, stall: MakeStall, recovery: MakeRow) -> Callable[..., Incidents]:
    """Node 2 is down from 5 to 20 s; a client waits for it until 12 s, and finds another coordinator at 11 s."""

    def make(*facts: Fact) -> Incidents:
        machine = Incidents(0, leadership_of=lambda _: Leadership(coordinators={"orders-app": list(facts)}))
        for host in (21, 22):
            for row in (state(2, host, "serving", 0, 5), state(2, host, "down", 5, 20)):
                machine.take(row)
        machine.take(stall("commit", 21, 2, 5, 12, group_id="orders-app"))
        lost = {"resource_kind": "group", "resource": "orders-app", "new_node_id": 3, "rediscovered_ns": 11 * NS}
        lost |= {"client_id": "client-21"}
        machine.take(recovery("CONNECTION_CLOSED", 21, 2, 5, 12, **lost))
        return machine

    return make


def fact(node: int, since: float) -> Fact:
    return Fact(("coordinator", "group", "orders-app"), node, int(since * NS), None, "reported")


def test_a_lost_coordinator_is_taken_over_by_the_one_that_is_named_next(down: Callable[..., Incidents]) -> None:
    assert course(down(fact(2, 1), fact(3, 10))) == [
        ("failed", 5),
        ("detected", 10),
        ("learned", 11),
        ("failed_over", 12),
        ("served", 12),
    ]


def test_what_no_packet_shows_is_no_step(down: Callable[..., Incidents]) -> None:
    assert course(down(fact(2, 1))) == [("failed", 5), ("served", 12)]


def test_a_coordinator_that_another_broker_had_is_not_lost(down: Callable[..., Incidents]) -> None:
    assert course(down(fact(1, 1), fact(3, 10))) == [("failed", 5), ("served", 12)]


def test_a_new_leader_is_seen_by_who_follows_it_and_then_serves(ingested: Callable[..., Path]) -> None:
    dataset = Dataset.open(ingested(CAPTURES / "leader_move.pcap.zst"))
    seen = Packets(dataset).sightings([LOST])[LOST]
    assert {each.node_id for each in seen} == {1}
    assert {each.epoch for each in seen} == {2, None}
    assert {each.how for each in seen} == {"followed", "named", "served"}
    assert all(KILLED_NS < each.ts_ns < STARTING_NS and each.packet_no is not None for each in seen)
    assert seen[0].how != "served"


def test_a_replica_with_the_epoch_that_was_known_follows_no_successor(ingested: Callable[..., Path]) -> None:
    dataset = Dataset.open(ingested(CAPTURES / "leader_move.pcap.zst"))
    late = Loss(LOST.name, LOST.node_id, LOST.from_ns, LOST.until_ns, epoch=2)
    assert {each.how for each in Packets(dataset).sightings([late])[late]} == {"named", "served"}


@pytest.mark.spark
def test_the_course_of_a_killed_broker(dataset_of: Callable[..., Path]) -> None:
    rows = pq.read_table(dataset_of("leader_move") / "stories" / "incidents").to_pylist()
    steps = [CourseStep(**s) for row in rows if row["kind"] == "broker_down" for s in row["course"]]
    *found, last = [s.step for s in steps]
    assert found == ["failed", "detected", "learned", "failed_over", "served", "learned", "served"]
    assert last == "caught_up"
    assert all(s.packet_no is not None for s in steps)
    assert abs(steps[0].ts_ns - KILLED_NS) < NS // 10
    assert all(before.ts_ns <= after.ts_ns for before, after in pairwise(steps))


def test_only_where_another_node_takes_over_there_is_a_course() -> None:
    """Refused requests and members of groups need no other leader."""
    down, moved, denied, member = (Failure(k, "x", 0, 1) for k in (BROKER_DOWN, LEADER_MOVE, PERMISSION, MEMBER))
    assert [has_course(each) for each in (down, moved, denied, member)] == [True, True, False, False]
    assert not any(has_course(Failure(kind, "x", 0, 1)) for kind in KINDS if kind.of_clients)


def test_nothing_is_read_where_nothing_has_a_course() -> None:
    def read() -> Leadership:
        raise AssertionError

    give_courses([Failure(PERMISSION, "x", 0, 1)], read, Packets())


def reported(node: int, since: float, epoch: int) -> Fact:
    return Fact(("leader", "orders", 0), node, int(since * NS), None, "reported", epoch)


@pytest.mark.parametrize(("n_moves", "is_flapping"), [(3, False), (4, True)])
def test_a_leader_that_moves_again_and_again_has_no_single_course(
    recovery: MakeRow, n_moves: int, is_flapping: bool
) -> None:
    """A rolling restart moves a leader away and back: twice for each of two times."""
    failure = Failure(LEADER_MOVE, "orders-0", 5 * NS, 40 * NS)
    failure.take_error(recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 5, 40))
    moves = (reported(2 - number % 2, 6 + 5 * number, 2 + number) for number in range(n_moves))
    leaders = Leadership({"orders-0": [reported(1, 0, 1), *moves]})
    give_courses([failure], lambda: leaders, Packets())
    assert len(failure.topic.moves_ns) == n_moves
    assert failure.is_flapping is is_flapping
    if is_flapping:
        assert failure.fault is not None
        assert (failure.fault.start_ns, failure.fault.end_after_ns) == (6 * NS, (6 + 5 * (n_moves - 1)) * NS)
        assert failure.course == ()


class InSync(Packets):
    """Has these changes of in-sync replicas."""

    def __init__(self, *changes: IsrChange) -> None:
        super().__init__()
        self._changes = changes

    def replicas(self, topics: Mapping[str, str]) -> Replicas:
        return Replicas(self._changes)


def in_sync(at: float, *nodes: int, name: str = "orders-0") -> IsrChange:
    return IsrChange(int(at * NS), name, frozenset(nodes), f"alter-{at}")


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ([in_sync(14, 1), in_sync(25, 1, 2)], [("failed", 5), ("detected", 14), ("caught_up", 25)]),
        ([in_sync(14, 1), in_sync(25, 1, 3)], [("failed", 5)]),  # the failed broker had none of its replicas
        ([in_sync(2, 1), in_sync(3, 1, 2)], [("failed", 5)]),  # before it failed
        ([in_sync(14, 1), in_sync(16, 2), in_sync(25, 1, 2)], [("failed", 5), ("detected", 14), ("caught_up", 25)]),
        (
            [in_sync(14, 1), in_sync(25, 1, 2), in_sync(14, 3, name="b-0"), in_sync(40, 2, 3, name="b-0")],
            [("failed", 5), ("detected", 14), ("caught_up", 40)],
        ),
    ],
)
def test_replicas_that_a_leader_gave_up_show_the_failure_and_its_end(
    state: MakeState, changes: list[IsrChange], steps: list[tuple[str, float]]
) -> None:
    """AlterPartition (KIP-497): the leader of orders-0 removes node 2 from the in-sync replicas, and adds it again."""
    failure = Failure(BROKER_DOWN, "node 2", 5 * NS, 20 * NS, node_id=2)
    failure.states = [state(2, host, "down", 5, 20) for host in (21, 22)]
    give_courses([failure], Leadership, InSync(*changes))
    assert [(step.step, step.ts_ns / NS) for step in failure.course] == steps


class Seen(Packets):
    """Has these packets after each loss: how they show the new leader, when, and which node it is."""

    def __init__(self, *seen: tuple[How, float, int]) -> None:
        super().__init__()
        self._seen = seen

    def sightings(self, losses: Sequence[Loss]) -> dict[Loss, list[Sighting]]:
        asked = {"request_packet_no": 1, "response_packet_no": 2, "client_id": "app", "client_ip": "10.0.0.21"}
        request = row_of(RequestPackets, **asked)
        found = [(how, int(at * NS), node) for how, at, node in self._seen]
        return {loss: [Sighting(loss, how, at_ns, node, 7, request) for how, at_ns, node in found] for loss in losses}


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        ([("named", 10, 3), ("served", 12, 3)], [("detected", 10), ("learned", 10), ("failed_over", 12)]),
        # It served before any packet named it: it may have been the leader of before.
        ([("served", 8, 3), ("named", 10, 3)], [("detected", 10), ("learned", 10)]),
        ([("served", 8, 3)], []),
        # Node 1 is the leader after the next one.
        ([("named", 10, 3), ("named", 11, 1), ("served", 12, 1)], [("detected", 10), ("learned", 10)]),
        ([("followed", 9, 3), ("served", 12, 3)], [("detected", 9), ("failed_over", 12)]),
    ],
)
def test_the_next_leader_counts_from_the_packet_that_names_it(
    state: MakeState, seen: list[tuple[How, float, int]], steps: list[tuple[str, float]]
) -> None:
    failure = Failure(BROKER_DOWN, "node 2", 5 * NS, 20 * NS, node_id=2)
    failure.states = [state(2, host, "down", 5, 20) for host in (21, 22)]
    give_courses([failure], lambda: Leadership({"orders-0": [reported(2, 0, 1)]}), Seen(*seen))
    assert [(step.step, step.ts_ns / NS) for step in failure.course] == [("failed", 5), *steps]
    shown_by = {step.step: step.packet_no for step in failure.course}
    assert shown_by.get("detected") == (1 if seen[0][0] == "followed" else 2 if steps else None)


def test_a_controlled_shutdown_fails_with_the_first_request_that_was_refused(
    state: MakeState, recovery: MakeRow
) -> None:
    """It began to hand over at 3 s and closed its connections at 5 s."""
    failure = Failure(BROKER_DOWN, "node 2", 3 * NS, 20 * NS, node_id=2, closed_ns=5 * NS)
    failure.states = [state(2, 21, "down", 5, 20)]
    failure.take_recovery(recovery("NOT_LEADER_OR_FOLLOWER", 22, 2, 4, None))
    failure.take_recovery(recovery("NOT_LEADER_OR_FOLLOWER", 21, 2, 3, None))
    give_courses([failure], Leadership, Packets())
    assert [(step.step, step.ts_ns / NS) for step in failure.course] == [("failed", 3)]
