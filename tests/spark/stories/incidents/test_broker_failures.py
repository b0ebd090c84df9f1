"""Which brokers failed, and for whom, from states written by hand."""

from dataclasses import replace

import pytest

from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.host_lossy import HOST_LOSSY
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.listener import LISTENER
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.incidents.table import CourseStep, StepName

from .conftest import NS, MakeState


def summary(failure: Failure) -> tuple[str, int | None, list[str], float, float | None]:
    end = None if failure.end_ns is None else failure.end_ns / NS
    return failure.kind.name, failure.node_id, sorted(failure.hosts), failure.start_ns / NS, end


@pytest.mark.parametrize(
    ("name", "kind", "start"),
    [
        ("down", "broker_down", 4.0),
        ("silent", "broker_silent", 5.0),
        ("frozen", "broker_frozen", 5.0),
    ],
)
def test_a_broker_that_fails_for_everybody_failed(state: MakeState, name: str, kind: str, start: float) -> None:
    """It began with the broker's last packet to anybody, or the first connection that it ended; it was over when the
    broker served the first host."""
    rows = [state(1, 20, "serving", 0, 50)]
    for host, last_packet, first_packet in ((21, 4.0, 20.0), (22, 5.0, 22.0)):
        rows += [
            state(2, host, "serving", 0, last_packet),
            state(2, host, name, last_packet, first_packet),
            state(2, host, "serving", first_packet, 50),
        ]
    assert [summary(f) for f in broker_failures(rows)] == [(kind, 2, [], start, 20.0)]


def test_a_broker_is_slow_from_the_first_late_request_to_the_last_late_response(state: MakeState) -> None:
    """Recorded: a broker gets the processor a third of the time for 17 s. Each host shows it by few requests, and
    one by none; a slow stretch of one host among others is not the broker's."""
    rows = [state(2, 24, "serving", 0, 50)]
    for host, since, until in ((21, 4.0, 16.0), (22, 10.0, 15.0), (23, 30.0, 32.0)):
        rows += [
            state(2, host, "serving", 0, since),
            state(2, host, "slow", since, until),
            state(2, host, "serving", until, 50),
        ]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_slow", 2, [], 4.0, 16.0)]


@pytest.mark.parametrize(("node", "times", "told"), [(3, 50, True), (2, 50, False), (3, None, False)])
def test_a_process_is_slow_also_while_something_fails_elsewhere(
    state: MakeState, node: int, times: int | None, told: bool
) -> None:
    """Recorded of a broker that ran a tenth of the time while a path to another was cut. Late responses alone may be
    due to that, and what fails at the broker itself explains more."""
    rows = [state(node, 24, "serving", 0, 10), state(node, 24, "silent", 10, 18), state(node, 24, "serving", 18, 50)]
    rows.append(state(node, 25, "serving", 0, 50))
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, 4), state(2, host, "serving", 16, 50)]
        rows.append(replace(state(2, host, "slow", 4, 16), times_usual=times))
    assert ("broker_slow" in {failure.kind.name for failure in broker_failures(rows)}) == told


def test_a_lossy_path_is_that_of_its_hosts_and_is_said_once(state: MakeState) -> None:
    """Between two brokers both sides show it, and replication waits."""
    rows = [state(2, 21, "lossy", 5, 15), state(2, 22, "lossy", 6, 14), state(2, 21, "serving", 15, 50)]
    assert [summary(f) for f in broker_failures(rows)] == [("path", 2, ["10.0.0.21", "10.0.0.22"], 5.0, 15.0)]
    both = [state(1, 2, "lossy", 5, 15, "broker"), state(2, 1, "lossy", 6, 15, "broker")]
    both += [state(node, 21, "serving", 0, 50) for node in (1, 2)]
    (failure,) = broker_failures(both)
    assert (failure.kind.name, failure.node_id) == ("replication", 1)
    assert "Packets between node 1 (10.0.0.1:9092) and node 2 (10.0.0.2) were lost" in sentence_of(failure, None, 0)


def test_a_lossy_path_between_brokers_that_looks_cut_for_a_moment_is_one_failure(state: MakeState) -> None:
    """Recorded: 30 % of the packets between two of three brokers were lost for 20 s. TCP waits longer after each loss,
    so that nothing arrived in the last part of that time. A cut between others has nothing to do with it."""
    rows = [state(node, 21, "serving", 0, 50) for node in (1, 2, 3)]
    rows += [state(1, 2, "lossy", 6, 27, "broker"), state(2, 1, "lossy", 6.5, 23.5, "broker")]
    rows += [state(2, 1, "silent", 23.5, 37, "broker"), state(3, 1, "silent", 40, 45, "broker")]
    found = [summary(failure) for failure in broker_failures(rows)]
    assert found == [("replication", 1, ["10.0.0.2"], 6.0, 37.0), ("replication", 3, ["10.0.0.1"], 40.0, 45.0)]


def test_a_broker_that_serves_others_meanwhile_is_cut_from_some_hosts(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "silent", 5, 15),
        state(2, 21, "serving", 15, 50),
        state(2, 22, "serving", 0, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("path", 2, ["10.0.0.21"], 5.0, 15.0)]


def test_one_refused_attempt_while_others_are_served_is_that_of_a_path(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "refusing", 5, 5),
        state(2, 21, "serving", 9, 50),
        state(2, 22, "serving", 0, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("path", 2, ["10.0.0.21"], 5.0, 5.0)]


def test_a_broker_that_refuses_all_clients_is_down_whatever_its_port_for_brokers_shows(state: MakeState) -> None:
    """A controlled shutdown stops the fetchers of the other brokers first: they lose nothing, and need nothing of the
    broker until it leads again (recorded of Kafka 2.8 with ZooKeeper)."""
    rows = [replace(state(2, 3, "serving", 0, None, "broker"), server_port=9093)]
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, 5), state(2, host, "down", 5, 20), state(2, host, "serving", 20, None)]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_down", 2, [], 5.0, 20.0)]


def test_a_frozen_broker_serves_nobody_whatever_hosts_show_that_ask_for_nothing(state: MakeState) -> None:
    """Recorded: node 1 is stopped for 8 s; the host of two share consumers has connections to it and sends no request
    on them, nor does the controller's port get any."""
    rows = [state(2, 22, "serving", 0, None), replace(state(2, 11, "serving", 9, None, "broker"), server_port=9093)]
    for host in (21, 23):
        rows += [state(2, host, "serving", 0, 7), state(2, host, "frozen", 7, 15), state(2, host, "serving", 15, None)]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_frozen", 2, [], 7.0, 15.0)]


def test_a_client_that_notices_late_that_a_broker_is_back_makes_no_failure_of_its_path(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "down", 5, 9),
        state(2, 21, "serving", 9, 50),
        state(2, 22, "serving", 0, 5),
        state(2, 22, "down", 5, 29),
        state(2, 22, "serving", 29, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_down", 2, [], 5.0, 9.0)]


def test_two_bad_stretches_with_service_between_are_two_failures(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "silent", 5, 10),
        state(2, 21, "serving", 10, 20),
        state(2, 21, "refusing", 20, 25),
        state(2, 21, "serving", 25, 50),
        state(2, 3, "serving", 0, 50, "broker"),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [
        ("path", 2, ["10.0.0.21"], 5.0, 10.0),
        ("path", 2, ["10.0.0.21"], 20.0, 25.0),
    ]


def test_a_broker_that_nobody_needs_for_a_while_is_still_down(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "down", 5, 6),
        state(2, 21, "unknown", 6, 10),
        state(2, 21, "down", 10, 12),
        state(2, 21, "serving", 12, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_down", 2, [], 5.0, 12.0)]


def test_states_that_follow_on_each_other_are_one_failure(state: MakeState) -> None:
    """A broker that is killed refuses connections, then its host is gone."""
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "down", 5, 7),
        state(2, 21, "silent", 7, 30),
        state(2, 21, "serving", 30, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_silent", 2, [], 5.0, 30.0)]


def test_brokers_that_do_not_reach_each_other_are_one_failure(state: MakeState) -> None:
    rows = [state(node, 21, "serving", 0, 50) for node in (1, 2)]
    rows += [state(1, 2, "silent", 5, 15, "broker"), state(2, 1, "silent", 5.5, 15, "broker")]
    rows += [state(1, 3, "serving", 0, 50, "broker"), state(2, 3, "serving", 0, 50, "broker")]
    assert [summary(f) for f in broker_failures(rows)] == [("replication", 1, ["10.0.0.2"], 5.0, 15.0)]


def test_a_broker_that_no_other_reaches_is_one_failure_also_where_one_of_them_noticed_first(state: MakeState) -> None:
    """Recorded: node 1 was cut from two brokers; what it missed of one of them shows that 100 ms sooner than what these
    missed of it."""
    rows = [state(node, 21, "serving", 0, 50) for node in (1, 2, 3)]
    bad = ((3, 1, 9.2, 36.0), (1, 2, 9.3, 27.0), (1, 3, 9.3, 27.0), (2, 1, 9.4, 36.0))
    rows += [state(node, host, "silent", since, until, "broker") for node, host, since, until in bad]
    (failure,) = broker_failures(rows)
    assert summary(failure) == ("replication", 1, ["10.0.0.2", "10.0.0.3"], 9.2, 27.0)
    assert failure.affected_until_ns == 36 * NS
    rows += [state(9, 2, "serving", 0, 50, "broker"), state(9, 1, "silent", 9.5, 26, "broker")]
    (failure,) = broker_failures(rows)
    assert summary(failure)[:3] == ("replication", 1, ["10.0.0.2", "10.0.0.3"]), "it missed the controller, too"


def test_what_a_failed_broker_itself_did_not_reach_is_part_of_its_failure(state: MakeState) -> None:
    rows = [
        state(2, 21, "serving", 0, 5),
        state(2, 21, "silent", 5, 15),
        state(2, 21, "serving", 15, 50),
        state(1, 2, "silent", 6, 15, "broker"),
        state(1, 21, "serving", 0, 50),
    ]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_silent", 2, [], 5.0, 15.0)]


def test_an_address_that_never_served_anybody_is_no_broker_that_failed(state: MakeState) -> None:
    rows = [state(2, 21, "silent", 5, None)]
    assert [summary(f) for f in broker_failures(rows)] == [("listener", 2, [], 5.0, None)]


def test_a_port_that_never_served_fails_with_its_broker_or_by_itself(state: MakeState) -> None:
    """The controller's port is refused while the broker is down; a wrong port is refused all the time."""
    broker = [state(2, 21, "serving", 0, 5), state(2, 21, "down", 5, 20), state(2, 21, "serving", 20, 50)]
    controller = replace(state(2, 3, "down", 7, 18, "broker"), server_port=9093)
    wrong = replace(state(2, 22, "refusing", 30, None), server_port=9182)
    found = broker_failures([*broker, controller, wrong])
    assert [summary(f) for f in found] == [("broker_down", 2, [], 5.0, 20.0), ("listener", 2, [], 30.0, None)]
    assert found[1].subject == "10.0.0.2:9182"


def test_a_failure_that_lasts_to_the_end_of_the_capture_has_no_end(state: MakeState) -> None:
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "silent", 5, None)]
    assert [summary(f) for f in broker_failures(rows)] == [("broker_silent", 2, [], 5.0, None)]


def test_a_broker_that_nobody_waits_for_did_not_fail(state: MakeState) -> None:
    assert broker_failures([state(2, 21, "serving", 0, 5), state(2, 21, "unknown", 5, None)]) == []


def test_who_loses_a_broker_a_moment_later_was_not_served_beside_the_others(state: MakeState) -> None:
    """Recorded: two brokers are killed; the one that was first comes back and meets the other one down 18 s later than
    the rest. Nobody talks to that one again before the capture ends."""
    rows = [state(3, host, "serving", 0, 10) for host in (21, 22)]
    rows += [state(3, host, "down", 10, 42) for host in (21, 22)] + [state(3, 23, "serving", 0, 10.01, "broker")]
    rows += [state(3, 23, "unknown", 10.01, 28, "broker"), state(3, 23, "down", 28, 42, "broker")]
    (failure,) = broker_failures(rows)
    assert (failure.kind.name, failure.start_ns, failure.end_ns) == ("broker_down", 10 * NS, 42 * NS)


def test_a_broker_that_was_lost_before_the_capture_began_is_one_where_other_brokers_tried_to_reach_it(
    state: MakeState,
) -> None:
    """Clients alone may have been told a wrong address. The port of controllers belongs to the node of its address."""
    tried = [state(3, 21, "down", 1, None), state(1, 21, "serving", 0, 30)]
    of_peers = [replace(state(3, 12, "down", 0.5, None, "broker"), node_id=None, server_port=9093)]
    (failure,) = broker_failures([*of_peers, *tried])
    assert (*summary(failure)[:3], failure.is_since_before) == ("broker_down", 3, [], True)
    assert (fault_of(failure).start_after_ns, fault_of(failure).start_ns) == (None, int(0.5 * NS))
    assert "it was when the capture began, and new connections were refused" in sentence_of(failure, None, 0)


def test_an_address_that_clients_alone_tried_to_reach_is_no_broker(state: MakeState) -> None:
    alone = [state(3, 21, "down", 1, None), state(1, 21, "serving", 0, 30)]
    assert [failure.kind.name for failure in broker_failures(alone)] == ["listener"]
    itself = [replace(state(3, 21, "down", 1, None, "broker"), host="10.0.0.3")]
    assert [failure.kind.name for failure in broker_failures(itself)] == ["listener"]


def test_one_broker_that_loses_nothing_for_a_while_does_not_show_that_a_host_loses_nothing_any_more(
    state: MakeState,
) -> None:
    """Losses come by chance: what was lost last bounds the end from below, the last broker from above."""
    states = [
        replace(state(1, 21, "lossy", 10, 40), shown_to_ns=25 * NS, after_ns=50 * NS),
        replace(state(2, 21, "lossy", 12, 22), shown_to_ns=20 * NS, after_ns=27 * NS),
    ]
    fault = fault_of(Failure(HOST_LOSSY, "10.0.0.21", 10 * NS, 40 * NS, states=states))
    assert (fault.end_after_ns, fault.end_ns) == (25 * NS, 50 * NS)


@pytest.mark.parametrize(("served", "known"), [(26, 25 * NS), (22, None)])
def test_a_move_that_packets_show_after_somebody_was_served_is_another_one(served: int, known: int | None) -> None:
    """Of leaders that flapped for 20 s a packet showed the last move, when clients had been served for 3 s."""
    failure = Failure(LEADER_MOVE, "payments-0", 13 * NS, 33 * NS)
    steps: list[tuple[StepName, int]] = [("detected", 25), ("served", served)]
    course = (CourseStep(step, at * NS, None, "") for step, at in steps)
    failure.course = tuple(sorted(course, key=lambda each: each.ts_ns))
    assert fault_of(failure).start_ns == known


def test_a_broker_that_connects_again_late_keeps_no_client_waiting(state: MakeState) -> None:
    """Recorded: another node connected to the controller's port of a restarted broker half a minute after clients were
    served again."""
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "down", 5, 20), state(2, 21, "serving", 20, 80)]
    late = replace(state(2, 3, "down", 7, 55, "broker"), server_port=9093)
    (failure,) = broker_failures([*rows, late])
    assert (failure.end_ns, failure.affected_until_ns) == (20 * NS, 20 * NS)


@pytest.mark.parametrize(("second", "n"), [(27, 1), (40, 2)])
def test_a_broker_that_accepts_no_connections_is_one_failure_whoever_tries(
    state: MakeState, second: float, n: int
) -> None:
    """Recorded: nine of ten attempts to connect were lost for 18 s, while clients were started anew one by one."""
    rows = [state(3, host, "serving", 0, 60) for host in (21, 22)]
    rows += [state(3, 21, "not_accepting", 18, 23), state(3, 22, "not_accepting", second, second + 4)]
    found = [failure for failure in broker_failures(rows) if failure.kind.name == "not_accepting"]
    assert len(found) == n
    assert {host for failure in found for host in failure.hosts} == {"10.0.0.21", "10.0.0.22"}


def test_a_listener_that_refuses_some_to_the_end_is_not_over_as_others_gave_up(state: MakeState) -> None:
    rows = [state(1, 21, "refusing", 5, 12), state(1, 22, "refusing", 6, None)]
    assert fault_of(Failure(LISTENER, "10.0.0.1:9092", 5 * NS, None, states=rows)).end_ns is None
    assert fault_of(Failure(LISTENER, "10.0.0.1:9092", 5 * NS, 20 * NS, states=rows)).end_ns is not None
