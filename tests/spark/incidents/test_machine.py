"""To which failure stalls and recoveries belong, and what the incident says, from rows written by hand."""

from collections.abc import Iterable

import pytest

from kafkascope_analyzer.dataset.stories import INCIDENTS, STALLS
from kafkascope_analyzer.dataset.stories.incidents import INCIDENT_KINDS
from kafkascope_spark.incidents.advice import advice_for
from kafkascope_spark.incidents.failure import Failure
from kafkascope_spark.incidents.machine import Incidents
from kafkascope_spark.incidents.observed import Observed
from kafkascope_spark.incidents.sentences import how_known, sentence_of
from kafkascope_spark.story_writer import batch_of

from .conftest import NS, MakeRow, Row


def tell(
    states: Iterable[Row] = (),
    stalls: Iterable[Row] = (),
    recoveries: Iterable[Row] = (),
    rebalances: Iterable[Row] = (),
    clients: Iterable[Row] = (),
) -> tuple[list[Row], dict[str, str]]:
    """The incidents, and the kind of the incident of each stall."""
    machine = Incidents()
    rows = {"broker_state": states, "stall": stalls, "recovery": recoveries, "rebalance": rebalances}
    rows |= {"affected_client": clients}
    for kind, of_kind in rows.items():
        for row in of_kind:
            machine.take(kind, row)
    out = list(machine.finish())
    incidents = [row for table, row in out if table == "incidents"]
    assert batch_of(INCIDENTS, incidents).num_rows == len(incidents)
    stall_rows = [row for table, row in out if table == "stalls"]
    assert batch_of(STALLS, stall_rows).num_rows == len(stall_rows)
    kind_of = {row["incident_id"]: row["kind"] for row in incidents}
    return incidents, {row["stall_id"]: kind_of[row["incident_id"]] for row in stall_rows}


@pytest.fixture
def silent_broker(state: MakeRow) -> list[Row]:
    """Node 2 is silent from 5 to 20 s; nodes 1 and 3 serve."""
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "silent", 5, 20), state(2, 21, "serving", 20, 60)]
    return rows + [state(node, host, "serving", 0, 60) for node in (1, 3) for host in (21, 22)]


def test_what_waited_on_the_failed_broker_belongs_to_it(silent_broker: list[Row], stall: MakeRow) -> None:
    (incident,), kinds = tell(silent_broker, [stall("produce", 21, 2, 4.8, 14)])
    assert kinds == {"stall-produce-21-4.8": "broker_silent"}
    assert (incident["node_id"], incident["severity"], incident["clients"]) == (2, "warning", ["ci-21"])
    assert (incident["start_ns"], incident["end_ns"]) == (5 * NS, 14 * NS)
    assert (incident["n_stalls"], incident["longest_ms"]) == (1, 9200)
    assert incident["evidence"][0] == "request-21-4.8"


def test_what_waited_on_a_leader_that_served_belongs_to_the_replica(silent_broker: list[Row], stall: MakeRow) -> None:
    (incident,), _ = tell(silent_broker, [stall("produce", 22, 1, 5.5, 32)])
    assert (incident["node_id"], incident["severity"], incident["end_ns"]) == (2, "error", 32 * NS)


def test_a_stall_long_before_is_explained_by_nothing(silent_broker: list[Row], stall: MakeRow) -> None:
    incidents, kinds = tell(silent_broker, [stall("produce", 21, 2, 1, 2.5)])
    assert kinds == {"stall-produce-21-1": "unexplained"}
    (unexplained,) = [i for i in incidents if i["kind"] == "unexplained"]
    assert unexplained["node_id"] is None
    assert unexplained["sentence"].startswith("Records were not accepted from 00:00:01.000 UTC to 00:00:02.500 UTC")


def test_what_is_not_explained_names_its_errors(stall: MakeRow) -> None:
    (incident,), _ = tell(stalls=[stall("commit", 21, 2, 1, 2.5, error_names=["KAFKA_STORAGE_ERROR"])])
    assert "; the errors were KAFKA_STORAGE_ERROR." in incident["sentence"]


def test_an_error_by_which_a_broker_waits_says_for_what(stall: MakeRow) -> None:
    (incident,), _ = tell(stalls=[stall("transaction", 21, 2, 1, 2.5, error_names=["CONCURRENT_TRANSACTIONS"])])
    waited = "the errors were CONCURRENT_TRANSACTIONS: node 2 waited for the end of the transaction before."
    assert f"; {waited}" in incident["sentence"]


def test_a_consumer_without_a_group_stands_still_only_where_something_failed(
    silent_broker: list[Row], stall: MakeRow
) -> None:
    chosen, forced = stall("consume", 21, 1, 30, 50), stall("consume", 21, 2, 6, 14)
    _, kinds = tell(silent_broker, [chosen, forced])
    assert kinds == {"stall-consume-21-6": "broker_silent"}


def test_a_cut_path_takes_only_stalls_of_its_host(state: MakeRow, stall: MakeRow, recovery: MakeRow) -> None:
    states = [state(2, 21, "silent", 5, 15), state(2, 22, "serving", 0, 60), state(2, 21, "serving", 15, 60)]
    stalls = [stall("produce", 21, 2, 5, 15), stall("produce", 22, 2, 5, 9)]
    recoveries = [recovery("REQUEST_UNANSWERED", 21, 2, 8, 15), recovery("REQUEST_UNANSWERED", 22, 2, 8, 15)]
    incidents, kinds = tell(states, stalls, recoveries)
    assert kinds == {"stall-produce-21-5": "path", "stall-produce-22-5": "unexplained"}
    (path,) = [i for i in incidents if i["kind"] == "path"]
    assert (path["clients"], path["hosts"]) == (["ci-21"], ["10.0.0.21"])


def test_somebody_who_still_waits_leaves_the_incident_open(silent_broker: list[Row], stall: MakeRow) -> None:
    (incident,), _ = tell(silent_broker, [stall("produce", 21, 2, 5, 9), stall("consume", 22, 2, 6, None)])
    assert (incident["end_ns"], incident["severity"]) == (None, "error")
    assert "somebody still did at the end of the capture" in incident["sentence"]


def test_what_begins_at_the_moment_a_broker_is_back_follows_from_that_one(state: MakeRow, stall: MakeRow) -> None:
    """Brokers restart in turn; the coordinator moves back to the second one when it answers, a moment later or before
    (recorded: the first refused commit is sent 9 ms before)."""
    rows = [state(1, 21, "serving", 0, 5), state(1, 21, "down", 5, 8), state(1, 21, "serving", 8, None)]
    rows += [state(2, 21, "serving", 0, 12), state(2, 21, "down", 12, 20.009), state(2, 21, "serving", 20.009, None)]
    commit = stall("commit", 21, 2, 20, 26, group_id="orders-app", error_names=["NOT_COORDINATOR"])
    incidents, _ = tell(rows, [commit])
    ends = {i["node_id"]: i["end_ns"] for i in incidents}
    assert ends == {1: 8 * NS, 2: 26 * NS}


def test_a_failure_that_nobody_felt_is_routine(silent_broker: list[Row]) -> None:
    (incident,), _ = tell(silent_broker)
    assert (incident["severity"], incident["end_ns"], incident["clients"]) == ("info", 20 * NS, [])


def test_an_evicted_member_explains_why_a_group_stood_still(stall: MakeRow, rebalance: MakeRow) -> None:
    waited = stall("consume", 21, 1, 10, 17, group_id="orders-app")
    (incident,), _ = tell([], [waited], [], [rebalance(16, 16.5, {"worker-7": 9.8})])
    assert (incident["kind"], incident["node_id"]) == ("member", None)
    assert (incident["start_ns"], incident["end_ns"]) == (9_800_000_000, 17 * NS)
    assert "In group orders-app, worker-7 went away without leaving" in incident["sentence"]


def test_errors_that_follow_from_a_broker_belong_to_it(silent_broker: list[Row], recovery: MakeRow) -> None:
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


def test_a_stall_after_a_leader_moved_belongs_to_the_move(
    silent_broker: list[Row], stall: MakeRow, recovery: MakeRow
) -> None:
    incidents, kinds = tell(
        silent_broker,
        [stall("consume", 22, 1, 40.1, 42, group_id="orders-app")],
        [recovery("NOT_LEADER_OR_FOLLOWER", 22, 1, 40, 41.9)],
    )
    assert kinds == {"stall-consume-22-40.1": "leader_move"}
    (moved,) = [i for i in incidents if i["kind"] == "leader_move"]
    assert (moved["severity"], moved["end_ns"]) == ("warning", 42 * NS)


def test_what_a_quota_holds_back_belongs_to_the_quota(
    silent_broker: list[Row], stall: MakeRow, recovery: MakeRow
) -> None:
    throttled = recovery("THROTTLED", 21, 2, 4, 19, resource_kind="connection", resource="quota: Produce")
    incidents, kinds = tell(silent_broker, [stall("produce", 21, 2, 6, 14)], [throttled])
    assert kinds == {"stall-produce-21-6": "quota"}
    (quota,) = [i for i in incidents if i["kind"] == "quota"]
    assert quota["sentence"].startswith("A quota held back Produce requests from 00:00:04.000 UTC")


def test_who_is_never_served_at_an_address_makes_its_incident_an_error(state: MakeRow, recovery: MakeRow) -> None:
    """The node id may be known, from Metadata: it is not known that this node is there."""
    refused = recovery("CONNECTION_REFUSED", 21, 7, 5, None, resource_kind="connection", outcome="client_ended")
    address = {"server_ip": "10.0.0.99", "server_port": 9099}
    (incident,), _ = tell(
        [state(None, 21, "silent", 5, None) | address], recoveries=[refused | {"resource": "10.0.0.99:9099"}]
    )
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("listener", None, "error")
    assert (incident["clients"], incident["subject"]) == (["ci-21"], "10.0.0.99:9099")
    assert incident["sentence"].endswith("1 client could not work because of it.")


def test_a_leader_that_moves_without_a_stall_is_routine(recovery: MakeRow) -> None:
    (incident,), _ = tell(recoveries=[recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 9, 9.2)])
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("leader_move", None, "info")


def test_rows_do_not_depend_on_their_order(silent_broker: list[Row], stall: MakeRow, recovery: MakeRow) -> None:
    stalls = [stall("produce", 21, 2, 5, 9), stall("consume", 22, 1, 6, 9), stall("produce", 22, 1, 40, 42)]
    recoveries = [recovery("REQUEST_UNANSWERED", 21, 2, 9, 12), recovery("NOT_LEADER_OR_FOLLOWER", 22, 1, 45, 46)]
    there = tell(silent_broker, stalls, recoveries)
    back = tell(silent_broker[::-1], stalls[::-1], recoveries[::-1])
    assert there == back


def test_who_left_without_being_served_is_named(silent_broker: list[Row], stall: MakeRow) -> None:
    """As recorded of kafkajs: its group's coordinator died, and it never got a place again before it was closed."""
    served, left = stall("produce", 21, 2, 5, 9), stall("membership", 22, 2, 6, 40, group_id="readers", served=False)
    sentence = tell(silent_broker, [served, left])[0][0]["sentence"]
    assert "served again at 00:00:09.000 UTC; readers gave up or ended without being served." in sentence
    alone = tell(silent_broker, [left])[0][0]["sentence"]
    assert "readers gave up or ended without being served, the last at 00:00:40.000 UTC." in alone
    assert "served again" not in alone


def test_the_name_of_a_topic_keeps_its_letters() -> None:
    failure = Failure("missing_topic", "orders-0", NS, 2 * NS, error_names={"UNKNOWN_TOPIC_OR_PARTITION"})
    assert sentence_of(failure, failure.end_ns).startswith("orders-0 was not there (UNKNOWN_TOPIC_OR_PARTITION) from")


@pytest.mark.parametrize("kind", INCIDENT_KINDS)
def test_every_kind_has_a_sentence_and_advice(kind: str) -> None:
    failure = Failure(
        kind,
        "node 2 (10.0.0.2:9092)",
        NS,
        2 * NS,
        node_id=2,
        server="10.0.0.2:9092",
        hosts=frozenset({"10.0.0.21"}),
    )
    sentence = sentence_of(failure, failure.end_ns)
    assert "00:00:01.000 UTC" in sentence
    assert how_known(failure)
    assert "{" not in advice_for(failure, Observed(failure, {}, []))
