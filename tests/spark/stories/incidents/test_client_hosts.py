"""Places by contrast: one host at all brokers, all brokers at one time, hosts that are turned away; made by hand."""

from dataclasses import replace

import pytest
from tests.spark.stories.incidents.conftest import NS, MakeRow, MakeStall, MakeState

from kafkascope_spark.stories.incidents.attribution.recovery_attribution import (
    attribute_recoveries,
    failures_by_resource,
)
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.cluster_failures import cluster_failures, mark_cut_hosts
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.hosts.client_hosts import slow_hosts, unreachable_hosts, with_cut_hosts
from kafkascope_spark.stories.incidents.hosts.turned_away import turned_away_hosts
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.packets.contrast import Contrast
from kafkascope_spark.stories.incidents.rows.incident_rows import severity_of
from kafkascope_spark.stories.servers.table import BrokerState


def grid(state: MakeState, bad: dict[tuple[int, int], tuple[str, float, float]]) -> list[BrokerState]:
    """Three brokers and two hosts for a minute; bad: by broker and host, a state with its begin and end."""
    rows = []
    for node in (1, 2, 3):
        for host in (21, 22):
            if (node, host) not in bad:
                rows.append(state(node, host, "serving", 0, 60))
                continue
            name, start, end = bad[node, host]
            rows += [
                state(node, host, "serving", 0, start),
                state(node, host, name, start, end),
                state(node, host, "serving", end, 60),
            ]
    return rows


def placed(rows: list[BrokerState]) -> list[tuple[str, int | None, set[str]]]:
    failures = with_cut_hosts(broker_failures(rows), rows)
    return [(f.kind.name, f.node_id, set(f.hosts)) for f in [*failures, *unreachable_hosts(rows)]]


def test_a_host_that_no_broker_reaches_is_the_place_and_not_the_way_to_each_broker(state: MakeState) -> None:
    bad = {(1, 21): ("silent", 10, 30), (2, 21): ("silent", 10.5, 26), (3, 21): ("silent", 11, 31)}
    assert placed(grid(state, bad)) == [("client_host", None, {"10.0.0.21"})]


@pytest.mark.parametrize(("later", "together"), [(0.25, True), (8.0, False)])
def test_hosts_that_are_cut_off_together_are_one_failure(state: MakeState, later: float, together: bool) -> None:
    """Three hosts behind one gateway, which a recording shows cut off within 0.25 s, are one failure."""
    bad = {(node, 21): ("silent", 10.0, 30.0) for node in (1, 2, 3)}
    bad |= {(node, 22): ("silent", 10.0 + later, 30.0 + later) for node in (1, 2, 3)}
    rows = [*grid(state, bad), *(state(node, 23, "serving", 0, 60) for node in (1, 2, 3))]
    one, two = "10.0.0.21", "10.0.0.22"
    hosts = [{one, two}] if together else [{one}, {two}]
    assert placed(rows) == [("client_host", None, each) for each in hosts]


def test_where_one_broker_reaches_it_the_ways_to_the_others_failed(state: MakeState) -> None:
    bad = {(1, 21): ("silent", 10.0, 30.0), (2, 21): ("silent", 10.5, 26.0)}
    assert placed(grid(state, bad)) == [("path", 1, {"10.0.0.21"}), ("path", 2, {"10.0.0.21"})]


def test_ways_that_failed_one_after_the_other_are_no_failure_of_the_host(state: MakeState) -> None:
    bad = {(1, 21): ("silent", 10.0, 15.0), (2, 21): ("silent", 20.0, 26.0), (3, 21): ("silent", 30.0, 36.0)}
    assert [kind for kind, _, _ in placed(grid(state, bad))] == ["path", "path", "path"]


def test_a_host_that_sends_nothing_to_anybody_is_unreachable_whichever_broker_shows_it(state: MakeState) -> None:
    rows = grid(state, {(2, 21): ("host_silent", 10, 25)})
    assert placed(rows) == [("client_host", None, {"10.0.0.21"})]
    (failure,) = unreachable_hosts(rows)
    assert len(failure.servers) == 3


@pytest.mark.parametrize(("until", "n"), [(19.6, 1), (17.0, 2)])
def test_a_silent_host_that_sends_again_and_reaches_no_broker_was_unreachable_all_the_time(
    state: MakeState, until: float, n: int
) -> None:
    """Recorded: nothing reached a client host for 12 s. It sent nothing until its clients gave up and tried to connect,
    which no broker's packets answered. Where it was served in between, it was unreachable twice."""
    rows = grid(state, {(node, 21): ("silent", 19.6, 22.7) for node in (1, 2, 3)})
    rows += [state(node, 21, "host_silent", 10.1, until) for node in (1, 2, 3)]
    cut = with_cut_hosts(broker_failures(rows), rows)
    found = [*unreachable_hosts(rows, cut), *cut]
    assert [failure.kind.name for failure in found] == ["client_host"] * n
    fault = fault_of(found[-1])
    assert (found[0].start_ns, fault.end_ns) == (int(10.1 * NS), int(22.7 * NS))


@pytest.mark.parametrize(("until", "kinds"), [(21.4, ["client_host"]), (12.0, ["client_host", "path", "path"])])
def test_a_host_that_is_silent_to_its_last_broker_meanwhile_is_the_place(
    state: MakeState, until: float, kinds: list[str]
) -> None:
    """Recorded: nothing reached a client host for 12 s. It acknowledged nothing of two brokers, although it sent to
    them, and sent nothing to the third one for most of that time. Short of that, two paths may have failed."""
    rows = grid(
        state, {(1, 21): ("silent", 8.7, 22.2), (2, 21): ("silent", 8.8, 22.4), (3, 21): ("host_silent", 10, until)}
    )
    cut = with_cut_hosts(broker_failures(rows), rows)
    assert sorted(failure.kind.name for failure in [*unreachable_hosts(rows, cut), *cut]) == kinds


def test_hosts_that_fall_silent_and_come_back_together_are_one_failure(state: MakeState) -> None:
    rows = grid(state, {(2, 21): ("host_silent", 10, 25), (3, 22): ("host_silent", 10.4, 25.3)})
    (failure,) = unreachable_hosts(rows)
    assert failure.hosts == {"10.0.0.21", "10.0.0.22"}


def test_a_host_is_slow_by_itself_only_where_nothing_fails_meanwhile(state: MakeState) -> None:
    rows = grid(state, {(node, 21): ("host_slow", 10, 25) for node in (1, 2, 3)})
    (failure,) = slow_hosts(rows, [])
    assert (failure.kind.name, failure.hosts, failure.start_ns, failure.end_ns) == (
        "host_slow",
        {"10.0.0.21"},
        10 * NS,
        25 * NS,
    )
    for since, n_slow in ((12, 0), (40, 1)):
        failed = broker_failures([state(4, 22, "serving", 0, since), state(4, 22, "frozen", since, since + 9)])
        assert len(slow_hosts(rows, failed)) == n_slow


def all_down(state: MakeState) -> tuple[list[BrokerState], list[Failure]]:
    begins = {1: 10.0, 2: 11.0, 3: 12.0}
    rows = grid(state, {(n, host): ("down", at, 30 + n) for n, at in begins.items() for host in (21, 22)})
    return rows, broker_failures(rows)


def test_all_brokers_down_at_one_time_are_one_failure_with_the_harm_of_all(state: MakeState, stall: MakeStall) -> None:
    rows, failures = all_down(state)
    failures[0].stalls.append(stall("produce", 21, 1, 11, 32))
    (cluster,) = cluster_failures(failures, rows)
    assert {part.root for part in failures} == {cluster}
    assert (severity_of(cluster), [severity_of(part) for part in failures]) == ("error", ["info"] * 3)
    fault = fault_of(cluster)
    assert (fault.start_after_ns, fault.start_ns, fault.end_ns) == (10 * NS, 12 * NS, 33 * NS)


def test_an_address_of_no_broker_does_not_save_the_cluster(state: MakeState, recovery: MakeRow) -> None:
    """The services of all brokers lose their endpoints, and that for bootstrapping goes on to answer
    (https://github.com/strimzi/strimzi-kafka-operator/issues/12706)."""
    rows, failures = all_down(state)
    rows.append(state(None, 21, "serving", 0, 60))
    failures[0].take_recovery(replace(recovery("CONNECTION_REFUSED", 21, 1, 11, None), last_error_ns=30 * NS))
    (cluster,) = cluster_failures(failures, rows)
    assert (severity_of(cluster), cluster.waited_ms) == ("error", 19_000)
    sentence = cluster.kind.sentence(cluster, Times(0))
    assert "All 3 brokers were unavailable" in sentence
    assert "though 10.0.0.99:9092 answers for the cluster" in sentence
    (network, _) = cluster.kind.advice(cluster, Observed(cluster, {}, []))
    assert "the way to the addresses that they advertise" in network.text


def test_a_host_that_all_brokers_served_meanwhile_shows_that_the_way_of_the_others_failed(state: MakeState) -> None:
    rows, failures = all_down(state)
    (cluster,) = cluster_failures(failures, rows)
    mark_cut_hosts([cluster])
    assert (cluster.kind.name, cluster.kind.place) == ("cluster_down", "cluster")
    cluster.contrast = Contrast(hosts_beside={"10.0.0.31"})
    mark_cut_hosts([cluster])
    assert (cluster.kind.name, cluster.kind.place) == ("hosts_cut", "path")
    sentence = cluster.kind.sentence(cluster, Times(0))
    assert sentence.startswith("10.0.0.21, 10.0.0.22 could not use any broker")
    assert sentence.endswith("while the same brokers served 10.0.0.31")
    assert [action.owner for action in cluster.kind.advice(cluster, Observed(cluster, {}, []))] == ["network"]


def test_brokers_that_restart_in_turn_are_no_failure_of_the_cluster(state: MakeState) -> None:
    rows = grid(state, {(n, host): ("down", 10.0 * n, 10.0 * n + 5) for n in (1, 2, 3) for host in (21, 22)})
    assert not list(cluster_failures(broker_failures(rows), rows))


def test_a_broker_that_reaches_no_other_is_not_the_cluster(state: MakeState) -> None:
    """As in a recording of a broker whose link was down for 2 s: it was silent to all clients, and the others to it."""
    rows = grid(state, {(1, host): ("silent", 10, 12) for host in (21, 22)})
    rows += [replace(state(n, 1, "silent", 10, 12), host="10.0.0.1", host_kind="broker") for n in (2, 3)]
    failures = broker_failures(rows)
    assert [(f.kind.name, f.node_id) for f in failures] == [("broker_silent", 1)]
    assert not list(cluster_failures(failures, rows))


def test_a_broker_that_sent_nothing_to_anybody_did_not_serve_who_asked_for_nothing(state: MakeState) -> None:
    rows = grid(state, {(1, 21): ("silent", 10, 12)})
    assert [f.kind.name for f in broker_failures(rows)] == ["path"]
    rows = [replace(row, is_to_all=row.state == "silent") for row in rows]
    assert [f.kind.name for f in broker_failures(rows)] == ["broker_silent"]


def test_hosts_that_brokers_turn_away_are_one_failure_until_the_first_is_served(state: MakeState) -> None:
    rows = grid(state, {(1, 21): ("turned_away", 10, 14), (2, 21): ("turned_away", 12, 30)})
    (failure,) = turned_away_hosts(rows, [])
    assert (failure.hosts, failure.end_ns, failure.waited_ms) == ({"10.0.0.21"}, 30 * NS, 18_000)
    assert severity_of(failure) == "error"
    assert not failure.is_never_let_in, "it was served before"


def test_connections_that_clients_lose_while_their_host_is_turned_away_follow_from_that(
    state: MakeState, recovery: MakeRow
) -> None:
    """Recorded: a broker was slow by the load of its machine, and then reached its limit for one address."""
    (away,) = turned_away_hosts([state(1, 21, "turned_away", 20, 30), state(2, 21, "turned_away", 21, 22)], [])
    slow = replace(away, kind=BROKER_SLOW, node_id=1, hosts=frozenset(), servers=frozenset(), start_ns=5 * NS)
    slow.recoveries, slow.recoveries_of, slow.client_instance_ids = [], {}, set()
    reset = {"resource_kind": "connection", "resource": state(1, 21, "serving", 0, 1).server}
    at_limit = recovery("CONNECTION_RESET", 21, 1, 21, 31, **reset)
    others = [
        recovery("CONNECTION_RESET", 22, 1, 21, 31, **reset),
        recovery("CONNECTION_RESET", 21, 1, 12, 13, **reset),
        recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 21, 31),
    ]
    attribute_recoveries([at_limit, *others], failures_by_resource([slow, away]))
    assert away.recoveries == [at_limit]
    assert away.client_instance_ids == {"ci-21"}


def test_a_host_that_did_not_try_for_a_while_was_turned_away_all_the_time(state: MakeState) -> None:
    """Recorded: franz-go tried again after 5 s (max.connections.per.ip of its host)."""
    served = {"after_ns": 32 * NS, "to_ns": 32 * NS}
    rows = [state(1, 21, "turned_away", 13, 15), replace(state(2, 21, "turned_away", 20, 30), **served)]
    assert [(f.start_ns, f.end_ns) for f in turned_away_hosts(rows, [])] == [(13 * NS, 32 * NS)]
    let_in = replace(rows[0], after_ns=16 * NS)
    assert [f.start_ns for f in turned_away_hosts([let_in, rows[1]], [])] == [13 * NS, 20 * NS]
    other = replace(rows[0], host="10.0.0.22")
    assert [f.start_ns for f in turned_away_hosts([other, rows[1]], [])] == [13 * NS, 20 * NS]


def test_a_host_that_a_broker_never_let_in_has_reached_no_limit_of_its_own(state: MakeState) -> None:
    """Two of three brokers behind a sidecar (https://github.com/istio/istio/issues/28646)."""
    rows = [state(1, 21, "serving", 0, 60), state(2, 22, "serving", 0, 60)]
    rows += [state(2, 21, "serving", 10, 10.002), state(2, 21, "turned_away", 10.002, 50)]
    (failure,) = turned_away_hosts(rows, [])
    assert failure.is_never_let_in
    assert "none was ever served, as behind a proxy" in failure.kind.sentence(failure, Times(0))
    owners = [action.owner for action in failure.kind.advice(failure, Observed(failure, {}, ()))]
    assert owners[0] == "network"
