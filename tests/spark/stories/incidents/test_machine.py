"""To which failure stalls and recoveries belong, and what the incident says, from rows written by hand."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds import KINDS
from kafkascope_spark.stories.incidents.kinds.client_died import CLIENT_DIED
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.incidents.kinds.stale_broker import STALE_BROKER
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.leadership import Leader
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of
from kafkascope_spark.stories.incidents.rows.sentences import how_known, sentence_of
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.client_recovery import LeaderReport
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall

from .conftest import NS, MakeRow, MakeStall, MakeState, Row, row_of


def tell(
    states: Iterable[BrokerState] = (),
    stalls: Iterable[Stall] = (),
    recoveries: Iterable[Row] = (),
    rebalances: Iterable[RebalanceRow] = (),
    clients: Iterable[Row] = (),
    silent: Iterable[Row] = (),
    uses: Iterable[Row] = (),
) -> tuple[list[Row], dict[str, str]]:
    """The incidents, and the kind of the incident of each stall."""
    machine = Incidents(0)
    rows = {"broker_state": states, "stall": stalls, "recovery": recoveries, "rebalance": rebalances}
    rows |= {"silent_client": silent, "listener_use": uses, "affected_client": clients}
    for of_kind in rows.values():
        for row in of_kind:
            machine.take(row)
    out = list(machine.finish())
    incidents = batch_of_rows(IncidentRow, [row for row in out if isinstance(row, IncidentRow)]).to_pylist()
    stall_rows = [row for row in out if isinstance(row, Stall)]
    assert batch_of_rows(Stall, stall_rows).num_rows == len(stall_rows)
    kind_of = {row["incident_id"]: row["kind"] for row in incidents}
    return incidents, {row.stall_id: kind_of[row.incident_id] for row in stall_rows}


@pytest.fixture
def silent_broker(state: MakeState) -> list[BrokerState]:
    """Node 2 is silent from 5 to 20 s; nodes 1 and 3 serve."""
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "silent", 5, 20), state(2, 21, "serving", 20, 60)]
    return rows + [state(node, host, "serving", 0, 60) for node in (1, 3) for host in (21, 22)]


def test_what_waited_on_the_failed_broker_belongs_to_it(silent_broker: list[BrokerState], stall: MakeStall) -> None:
    (incident,), kinds = tell(silent_broker, [stall("produce", 21, 2, 4.8, 14)])
    assert kinds == {"stall-produce-21-4.8": "broker_silent"}
    assert (incident["node_id"], incident["severity"], incident["clients"]) == (2, "warning", ["ci-21"])
    assert (incident["start_ns"], incident["end_ns"]) == (5 * NS, 14 * NS)
    assert (incident["n_stalls"], incident["longest_ms"]) == (1, 9200)
    assert incident["evidence"][0] == "request-21-4.8"


def test_what_waited_on_a_leader_that_served_belongs_to_the_replica(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    (incident,), _ = tell(silent_broker, [stall("produce", 22, 1, 5.5, 32)])
    assert (incident["node_id"], incident["severity"], incident["end_ns"]) == (2, "error", 32 * NS)


def test_what_waits_while_replicas_catch_up_belongs_to_the_failed_broker_as_long_as_others_wait_for_it(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    """Node 2 is back at 20 s, and its last client is served again at 23 s."""
    own, meanwhile = stall("produce", 21, 2, 4.8, 23), stall("produce", 22, 1, 21, 22.5)
    later = stall("produce", 22, 1, 23.5, 25)
    _, kinds = tell(silent_broker, [own, meanwhile, later])
    assert [kinds[s.stall_id] for s in (own, meanwhile, later)] == ["broker_silent", "broker_silent", "unexplained"]
    _, kinds = tell(silent_broker, [meanwhile])
    assert set(kinds.values()) == {"unexplained"}


def test_of_two_failed_replicas_the_one_that_failed_last_before_a_wait_made_it_wait(
    state: MakeState, stall: MakeStall
) -> None:
    """Recorded: node 1 is killed, leaders drop it, and writes go on; then node 2 is frozen, and writes at node 3 wait
    until it goes on. All that time node 1 is down."""
    rows = [state(3, 21, "serving", 0, 60)]
    for node, name, since, until in ((1, "down", 5, 17), (2, "frozen", 10, 15)):
        rows += [state(node, 21, "serving", 0, since), state(node, 21, name, since, until)]
        rows += [state(node, 21, "serving", until, 60)]
    first, second = stall("produce", 21, 3, 5.1, 8.6), stall("produce", 21, 3, 10.2, 15.1)
    incidents, kinds = tell(rows, [first, second])
    assert [row["node_id"] for row in incidents] == [1, 2]
    assert kinds == {first.stall_id: "broker_down", second.stall_id: "broker_frozen"}


def test_a_stall_long_before_is_explained_by_nothing(silent_broker: list[BrokerState], stall: MakeStall) -> None:
    incidents, kinds = tell(silent_broker, [stall("produce", 21, 2, 1, 2.5)])
    assert kinds == {"stall-produce-21-1": "unexplained"}
    (unexplained,) = [i for i in incidents if i["kind"] == "unexplained"]
    assert unexplained["node_id"] is None
    assert unexplained["sentence"].startswith(
        "Records were not accepted from 00:01.000 (00:00:01.000 UTC) to 00:02.500 (1.50 s)"
    )


def test_what_is_not_explained_says_which_brokers_were_waited_on(stall: MakeStall) -> None:
    """Recorded: a broker that runs for 60 ms of each 900 ms holds up the others too, as acks=all waits for it."""
    rows = [stall("produce", 21, 3, 1, 4), stall("produce", 22, 3, 1.1, 3), stall("produce", 23, 2, 1.2, 4)]
    (incident,), _ = tell(stalls=rows)
    brokers = "(2 stalls waited for node 3, 1 stall waited for node 2)"
    assert f"; nothing in the capture shows why {brokers}." in incident["sentence"]


def test_what_is_not_explained_names_its_errors(stall: MakeStall) -> None:
    (incident,), _ = tell(stalls=[stall("commit", 21, 2, 1, 2.5, error_names=["KAFKA_STORAGE_ERROR"])])
    assert "; the errors were KAFKA_STORAGE_ERROR." in incident["sentence"]


def test_an_error_by_which_a_broker_waits_says_for_what(stall: MakeStall) -> None:
    (incident,), _ = tell(stalls=[stall("transaction", 21, 2, 1, 2.5, error_names=["CONCURRENT_TRANSACTIONS"])])
    waited = "the errors were CONCURRENT_TRANSACTIONS: node 2 waited for the end of the transaction before."
    assert f"; {waited}" in incident["sentence"]


def test_a_consumer_without_a_group_stalls_only_where_something_failed(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    chosen, forced = stall("consume", 21, 1, 30, 50), stall("consume", 21, 2, 6, 14)
    _, kinds = tell(silent_broker, [chosen, forced])
    assert kinds == {"stall-consume-21-6": "broker_silent"}


def test_a_cut_path_takes_only_stalls_of_its_host(state: MakeState, stall: MakeStall, recovery: MakeRow) -> None:
    states = [state(2, 21, "silent", 5, 15), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 15, 60)]
    stalls = [stall("produce", 21, 2, 5, 15), stall("produce", 22, 2, 5, 9)]
    recoveries = [recovery("REQUEST_UNANSWERED", 21, 2, 8, 15), recovery("REQUEST_UNANSWERED", 22, 2, 8, 15)]
    incidents, kinds = tell(states, stalls, recoveries)
    assert kinds == {"stall-produce-21-5": "path", "stall-produce-22-5": "unexplained"}
    (path,) = [i for i in incidents if i["kind"] == "path"]
    assert (path["clients"], path["hosts"]) == (["ci-21"], ["10.0.0.21"])


def test_who_waits_for_a_coordinator_behind_a_cut_path_asks_others_for_nothing(
    state: MakeState, stall: MakeStall
) -> None:
    """As recorded: kafkajs awaits the response to a heartbeat at node 2 for 14 s, and fetches nothing from node 1."""
    states = [state(2, 21, "silent", 5, 20), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 20, 60)]
    states += [state(1, host, "serving", 0, 60) for host in (21, 22)]
    mine, other = (stall("consume", host, 1, 5.3, 20, group_id="orders-app") for host in (21, 22))
    later = stall("consume", 21, 1, 19, 25, group_id="orders-app")
    _, kinds = tell(states, [mine, other, later])
    assert kinds == {mine.stall_id: "path", other.stall_id: "unexplained", later.stall_id: "unexplained"}


def test_a_path_that_fails_in_one_direction_says_which(state: MakeState) -> None:
    rows = [state(2, 21, "silent", 5, 15), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 15, 60)]
    (to_broker,), _ = tell(rows)
    assert "10.0.0.21 did not reach node 2 (10.0.0.2:9092) from" in to_broker["sentence"]
    assert "it acknowledged nothing of what was sent to it" in to_broker["sentence"]
    rows[0].unacknowledged = "broker"
    (to_host,), _ = tell(rows)
    assert to_host["sentence"].startswith("Packets of node 2 (10.0.0.2:9092) did not reach 10.0.0.21 from")
    assert "acknowledged none of them, while its own packets reached the broker" in to_host["sentence"]


def test_a_path_that_loses_packets_is_no_routine_though_nobody_is_seen_to_wait(
    state: MakeState, stall: MakeStall
) -> None:
    """A response that is lost after the point of capture looks as if it had come. What did wait on that path meanwhile
    waited because of it."""
    rows = [state(2, 21, "lossy", 5, 15), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 15, 60)]
    (incident,), _ = tell(rows)
    assert (incident["kind"], incident["hosts"], incident["severity"]) == ("path", ["10.0.0.21"], "warning")
    assert incident["sentence"].startswith("Packets between 10.0.0.21 and node 2 (10.0.0.2:9092) were lost from 00:05")
    assert "drops" in advised(incident)
    assert "The broker itself worked" not in advised(incident)
    (incident,), kinds = tell(rows, [stall("produce", 21, 2, 9, 12)])
    assert set(kinds.values()) == {"path"}
    assert "the last was served again at 00:12.000." in incident["sentence"]


def test_somebody_who_still_waits_leaves_the_incident_open(silent_broker: list[BrokerState], stall: MakeStall) -> None:
    (incident,), _ = tell(silent_broker, [stall("produce", 21, 2, 5, 9), stall("consume", 22, 2, 6, None)])
    assert (incident["end_ns"], incident["severity"]) == (None, "error")
    assert "at least one was still waiting at the end of the capture" in incident["sentence"]


def test_what_begins_at_the_moment_a_broker_is_back_follows_from_that_one(state: MakeState, stall: MakeStall) -> None:
    """Brokers restart in turn; the coordinator moves back to the second one when it answers, a moment later or before
    (recorded: the first refused commit is sent 9 ms before)."""
    rows = [state(1, 21, "serving", 0, 5), state(1, 21, "down", 5, 8), state(1, 21, "serving", 8, None)]
    rows += [state(2, 21, "serving", 0, 12), state(2, 21, "down", 12, 20.009), state(2, 21, "serving", 20.009, None)]
    commit = stall("commit", 21, 2, 20, 26, group_id="orders-app", error_names=["NOT_COORDINATOR"])
    incidents, _ = tell(rows, [commit])
    ends = {i["node_id"]: i["end_ns"] for i in incidents}
    assert ends == {1: 8 * NS, 2: 26 * NS}


@pytest.fixture
def restarts_in_turn(state: MakeState) -> list[BrokerState]:
    """Node 1 is down from 8 to 20 s, node 2 from 22 to 38 s."""
    rows = [state(1, 21, "serving", 0, 8), state(1, 21, "down", 8, 20), state(1, 21, "serving", 20, 60)]
    return [*rows, state(2, 21, "serving", 0, 22), state(2, 21, "down", 22, 38), state(2, 21, "serving", 38, 60)]


def test_a_stall_that_spans_two_failures_belongs_to_the_first_and_the_second_lists_it(
    restarts_in_turn: list[BrokerState], stall: MakeStall
) -> None:
    """It waits on node 2, which leads the partition, behind the replica at node 1, and then for node 2 itself."""
    long = stall("produce", 21, 2, 9, 39)
    own = stall("consume", 21, 2, 23, 25)
    (first, second), _ = tell(restarts_in_turn, [long, own])
    assert (first["node_id"], first["n_stalls"], first["earlier_stalls"]) == (1, 1, [])
    assert (second["node_id"], second["n_stalls"], second["earlier_stalls"]) == (2, 1, [long.stall_id])
    assert second["clients"] == ["ci-21"]
    assert (first["end_ns"], second["end_ns"]) == (20 * NS, 39 * NS)
    assert (first["severity"], second["severity"]) == ("error", "error")
    assert "client-21 had stalled before, and waited longer because of it." in second["sentence"]
    assert "client-21 went on waiting because of a later incident." in first["sentence"]


def test_a_broker_that_did_not_fail_for_the_host_that_waits_is_none_of_its_business(
    state: MakeState, stall: MakeStall
) -> None:
    rows = [state(1, 21, "serving", 0, 8), state(1, 21, "down", 8, 20), state(1, 21, "serving", 20, 60)]
    rows += [state(2, 22, "serving", 0, 22), state(2, 22, "down", 22, 38), state(2, 22, "serving", 38, 60)]
    incidents, _ = tell(rows, [stall("produce", 21, 1, 9, 39)])
    assert [(i["node_id"], i["earlier_stalls"]) for i in incidents] == [(1, []), (2, [])]


def test_a_broker_that_shuts_down_in_order_fails_from_its_first_refusal(
    restarts_in_turn: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    """Recorded: node 103 refuses commits 1.5 s before it ends its connections, and 0.6 s after node 102 was back."""
    commit = stall("commit", 21, 2, 20.5, 22.1, group_id="orders-app", error_names=["NOT_COORDINATOR"])
    moved = {"new_node_id": 3}
    refusals = [recovery("NOT_COORDINATOR", 21, 2, 20.5, 22.1, resource="orders-app", **moved)]
    refusals += [recovery("NOT_LEADER_OR_FOLLOWER", 21, 2, 19.9, 20.2, **moved)]
    incidents, kinds = tell(restarts_in_turn, [commit], refusals)
    assert [(i["kind"], i["node_id"], i["n_stalls"]) for i in incidents] == [
        ("broker_down", 1, 0),
        ("broker_down", 2, 1),
    ]
    assert (incidents[1]["start_ns"], incidents[1]["end_ns"]) == (19_900_000_000, 22_100_000_000)
    assert kinds == {"stall-commit-21-20.5": "broker_down"}
    assert "shut down from 00:19.900 on and was down from 00:22.000 (00:00:22.000 UTC) to" in incidents[1]["sentence"]
    assert "It shut down in order" in advised(incidents[1])
    assert "Look at the log of node 1" in advised(incidents[0])


def test_a_broker_that_takes_over_leaders_before_it_falls_does_not_shut_down(
    restarts_in_turn: list[BrokerState], recovery: MakeRow
) -> None:
    """An election, and a broker that is killed soon after it."""
    given_away = recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 6, 6.2, new_node_id=3)
    taken_over = recovery("NOT_LEADER_OR_FOLLOWER", 21, 3, 6, 6.4, resource="orders-1", new_node_id=1)
    incidents, _ = tell(restarts_in_turn, recoveries=[given_away, taken_over])
    starts = [(i["kind"], i["start_ns"]) for i in incidents]
    assert starts == [("leader_move", 6 * NS), ("broker_down", 8 * NS), ("broker_down", 22 * NS)]


def test_a_client_that_lost_a_connection_and_asked_for_nothing_later_could_work(
    restarts_in_turn: list[BrokerState], recovery: MakeRow
) -> None:
    closed = recovery("CONNECTION_CLOSED", 21, 1, 8, None, resource_kind="connection", outcome="client_ended")
    refused = replace(closed, client_instance_id="ci-22", error_names=("CONNECTION_CLOSED", "CONNECTION_REFUSED"))
    (idle, _), (asking, _) = (tell(restarts_in_turn, recoveries=[one])[0] for one in (closed, refused))
    assert "No client stalled because of it." in idle["sentence"]
    assert "1 client could not work because of it: 10.0.0.21." in asking["sentence"]


def test_a_failure_that_nobody_felt_is_routine(silent_broker: list[BrokerState]) -> None:
    (incident,), _ = tell(silent_broker)
    assert (incident["severity"], incident["end_ns"], incident["clients"]) == ("info", 20 * NS, [])


def test_an_evicted_member_explains_why_a_group_stalled(stall: MakeStall, rebalance: MakeRow) -> None:
    waited = stall("consume", 21, 1, 10, 17, group_id="orders-app")
    (incident,), _ = tell([], [waited], [], [rebalance(16, 16.5, {"worker-7": 9.8})])
    assert (incident["kind"], incident["node_id"]) == ("member", None)
    assert (incident["start_ns"], incident["end_ns"]) == (9_800_000_000, 17 * NS)
    assert "In group orders-app, worker-7 stopped without leaving the group" in incident["sentence"]


def test_the_only_member_of_a_group_that_was_evicted_explains_why_nobody_read(
    stall: MakeStall, rebalance: MakeRow, recovery: MakeRow
) -> None:
    """Recorded: a process that was stopped goes on at 16.6 s, reads what its sockets hold, and joins again at 17 s."""
    stalls = [stall("consume", 21, 1, 8.7, 16.68, group_id="orders-app")]
    stalls.append(stall("consume", 21, 2, 8.9, 17.4, group_id="orders-app", partition=1))
    removed = recovery("UNKNOWN_MEMBER_ID", 21, 1, 16.7, 17.4, resource_kind="group", resource="orders-app")
    incidents, kinds = tell([], stalls, [removed], [rebalance(17, 17.4, {"client-21": 8.5})])
    assert kinds == {"stall-consume-21-8.7": "member", "stall-consume-21-8.9": "member"}
    (away,) = [i for i in incidents if i["n_stalls"]]
    assert (away["start_ns"], away["end_ns"]) == (8_500_000_000, 17_400_000_000)
    assert "In group orders-app, client-21 stopped without leaving the group" in away["sentence"]


def test_a_member_that_lost_its_place_explains_a_stall_without_a_rebalance(stall: MakeStall, recovery: MakeRow) -> None:
    removed = recovery("UNKNOWN_MEMBER_ID", 21, 1, 16.7, 18, resource_kind="group", resource="orders-app")
    _, kinds = tell([], [stall("consume", 21, 1, 17, 18.5, group_id="orders-app")], [removed])
    assert kinds == {"stall-consume-21-17": "member"}


def test_errors_that_follow_from_a_broker_belong_to_it(silent_broker: list[BrokerState], recovery: MakeRow) -> None:
    incidents, _ = tell(
        silent_broker,
        recoveries=[
            recovery("REQUEST_UNANSWERED", 21, 2, 9, 12),
            recovery("LEADER_NOT_AVAILABLE", 22, 1, 8, 9),
            recovery("TOPIC_AUTHORIZATION_FAILED", 22, 1, 8, None, outcome="fatal"),
        ],
    )
    assert [(i["kind"], i["severity"], i["clients"]) for i in incidents] == [
        ("broker_silent", "info", ["ci-21", "ci-22"]),
        ("permission", "error", ["ci-22"]),
    ]


@pytest.mark.parametrize(
    ("outcome", "kinds"), [("recovered", {"broker_silent"}), ("fatal", {"broker_silent", "producer_refused"})]
)
def test_batches_that_overtook_those_on_the_way_to_a_failed_broker_are_refused_because_of_it(
    silent_broker: list[BrokerState], recovery: MakeRow, outcome: str, kinds: set[str]
) -> None:
    """Recorded of a Java producer: the new leader got its second batch before the first was sent again."""
    until = 12 if outcome == "recovered" else None
    refused = recovery("OUT_OF_ORDER_SEQUENCE_NUMBER", 21, 1, 9, until, first_api_key=0, outcome=outcome)
    incidents, _ = tell(silent_broker, recoveries=[refused])
    assert {incident["kind"] for incident in incidents} == kinds


@pytest.mark.parametrize(("begins", "kind"), [(18.6, "host_lossy"), (8, "unexplained")])
def test_who_stalls_before_a_full_queue_drops_packets_waits_for_the_same_link(
    state: MakeState, stall: MakeStall, begins: float, kind: str
) -> None:
    """Recorded of a host that had 400 kbit/s for what it fetched; the loss may have begun ten seconds before it was
    seen."""
    rows = [state(node, 22, "serving", 0, 60) for node in (1, 2)]
    for node in (1, 2):
        rows += [state(node, 21, "serving", 0, 22), state(node, 21, "serving", 44, 60)]
        rows.append(replace(state(node, 21, "lossy", 22, 44), before_ns=12 * NS))
    waited = stall("consume", 21, 1, begins, begins + 1.3, group_id="orders-app")
    assert tell(rows, [waited])[1] == {waited.stall_id: kind}


def test_what_a_controller_decides_late_is_told_with_what_kept_it(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    """Recorded of CreateTopics, which a broker passed on to a controller that was stopped."""
    late = stall("admin", 22, 1, 9, 17)
    assert tell(silent_broker, [late])[1] == {late.stall_id: "broker_silent"}
    assert tell([], [late])[1] == {}


def test_a_group_that_waits_for_its_coordinator_reads_nothing_for_the_same_reason(
    silent_broker: list[BrokerState], stall: MakeStall
) -> None:
    """As recorded of a Java consumer whose synchronous commit was answered 11 s after its coordinator was back."""
    member = stall("membership", 21, 2, 6, 34, group_id="g")
    reads = stall("consume", 21, 1, 33, 34.3, group_id="g")
    _, kinds = tell(silent_broker, [member, reads])
    assert kinds == {"stall-membership-21-6": "broker_silent", "stall-consume-21-33": "broker_silent"}
    _, kinds = tell(silent_broker, [member, replace(reads, group_id="other")])
    assert kinds["stall-consume-21-33"] == "unexplained"


def test_a_stall_after_a_leader_moved_belongs_to_the_move(
    silent_broker: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    incidents, kinds = tell(
        silent_broker,
        [stall("consume", 22, 1, 40.1, 42, group_id="orders-app")],
        [recovery("NOT_LEADER_OR_FOLLOWER", 22, 1, 40, 41.9)],
    )
    assert kinds == {"stall-consume-22-40.1": "leader_move"}
    (moved,) = [i for i in incidents if i["kind"] == "leader_move"]
    assert (moved["severity"], moved["end_ns"]) == ("warning", 42 * NS)


def test_of_errors_in_one_response_ids_do_not_decide_which_resource_an_incident_is_named_for(recovery: MakeRow) -> None:
    """Ids are hashes of addresses: a capture with other addresses gives the same incident."""
    for ids in (("rec-a", "rec-b"), ("rec-b", "rec-a")):
        rows = [
            recovery("NOT_LEADER_OR_FOLLOWER", 22, 1, 40, 41.9, recovery_id=recovery_id, resource=resource)
            for recovery_id, resource in zip(ids, ("orders-0", "orders-1"), strict=True)
        ]
        incidents, _ = tell(recoveries=rows)
        assert [row["subject"] for row in incidents] == ["orders-0"]


def test_a_client_that_has_not_recovered_stalls_because_of_what_it_lost(
    silent_broker: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    """Recorded: the coordinator moves while its broker is frozen; kafkajs goes on asking the broker for 20 s."""
    lost = {"resource_kind": "coordinator", "resource": "orders-app"}
    refused = recovery("NOT_COORDINATOR", 21, 2, 20.1, None, outcome="wrong_reaction", **lost)
    unread = stall("consume", 21, 1, 20.5, 41, group_id="orders-app")
    incidents, kinds = tell(silent_broker, [unread], [refused])
    assert kinds == {"stall-consume-21-20.5": "broker_silent"}
    assert [(i["node_id"], i["end_ns"]) for i in incidents] == [(2, 41 * NS)]
    _, kinds = tell(silent_broker, [unread], [replace(refused, recovered_ns=20_400_000_000)])
    assert kinds == {"stall-consume-21-20.5": "unexplained"}


def test_a_client_without_a_connection_to_a_broker_that_is_back_stalls_because_of_the_path(
    state: MakeState, stall: MakeStall, recovery: MakeRow
) -> None:
    states = [state(2, 21, "silent", 5, 15), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 15, 60)]
    lost = recovery("REQUEST_UNANSWERED", 21, 2, 8, 18.5, resource_kind="connection", resource="10.0.0.2:9092")
    unread = stall("consume", 21, 2, 15.1, 18.5, group_id="orders-app")
    _, kinds = tell(states, [unread], [lost])
    assert kinds == {"stall-consume-21-15.1": "path"}
    _, kinds = tell(states, [unread], [replace(lost, recovered_ns=None, outcome="served_elsewhere")])
    assert kinds == {"stall-consume-21-15.1": "unexplained"}


def test_what_a_quota_holds_back_belongs_to_the_quota(
    silent_broker: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    throttled = recovery("THROTTLED", 21, 2, 4, 19, resource_kind="connection", resource="quota: Produce")
    incidents, kinds = tell(silent_broker, [stall("produce", 21, 2, 6, 14)], [throttled])
    assert kinds == {"stall-produce-21-6": "quota"}
    (quota,) = [i for i in incidents if i["kind"] == "quota"]
    assert quota["subject"] == "Produce requests"
    assert quota["sentence"].startswith("A quota held back Produce requests from 00:04.000 (00:00:04.000 UTC)")


def test_who_is_never_served_at_an_address_makes_its_incident_an_error(state: MakeState, recovery: MakeRow) -> None:
    """The node id may be known, from Metadata: it is not known that this node is there."""
    refused = recovery("CONNECTION_REFUSED", 21, 7, 5, None, resource_kind="connection", outcome="client_ended")
    address = {"server_ip": "10.0.0.99", "server_port": 9099}
    (incident,), _ = tell(
        [replace(state(None, 21, "silent", 5, None), **address)],
        recoveries=[replace(refused, resource="10.0.0.99:9099")],
    )
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("listener", None, "error")
    assert (incident["clients"], incident["subject"]) == (["ci-21"], "10.0.0.99:9099")
    assert "1 client could not work because of it: 10.0.0.21." in incident["sentence"]


def test_a_leader_that_moves_without_a_stall_is_routine(recovery: MakeRow) -> None:
    (incident,), _ = tell(recoveries=[recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 9, 9.2)])
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("leader_move", None, "info")


def test_rows_do_not_depend_on_their_order(
    silent_broker: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    stalls = [stall("produce", 21, 2, 5, 9), stall("consume", 22, 1, 6, 9), stall("produce", 22, 1, 40, 42)]
    recoveries = [recovery("REQUEST_UNANSWERED", 21, 2, 9, 12), recovery("NOT_LEADER_OR_FOLLOWER", 22, 1, 45, 46)]
    there = tell(silent_broker, stalls, recoveries)
    back = tell(silent_broker[::-1], stalls[::-1], recoveries[::-1])
    assert there == back


def test_who_left_without_being_served_is_named(silent_broker: list[BrokerState], stall: MakeStall) -> None:
    """As recorded of kafkajs: its group's coordinator died, and it never got a place again before it was closed."""
    served, left = stall("produce", 21, 2, 5, 9), stall("membership", 22, 2, 6, 40, group_id="readers", served=False)
    sentence = tell(silent_broker, [served, left])[0][0]["sentence"]
    assert "served again at 00:09.000; group readers gave up or ended without being served." in sentence
    alone = tell(silent_broker, [left])[0][0]["sentence"]
    assert "readers gave up or ended without being served, the last at 00:40.000." in alone
    assert "served again" not in alone


@pytest.fixture
def deleted_topic(recovery: MakeRow) -> list[Row]:
    """Recorded: a topic is deleted at 5.5 s and created again at 12.6 s. A consumer cannot commit offsets meanwhile,
    a producer finds the new topic at 13.2 s, and one of another library goes on asking for the old topic's ID."""
    return [
        recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 5.5, 13.9, first_api_key=1),
        recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 2, 5.4, 12.6, first_api_key=8, resource_kind="group", resource="g"),
        recovery("UNKNOWN_TOPIC_OR_PARTITION", 22, 1, 5.6, 13.2, first_api_key=0),
        recovery("UNKNOWN_TOPIC_ID", 23, 1, 5.7, None, first_api_key=0, outcome="gave_up", client_id="old"),
    ]


def test_a_topic_that_was_deleted_and_created_again_is_one_incident(deleted_topic: list[Row], stall: MakeStall) -> None:
    """It was there when the first client had it again, whatever those see that keep its ID."""
    stalls = [stall("produce", 22, 1, 5.6, 13.2), stall("produce", 23, 1, 5.7, 26.6, served=False)]
    (incident,), _ = tell(stalls=stalls, recoveries=deleted_topic)
    assert (incident["kind"], incident["subject"], incident["n_stalls"]) == ("missing_topic", "orders", 2)
    assert " from 00:05.400 (00:00:05.400 UTC) to 00:12.600 (7.20 s)" in incident["sentence"]
    assert "; old kept using the ID of the deleted topic." in incident["sentence"]
    assert "Restart old: " in advised(incident)
    assert "--create" not in advised(incident)


def test_a_client_that_stops_asking_for_a_topic_does_not_keep_it_missing(
    deleted_topic: list[Row], recovery: MakeRow
) -> None:
    """Recorded of Kafka 2.8: a producer gets the error once, and sends nothing more; others write to that partition."""
    gone = recovery("UNKNOWN_TOPIC_OR_PARTITION", 24, 1, 5.8, None, client_id="quiet", outcome="client_ended")
    (incident,), _ = tell(recoveries=[*deleted_topic[:3], gone])
    assert incident["end_ns"] == int(12.6 * NS)
    assert advised(incident).endswith("Restart quiet: it was not used again there.")


def test_a_partition_that_nobody_has_again_is_not_there(deleted_topic: list[Row], recovery: MakeRow) -> None:
    missing = recovery("UNKNOWN_TOPIC_OR_PARTITION", 24, 1, 6.0, None, resource="orders-7")
    (incident,), _ = tell(recoveries=[*deleted_topic, missing])
    assert incident["end_ns"] is None
    assert advised(incident).startswith("Create the topic")


def test_commits_for_a_missing_topic_of_another_client_are_not_those_of_the_topic(recovery: MakeRow) -> None:
    topic = recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 5.5, 13.9)
    commit = recovery("UNKNOWN_TOPIC_OR_PARTITION", 22, 2, 5.6, 12.6, resource_kind="group", resource="g")
    incidents, _ = tell(recoveries=[topic, commit])
    assert [row["subject"] for row in incidents] == ["orders", "g"]


def test_the_name_of_a_topic_keeps_its_letters() -> None:
    failure = Failure(MISSING_TOPIC, "orders-0", NS, 2 * NS, error_names={"UNKNOWN_TOPIC_OR_PARTITION"})
    assert sentence_of(failure, failure.end_ns, 0).startswith(
        "orders-0 was not there (UNKNOWN_TOPIC_OR_PARTITION) from"
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_a_sentence_and_advice(kind: Kind, silent: MakeRow, recovery: MakeRow) -> None:
    failure = Failure(
        kind,
        "node 2 (10.0.0.2:9092)",
        NS,
        2 * NS,
        node_id=2,
        server="10.0.0.2:9092",
        hosts=frozenset({"10.0.0.21"}),
    )
    failure.silences = [silent(21, 1, 2)] if kind.of_clients else []
    if kind in (STALE_BROKER, STALE_CLIENT):
        report = LeaderReport(2, "10.0.0.2:9092", 1, 3 * NS, 1, 3 * NS)
        failure.recoveries = [replace(recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 1, 2), leader_reports=(report,))]
        failure.topic.moved_to = {"orders-0": Leader(3, NS, is_reported=True)}
    failure.lookups = [LookupRun("10.0.0.21", "10.0.0.53", False, 3, 0, ("kafka-1.example",), NS, NS, None, None)]
    failure.resources = {"kafka-1.example"}
    failure.topic.ids = {"old": NS, "new": 2 * NS}
    sentence = sentence_of(failure, 3 * NS, NS // 2)
    at_once = " at 00:00.500 (00:00:01.000 UTC): "
    lasting = " from 00:00.500 (00:00:01.000 UTC) to 00:01.500 (1.00 s)"
    assert (at_once if kind is CLIENT_DIED else lasting) in sentence
    assert sentence.count("UTC") == 1
    assert how_known(failure)
    assert all("{" not in action.text for action in actions_of(failure, Observed(failure, {}, Counter())))


def test_a_client_that_stalled_explains_why_its_group_did(
    stall: MakeStall, silent: MakeRow, rebalance: MakeRow, recovery: MakeRow
) -> None:
    """Its group removes it at 16 s; at 20 s it goes on, learns that, and looks for its place until 22 s."""
    removed = rebalance(16, 16.5, {"client-21": 9.8})
    stalls = [
        stall("consume", 22, 1, 10, 17, group_id="orders-app"),
        stall("membership", 21, 1, 20.1, 22, group_id="orders-app"),
    ]
    lost = recovery("UNKNOWN_MEMBER_ID", 21, 1, 20.1, 22, resource_kind="group", resource="orders-app")
    (incident,), kinds = tell(stalls=stalls, recoveries=[lost], rebalances=[removed], silent=[silent(21, 10, 20)])
    assert set(kinds.values()) == {"client"}
    assert (incident["kind"], incident["node_id"], incident["hosts"]) == ("client", None, ["10.0.0.21"])
    assert (incident["start_ns"], incident["end_ns"]) == (10 * NS, 22 * NS)
    assert (incident["severity"], incident["clients"]) == ("warning", ["ci-21", "ci-22"])
    assert incident["sentence"].startswith(
        "Client client-21 (10.0.0.21) was paused from 00:10.000 (00:00:10.000 UTC) to 00:20.000 (10.0 s): no "
        "request came on any of its connections (4), although heartbeats were due every 3.00 s, while the host's "
        "kernel acknowledged what brokers sent; 1 group removed a member because of it: orders-app. "
    )


def test_a_client_that_sends_nothing_before_it_leaves_was_closing(
    silent: MakeRow, stall: MakeStall, rebalance: MakeRow, client: MakeRow
) -> None:
    """Recorded: kafkajs waits for its last Fetch, up to 5 s, and then leaves the group."""
    left = row_of(DepartedMember, client_id="client-21", client_instance_id="ci-21", how="left")
    round_ = replace(rebalance(15, 18), departed=(left,))
    unread = stall("consume", 21, 1, 10.5, 18, group_id="orders-app")
    (incident,), kinds = tell([], [unread], [], [round_], [client(21)], [silent(21, 10, 14.9)])
    assert set(kinds.values()) == {"member"}
    assert "Let consumers leave" not in advised(incident)
    assert advised(incident).startswith("No member was lost")
    (incident,), kinds = tell([], [unread], [], [round_], [client(21)], [silent(21, 7, 12)])
    assert set(kinds.values()) == {"client"}


def test_clients_that_stalled_together_are_one_incident(silent: MakeRow) -> None:
    """A host that was suspended; another client at another time is another one. Nobody waited for records."""
    found = [silent(21, 10, 20), silent(22, 10.4, 20.3), silent(23, 30, 41), silent(24, 50, None)]
    incidents, _ = tell(silent=found)
    assert [(i["clients"], i["severity"]) for i in incidents] == [
        (["ci-21", "ci-22"], "info"),
        (["ci-23"], "info"),
        (["ci-24"], "info"),
    ]
    assert [i["end_ns"] for i in incidents] == [int(20.3 * NS), 41 * NS, None]


@pytest.mark.parametrize(
    ("due_kind", "said", "also"),
    [
        ("heartbeat", "although heartbeats were due every 3.00 s", ""),
        ("fetch", "its process was stopped, or its application polled late", "between two polls"),
        ("records", "its process was stopped, or the source of its records was", "where it gets its records"),
        (
            "read",
            "the receive windows of 4 connections were closed, while the host's kernel worked",
            "with what it had read",
        ),
    ],
)
def test_an_incident_of_a_paused_client_says_how_sure_that_is(
    silent: MakeRow, due_kind: str, said: str, also: str
) -> None:
    (incident,), _ = tell(silent=[silent(21, 10, 13, due_kind=due_kind, n_sent=12)])
    assert said in incident["sentence"]
    assert ("If the process ran" in advised(incident)) is bool(also)
    assert also in advised(incident)


def test_what_a_silent_client_did_not_cause_is_not_its(
    silent_broker: list[BrokerState], stall: MakeStall, silent: MakeRow, recovery: MakeRow
) -> None:
    """What waited on the failed broker, what another group waited for, and a permission that was denied."""
    stalls = [stall("produce", 22, 2, 5, 14), stall("consume", 23, 1, 40, 48, group_id="other")]
    denied = recovery("TOPIC_AUTHORIZATION_FAILED", 21, 1, 48.5, None, outcome="fatal")
    _, kinds = tell(silent_broker, stalls, [denied], silent=[silent(21, 40, 48)])
    assert kinds == {"stall-produce-22-5": "broker_silent", "stall-consume-23-40": "unexplained"}


def test_names_from_the_wire_stay_as_they_are(recovery: MakeRow) -> None:
    missing = recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 5, 6, resource="orders")
    (incident,), _ = tell(recoveries=[missing])
    assert incident["sentence"].startswith("orders was not there (UNKNOWN_TOPIC_OR_PARTITION) from 00:05.000")


def test_a_broker_that_restarts_knows_no_topic_at_first(state: MakeState, recovery: MakeRow) -> None:
    """As recorded of kafkajs, whose OffsetCommit a ZooKeeper cluster's broker refused 10 ms before it served again."""
    down = [state(2, 21, "serving", 0, 5), state(2, 21, "down", 5, 9), state(2, 21, "serving", 9, 60)]
    of_group = {"resource_kind": "group", "resource": "g", "first_api_key": 8}
    unknown = recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 2, 8.99, 10, **of_group)
    assert [row["kind"] for row in tell(down, recoveries=[unknown])[0]] == ["broker_down"]
    missing = recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 2, 8.99, None, **of_group)
    _, incident = tell(down, recoveries=[missing])[0]
    assert incident["sentence"].startswith("A topic that group g commits offsets for was not there")
    assert "kafka-consumer-groups.sh" in advised(incident)
    assert "--create" not in advised(incident)


def test_what_brokers_refuse_while_they_wait_for_a_replica_follows_from_the_cut_between_them(
    state: MakeState, stall: MakeStall, recovery: MakeRow
) -> None:
    """Recorded: nodes 1 and 3 do not reach each other; the coordinator on node 1 cannot write its commits, and answers
    COORDINATOR_NOT_AVAILABLE until the replica is out of the in-sync set. The same error of node 2 does not follow."""
    rows = [state(3, 22, "serving", 0, None), state(1, 22, "serving", 0, None)]
    for node, peer in ((3, 1), (1, 3)):
        rows += [
            state(node, peer, "serving", 0, 8, "broker"),
            state(node, peer, "silent", 8, 21, "broker"),
            state(node, peer, "serving", 21, None, "broker"),
        ]
    commit = stall("commit", 22, 1, 9, 20, group_id="orders-app", error_names=["COORDINATOR_NOT_AVAILABLE"])
    about_group = {"resource_kind": "coordinator", "resource": "orders-app"}
    recoveries = [
        recovery("COORDINATOR_NOT_AVAILABLE", 22, 1, 14, 20, **about_group),
        recovery("COORDINATOR_NOT_AVAILABLE", 23, 2, 14, 20, resource_kind="coordinator", resource="others"),
    ]
    incidents, _ = tell(rows, [commit], recoveries)
    assert [(i["kind"], i["clients"], i["severity"]) for i in incidents] == [
        ("replication", ["ci-22"], "error"),
        ("coordinator_move", ["ci-23"], "info"),
    ]
    assert incidents[0]["sentence"].startswith("Node 1 (10.0.0.1:9092) and node 3 (10.0.0.3) did not reach each other")


def test_producers_that_wait_for_producer_ids_wait_for_no_coordinator(recovery: MakeRow) -> None:
    waited = recovery("COORDINATOR_LOAD_IN_PROGRESS", 21, 1, 5, 6, resource_kind="coordinator", resource="producer id")
    of_group = recovery("NOT_COORDINATOR", 22, 1, 6, 7, resource_kind="coordinator", resource="readers")
    (incident,), _ = tell([], [], [waited])
    assert incident["sentence"].startswith("Idempotent producers waited for producer ids from 00:05.000")
    assert advised(incident) == "None: the producers ask again by themselves."
    (both,), _ = tell([], [], [waited, of_group])
    assert both["sentence"].startswith("The coordinator of readers moved, or was not ready, from 00:05.000")


@pytest.mark.parametrize(("host", "until", "follows"), [(21, 20, True), (24, 20, False), (21, 9, False)])
def test_a_member_that_is_cut_from_its_coordinator_went_away_because_of_the_path(
    state: MakeState, stall: MakeStall, rebalance: MakeRow, client: MakeRow, host: int, until: float, follows: bool
) -> None:
    """Recorded: the path between a member's host and the coordinator, node 2, is cut from 6.5 s on; the group waits for
    the member's session timeout. Another host, or a path that is back after 3 s, says nothing of the member."""
    rows = [
        state(2, 22, "serving", 0, None),
        state(2, host, "serving", 0, 6.5),
        state(2, host, "silent", 6.5, until),
        state(2, host, "serving", until, None),
    ]
    unread = stall("consume", 22, 1, 7.2, 19, group_id="orders-app")
    incidents, _ = tell(rows, [unread], rebalances=[rebalance(18.8, 18.9, {"client-21": 6})], clients=[client(21)])
    ids = {i["kind"]: i["incident_id"] for i in incidents}
    (member,) = [i for i in incidents if i["kind"] == "member"]
    assert member["root_incident_id"] == (ids["path"] if follows else None)
    assert ("did not reach the coordinator, node 2 (10.0.0.2:9092)" in member["sentence"]) is follows
    assert ("Let consumers leave" in advised(member) or "Find out why" in advised(member)) is not follows


@pytest.mark.parametrize(("host", "follows"), [(21, True), (24, False)])
def test_members_on_a_host_that_no_server_reached_went_away_because_of_the_host(
    state: MakeState, stall: MakeStall, rebalance: MakeRow, recovery: MakeRow, client: MakeRow, host: int, follows: bool
) -> None:
    """Recorded: nothing reached a host for 12 s; the group removed the member on it, which learned that when the host
    was back."""
    rows = [state(node, 22, "serving", 0, None) for node in (1, 2)]
    for node in (1, 2):
        rows += [state(node, host, "serving", 0, 6.5), state(node, host, "host_silent", 6.5, 20)]
    unread = stall("consume", 22, 1, 7.2, 19, group_id="orders-app")
    back = recovery("UNKNOWN_MEMBER_ID", 21, 2, 21, 23, resource_kind="group", resource="orders-app")
    gone = rebalance(18.8, 18.9, {"client-21": 6})
    incidents, _ = tell(rows, [unread], [back], rebalances=[gone], clients=[client(21)])
    (silent,) = [i["incident_id"] for i in incidents if i["kind"] == "client_host"]
    members = [i for i in incidents if i["kind"] == "member"]
    assert members
    assert {i["root_incident_id"] for i in members} == ({silent} if follows else {None})


def test_a_producer_waits_for_its_transaction_wherever_it_writes(stall: MakeStall, recovery: MakeRow) -> None:
    """Recorded of a Java client: Produce gets the error of its transactional id. Another client has its reason."""
    error = "CONCURRENT_TRANSACTIONS"
    about = {"resource_kind": "transactional_id", "resource": "orders-tx"}
    pending = replace(recovery(error, 21, 2, 5, 7, **about), last_error_ns=int(6.9 * NS))
    mine, other = (stall("produce", host, 3, 4.9, 7.2, error_names=[error]) for host in (21, 22))
    _, kinds = tell([], [mine, other], [pending])
    assert kinds == {"stall-produce-21-4.9": "transaction_pending", "stall-produce-22-4.9": "unexplained"}


def test_a_group_whose_members_lost_their_place_is_called_a_group(stall: MakeStall, recovery: MakeRow) -> None:
    lost = recovery("UNKNOWN_MEMBER_ID", 21, 2, 5, 7, resource_kind="group", resource="orders-app")
    (incident,), _ = tell([], [stall("membership", 21, 2, 5, 7, group_id="orders-app")], [lost])
    assert (incident["kind"], incident["subject"]) == ("member", "group orders-app")
    assert incident["sentence"].startswith(
        "10.0.0.21 was no longer a member of group orders-app (UNKNOWN_MEMBER_ID) from 00:05.000"
    )


def test_pauses_of_a_client_soon_after_each_other_are_one_incident(stall: MakeStall, silent: MakeRow) -> None:
    """What another member waits for between two of them is something else."""
    pauses = [silent(21, at, at + 4) for at in (10, 20, 30)]
    during, between = (stall("consume", 22, 1, at, at + 3, group_id="orders-app") for at in (20.5, 15.5))
    incidents, kinds = tell([], [during, between], silent=[*pauses, silent(21, 70, 76)])
    assert kinds == {"stall-consume-22-20.5": "client", "stall-consume-22-15.5": "unexplained"}
    first, second = (incident for incident in incidents if incident["kind"] == "client")
    assert (first["start_ns"], second["start_ns"]) == (10 * NS, 70 * NS)
    times = [first[f"fault_{name}_ns"] / NS for name in ("start_after", "start", "end_after", "end")]
    assert times == [10, 13, 33, 34]
    assert "client-21 (10.0.0.21) was paused 3 times, for up to 4.00 s, from 00:10.000" in first["sentence"]
