"""Texts that the sentences and the advice of several kinds share. Times are seconds."""

from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.actions import clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import BrokerProcess, EndedSession
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.broker_down import BROKER_DOWN
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.packets.broker_processes import ProcessRestart
from kafkascope_spark.stories.incidents.table import CourseStep, StepName
from kafkascope_spark.stories.incidents.texts.texts import (
    lacked_replicas_ns,
    late_by,
    lost_flows,
    lower,
    named,
    reaction,
    restarts,
    slow_polls,
    sooner,
    sooner_fenced,
    why_moved,
)

from .conftest import NS, MakeRow, MakeState, row_of


def step(name: StepName, at: float) -> CourseStep:
    return CourseStep(name, int(at * NS), 1, "")


def down(*course: CourseStep) -> Failure:
    return Failure(BROKER_DOWN, "node 2", 5 * NS, 20 * NS, node_id=2, course=course)


def told(failure: Failure) -> list[str]:
    advice = [clients("Lower request.timeout.ms."), clients("Lower metadata.max.age.ms.")]
    return [action.text for action in sooner(failure, ["Lower broker.session.timeout.ms."], advice)]


def test_our_own_words_begin_a_sentence_with_a_capital_and_names_do_not() -> None:
    subjects = ("node 2 (10.0.0.2:9092)", "group orders-app", "orders-0")
    assert [named(replace(down(), subject=each))[:5] for each in subjects] == ["Node ", "Group", "order"]


def test_the_time_that_the_cluster_and_the_clients_took() -> None:
    """A broker that failed twice: the course of the first time counts."""
    steps = [step("failed", 5), step("detected", 14), step("served", 15), step("served", 17)]
    found = reaction(down(*steps, step("failed", 30), step("served", 60)))
    assert found is not None
    assert (found.cluster_ns, found.clients_ns) == (9 * NS, 3 * NS)
    assert reaction(down(*steps[:2])) is None
    assert reaction(down()) is None


def test_advice_is_for_whom_took_longer(recovery: MakeRow) -> None:
    slow_cluster = down(step("failed", 5), step("detected", 14), step("served", 15))
    whole, lower_session = told(slow_cluster)
    assert whole == "Of the 10.0 s until the last client was served, the cluster took 9.00 s to react."
    assert lower_session == "Lower broker.session.timeout.ms."
    slow_clients = down(step("failed", 5), step("detected", 6), step("served", 15))
    first, second = told(slow_clients)
    assert "clients took 9.00 s after the cluster had reacted. Lower request.timeout.ms." in first
    assert second == "Lower metadata.max.age.ms."
    assert told(down()) == [
        "Lower broker.session.timeout.ms.",
        "Lower request.timeout.ms.",
        "Lower metadata.max.age.ms.",
    ]
    slow_clients.outlasting = {"stall-1"}
    assert told(slow_clients) == ["Lower broker.session.timeout.ms."]


def test_no_setting_of_clients_helps_while_replicas_are_missing(recovery: MakeRow) -> None:
    """min.insync.replicas: brokers refuse acks=all until enough replicas are in sync."""
    failure = down(step("failed", 5), step("detected", 6), step("served", 15))
    refused = recovery("NOT_ENOUGH_REPLICAS", 21, 1, 6, 15)
    refused.last_error_ns = 14 * NS
    failure.take_recovery(refused)
    assert lacked_replicas_ns(failure) == 8 * NS
    (advice,) = told(failure)
    assert "For 8.00 s writes were refused because fewer replicas were in sync" in advice
    refused.last_error_ns = 7 * NS
    assert len(told(failure)) == 2, "replicas were missing for a moment only"


def session(*, is_closed: bool) -> EndedSession:
    return EndedSession(2, "node 2", "10.0.0.2", 6_000, 5 * NS, 11 * NS, is_closed, None, True, ())


def test_a_move_names_the_session_that_ended_before_it() -> None:
    moved = Failure(LEADER_MOVE, "orders-0", 12 * NS, 13 * NS)
    assert why_moved(moved) == ""
    for is_closed, how in ((True, "was closed"), (False, "expired")):
        moved.root = replace(down(), process=BrokerProcess(session=session(is_closed=is_closed)))
        assert why_moved(moved) == f", after the ZooKeeper session of node 2 {how}"
    assert "zookeeper.session.timeout.ms of the brokers (now 6000)" in sooner_fenced(moved.root)
    assert "broker.session.timeout.ms (default 9000" in sooner_fenced(down())


@pytest.mark.parametrize(("unacknowledged", "whose"), [("host", "the broker's "), ("broker", "the hosts' ")])
def test_whose_acknowledgments_were_late(state: MakeState, unacknowledged: str, whose: str) -> None:
    failure = down()
    rows = [replace(state(2, 21, "delayed", 5, 9), late_ms=ms, unacknowledged=unacknowledged) for ms in (90, 10, 30)]
    failure.states = [*rows, state(2, 22, "serving", 5, 9)]
    assert late_by(failure).startswith(f"{whose}acknowledgments, which kernels send by themselves, came about 30 ms")


def test_settings_are_those_of_the_clients_libraries(client: MakeRow) -> None:
    """librdkafka has no limit of records for a poll; segmentio/kafka-go or an unknown library gets Java's name."""
    failure = down()
    failure.client_instance_ids = {"ci-21", "ci-22"}
    known = {"ci-21": client(21, "librdkafka"), "ci-22": client(22)}
    actions = list(lower(("session_timeout",), Observed(failure, known, ()), "notice it"))
    assert {action.text.split(" with lower ")[1].split(" (")[0] for action in actions} == {"session.timeout.ms"}
    assert len(actions) == 2
    (unknown,) = lower(("session_timeout",), Observed(down(), {}, ()), "notice it")
    assert "session.timeout.ms (Java name" in unknown.text
    assert "max.poll.records" in slow_polls(["java"], 300_000)
    assert "max.poll.records" not in slow_polls(["librdkafka"])
    assert "(now 300000)" in slow_polls(["java"], 300_000)


def test_only_connections_that_were_lost_are_counted(state: MakeState) -> None:
    failure = down()
    rows = [replace(state(2, 21, name, 5, 9), n_waiting=3) for name in ("flows_lost", "flow_dead", "serving")]
    failure.states = rows
    assert lost_flows(failure, "A and B").startswith("6 connections between A and B, all that were in use, ended")


def test_a_process_that_began_once_is_not_worth_a_word() -> None:
    failure = down()
    times = ("alive_ns", "ended_ns", "gone_ns", "back_ns")
    starts = [
        row_of(ProcessRestart, node_id=2, address="10.0.0.2", registered_ns=at * NS, **dict.fromkeys(times, at * NS))
        for at in (10, 17)
    ]
    failure.process.starts = starts[:1]
    assert restarts(failure, Times(0)) == ""
    failure.process.starts = starts
    assert restarts(failure, Times(0)).endswith(
        "its process began 2 times: it registered with the controller at 00:10.000, 00:17.000"
    )
