"""Failures as they were met in captures of real clusters, each as short as possible, from rows written by hand."""

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures

from .conftest import NS, MakeRow, MakeStall, MakeState, Row
from .test_machine import tell


def test_a_write_that_waits_for_a_vanished_replica_belongs_to_the_replica(
    state: MakeState, stall: MakeStall, recovery: MakeRow
) -> None:
    """Node 2 vanishes for 17 s. An acks=all write at node 1, which answers everybody all along, waits for 26.8 s."""
    rows = [state(2, 21, "serving", 0, 6), state(2, 21, "silent", 6, 23), state(2, 21, "serving", 23, 60)]
    rows += [state(1, host, "serving", 0, 60) for host in (21, 22)]
    waited = stall("produce", 22, 1, 6.2, 33)
    timed_out = recovery("REQUEST_TIMED_OUT", 22, 1, 6.2, 33)
    (incident,), kinds = tell(rows, [waited], [timed_out])
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("broker_silent", 2, "error")
    assert (incident["start_ns"], incident["end_ns"], incident["longest_ms"]) == (6 * NS, 33 * NS, 26_800)
    assert set(kinds.values()) == {"broker_silent"}
    assert "Node 2 (10.0.0.2:9092) was silent from 00:06.000" in incident["sentence"]


def test_a_firewall_that_drops_then_resets_then_refuses_is_three_incidents(state: MakeState) -> None:
    """Its broker serves the other brokers all the time: the paths failed, and its log has nothing to say."""
    rows = [state(2, 11, "serving", 0, 60, "broker")]
    for host in (21, 22):
        rows += [state(2, host, "serving", 0, 5), state(2, host, "silent", 5, 12), state(2, host, "serving", 12, 20)]
        rows += [state(2, host, "silent", 20, 28), state(2, host, "serving", 28, 35)]
        rows += [state(2, host, "silent", 35, 40), state(2, host, "serving", 40, 60)]
    incidents, _ = tell(rows)
    assert [(i["kind"], i["start_ns"] // NS, i["end_ns"] // NS) for i in incidents] == [
        ("path", 5, 12),
        ("path", 20, 28),
        ("path", 35, 40),
    ]
    assert all(i["hosts"] == ["10.0.0.21", "10.0.0.22"] for i in incidents)
    assert all("log" not in advised(i) and "The broker itself worked." in advised(i) for i in incidents)


def test_who_waits_for_tcp_to_send_again_waits_for_the_path_that_failed(state: MakeState, stall: MakeStall) -> None:
    """A firewall dropped a Fetch request, whose connection outlived the firewall by 1.4 s. Nobody waited meanwhile, as
    the producers were cut off too."""
    rows = [state(2, 11, "serving", 0, 60, "broker"), state(2, 22, "serving", 0, 60)]
    rows += [state(2, 21, "serving", 0, 4), state(2, 21, "silent", 4, 14), state(2, 21, "serving", 14, 60)]
    late = stall("consume", 21, 2, 14.008, 15.473, group_id="app")
    _, kinds = tell(rows, [late])
    assert set(kinds.values()) == {"path"}
    others = (stall("consume", 22, 2, 14.008, 15.473, group_id="app"), stall("consume", 21, 2, 22, 28, group_id="app"))
    for other in others:
        assert set(tell(rows, [other])[1].values()) == {"unexplained"}, "another host, or later than TCP waits"
    frozen = [replace(row, state="frozen") if row.state == "silent" else row for row in rows]
    assert set(tell(frozen, [late])[1].values()) == {"unexplained"}, "the kernel acknowledged, so nothing is sent again"


def test_who_waits_for_tcp_is_told_though_the_wait_begins_with_the_last_lost_packet_and_the_response_is_late(
    state: MakeState, stall: MakeStall, recovery: MakeRow
) -> None:
    """Recorded: the path was open at 23.1 s, and a Fetch of 14 s reached the broker at 27.5 s, when the client's kernel
    sent it for the seventh time. That its response is late is not that the client had to connect again."""
    rows = [state(2, 11, "serving", 0, 60, "broker")]
    rows += [state(2, 21, "serving", 0, 9), state(2, 21, "silent", 9, 23.14), state(2, 21, "serving", 23.14, 60)]
    late = stall("consume", 21, 2, 23.139, 27.489, group_id="app")
    response = recovery("RESPONSE_LATE", 21, 2, 23.998, 27.489, resource="10.0.0.2:9092", resource_kind="connection")
    assert set(tell(rows, [late], [response])[1].values()) == {"path"}


def test_a_stall_belongs_to_what_fails_meanwhile_and_not_to_a_pause_before_it(
    state: MakeState, stall: MakeStall, silent: MakeRow
) -> None:
    """Recorded: a producer paused for 4 s and went on; 4 s later the coordinator of its transactional id froze."""
    rows = [state(node, 21, "serving", 0, 9) for node in (1, 2)]
    rows += [state(2, 21, "frozen", 9, 21), state(2, 21, "serving", 21, 60), state(1, 21, "serving", 9, 60)]
    paused = silent(21, 1.2, 5.1)
    assert set(tell(rows, [stall("produce", 21, 1, 9.3, 21.7)], silent=[paused])[1].values()) == {"broker_frozen"}
    assert set(tell(rows, [stall("produce", 21, 1, 5.2, 7)], silent=[paused])[1].values()) == {"client"}


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"])
def test_a_killed_coordinator_is_named_and_not_the_node_at_which_clients_end_up(
    error: str, state: MakeState, stall: MakeStall, recovery: MakeRow
) -> None:
    """Node 2 is killed; node 3 takes over, does not know of it yet, loads, and returns the errors."""
    rows = [state(2, 21, "serving", 0, 6), state(2, 21, "down", 6, 30), state(2, 21, "serving", 30, 60)]
    rows += [state(3, 21, "serving", 0, 60)]
    group = {"group_id": "orders-app"}
    commit = stall("commit", 21, 3, 6.5, 11, error_names=[error], **group)
    moved = recovery(error, 21, 3, 7, 11, resource_kind="group", resource="orders-app")
    incidents, kinds = tell(rows, [commit], [moved])
    assert set(kinds.values()) == {"broker_down"}
    assert [(i["kind"], i["node_id"]) for i in incidents] == [("broker_down", 2)]


def test_a_client_that_did_not_lose_the_broker_meets_another_move(state: MakeState, recovery: MakeRow) -> None:
    rows = [state(2, 21, "serving", 0, 6), state(2, 21, "down", 6, 30), state(2, 21, "serving", 30, 60)]
    rows += [state(3, host, "serving", 0, 60) for host in (21, 22)]
    moved = recovery("NOT_COORDINATOR", 22, 3, 7, 11, resource_kind="group", resource="orders-app")
    incidents, _ = tell(rows, [], [moved])
    assert [i["kind"] for i in incidents] == ["broker_down", "coordinator_move"]


def test_a_listener_that_is_advertised_wrongly_is_one_incident_for_all_brokers(
    state: MakeState, recovery: MakeRow, client: MakeRow
) -> None:
    """Each broker advertises its own address for each of two listeners; two clients use the one, a third the other."""
    lost, local = [f"10.0.0.{n}:9099" for n in (97, 98, 99)], ["127.0.0.1:9098"]
    rows, errors = [state(1, host, "serving", 0, 60) for host in (21, 22, 23)], []
    for host, servers in ((21, lost[:2]), (22, lost[1:]), (23, local)):
        for server in servers:
            ip, port = server.split(":")
            rows.append(replace(state(None, host, "silent", 5, 30 + host), server_ip=ip, server_port=int(port)))
            errors.append(recovery("CONNECT_TIMEOUT", host, None, 5, None, resource=server, resource_kind="connection"))
    clients = [client(21, advertised=lost), client(22, advertised=lost), client(23, advertised=local)]
    incidents, _ = tell(rows, recoveries=errors, clients=clients)
    assert sorted((i["kind"], i["subject"], i["clients"]) for i in incidents) == [
        ("listener", "10.0.0.97:9099, 10.0.0.98:9099, 10.0.0.99:9099", ["ci-21", "ci-22"]),
        ("listener", "127.0.0.1:9098", ["ci-23"]),
    ]
    whole = next(i for i in incidents if "10.0.0.97" in i["subject"])
    assert whole["end_ns"] == 52 * NS
    assert advised(whole).startswith("Brokers advertise 10.0.0.97:9099, 10.0.0.98:9099, 10.0.0.99:9099 (advertised.")


def test_a_topic_that_was_deleted_is_one_incident_for_all_its_partitions(recovery: MakeRow) -> None:
    """Its clients get the error at each partition, in no common order, and for the topic from Metadata."""
    name = "UNKNOWN_TOPIC_OR_PARTITION"
    gone = [recovery(name, 21 + i % 2, 1, 7 + i / 10, None, resource=f"orders-{i % 3}") for i in range(6)]
    gone.append(recovery(name, 21, 1, 8, None, resource="orders", first_api_key=3))
    gone.append(recovery(name, 21, 1, 8, None, resource="other-1"))
    incidents, _ = tell((), (), gone)
    assert [(i["subject"], i["clients"]) for i in incidents] == [("orders", ["ci-21", "ci-22"]), ("other", ["ci-21"])]
    assert "orders (partitions 0, 1, 2) was not there" in incidents[0]["sentence"]
    assert advised(incidents[0]).endswith("--create --topic orders")


def test_a_rolling_restart_is_one_incident_for_each_broker_and_they_do_not_overlap(state: MakeState) -> None:
    rows: list[Row] = []
    for node, begin in ((1, 5), (2, 20), (3, 35)):
        for host in (21, 22):
            rows += [state(node, host, "serving", 0, begin), state(node, host, "down", begin, begin + 10)]
            rows += [state(node, host, "serving", begin + 10, 60)]
    failures = broker_failures(rows)
    assert [(f.kind.name, f.node_id) for f in failures] == [("broker_down", node) for node in (1, 2, 3)]
    assert all((f.end_ns or 0) <= after.start_ns for f, after in pairwise(failures))


def test_brokers_that_cannot_reach_each_other_are_why_writes_to_both_wait(state: MakeState, stall: MakeStall) -> None:
    """Clients reach both brokers: their acks=all writes wait for 9 s, and no coordinator is to blame."""
    rows = []
    for node, peer in ((1, 2), (2, 1)):
        rows += [state(node, 21, "serving", 0, 60)]
        rows += [state(node, peer, "serving", 0, 10, "broker"), state(node, peer, "silent", 10, 19, "broker")]
        rows += [state(node, peer, "serving", 19, 60, "broker")]
    (incident,), kinds = tell(rows, [stall("produce", 21, 1, 10.1, 19.2), stall("produce", 21, 2, 10.2, 19.3)])
    assert set(kinds.values()) == {"replication"}
    assert (incident["start_ns"], incident["end_ns"]) == (10 * NS, int(19.3 * NS))


def test_a_broker_that_is_stopped_and_continues_is_frozen_and_not_lost(state: MakeState, stall: MakeStall) -> None:
    rows = [state(2, 21, "serving", 0, 8), state(2, 21, "frozen", 8, 20), state(2, 21, "serving", 20, 60)]
    (incident,), _ = tell(rows, [stall("produce", 21, 2, 8.2, 20.1)])
    assert (incident["kind"], incident["node_id"]) == ("broker_frozen", 2)
    assert "its kernel acknowledged data, and its process sent nothing" in incident["sentence"]


def test_a_client_that_a_broker_refuses_does_not_make_the_broker_lost(state: MakeState, recovery: MakeRow) -> None:
    """A plain client at a TLS port: the broker serves others there, and nobody else has a part in it."""
    rows = [state(2, 22, "serving", 0, 60), state(2, 21, "unknown", 5, 6)]
    closed = recovery("CONNECTION_CLOSED", 21, 2, 5, None, resource_kind="connection", outcome="client_ended")
    incidents, _ = tell(rows, [], [closed])
    assert [i["kind"] for i in incidents if i["node_id"] is not None or i["kind"].startswith("broker")] == []


def test_who_asks_for_a_coordinator_in_vain_is_told_what_keeps_its_topic_from_being_made(
    recovery: MakeRow, client: MakeRow, stall: MakeStall
) -> None:
    """One broker, and transaction.state.log.replication.factor is 3
    (https://github.com/Apicurio/apicurio-registry/issues/1147)."""
    asked = recovery(
        *("COORDINATOR_NOT_AVAILABLE", 21, None, 5, None),
        resource_kind="coordinator",
        resource="registry-0",
        first_api_key=api_keys.FIND_COORDINATOR,
        n_errors=550,
    )
    asked.last_error_ns = 60 * NS
    waited = stall("metadata", 21, None, 5, None, topic=None, partition=None, error_names=(asked.first_error_name,))
    who = client(21, kind="transactional_producer", advertised=("10.0.0.1:9092",))
    (incident,), kinds = tell(recoveries=[asked], clients=[who], stalls=[waited])
    assert (incident["kind"], incident["severity"]) == ("no_coordinator", "error")
    assert set(kinds.values()) == {"no_coordinator"}
    assert "No broker coordinated registry-0" in incident["sentence"]
    for words in ("__transaction_state", "transaction.state.log.replication.factor", "Metadata named 1 broker"):
        assert words in advised(incident)
    assert "Nothing is to be done" not in advised(incident)


@pytest.mark.parametrize(("api", "kind"), [(api_keys.FETCH, "fetch_refused"), (api_keys.PRODUCE, "records_refused")])
def test_what_a_consumer_is_refused_was_written_long_ago(
    recovery: MakeRow, client: MakeRow, api: int, kind: str
) -> None:
    """Fetch v4 cannot carry zstd (https://github.com/dpkp/kafka-python/issues/2187): no record has to be written again.
    Produce may be refused with the same error."""
    refused = recovery("UNSUPPORTED_COMPRESSION_TYPE", 21, 1, 5, None, first_api_key=api, n_errors=75)
    refused.last_error_ns = 40 * NS
    (incident,), _ = tell(recoveries=[refused], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == (kind, "error")
    assert ("write them again" in advised(incident)) is (kind == "records_refused")
    assert ("Fetch v10" in advised(incident)) is (kind == "fetch_refused")


@pytest.mark.parametrize(
    ("of_topic", "last_s", "kind"),
    [(True, 5, "topic_created"), (False, 5, "leader_move"), (True, None, "no_leader")],
    ids=["a new topic", "a partition", "a topic that never gets leaders"],
)
def test_no_leader_moved_where_a_topic_is_being_created(
    recovery: MakeRow, client: MakeRow, of_topic: bool, last_s: int | None, kind: str
) -> None:
    """An exporter asks for a deleted topic in Metadata, and the broker creates it
    (https://github.com/danielqsj/kafka_exporter/issues/45)."""
    names = {"resource": "old-report", "first_api_key": api_keys.METADATA}
    asked = recovery("LEADER_NOT_AVAILABLE", 21, None, 4, last_s, **names)
    asked.last_error_ns, asked.of_topic = 4 * NS if last_s else 40 * NS, of_topic
    (incident,), _ = tell(recoveries=[asked], clients=[client(21)])
    assert incident["kind"] == kind
    assert ("auto.create.topics.enable" in advised(incident)) is (kind == "topic_created")


def test_a_commit_from_outside_of_a_group_needs_a_group_of_its_own(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/confluentinc/confluent-kafka-dotnet/issues/1464; a member that lost its place meanwhile is an
    incident of its own."""
    group = {"resource_kind": "group", "resource": "shop", "first_api_key": api_keys.OFFSET_COMMIT}
    outside = recovery("UNKNOWN_MEMBER_ID", 21, 1, 5, None, **group)
    outside.last_error_ns, outside.of_outsider = 40 * NS, True
    member = recovery("UNKNOWN_MEMBER_ID", 22, 1, 5, 7, **group)
    found, _ = tell(recoveries=[outside, member], clients=[client(21), client(22)])
    incidents = {row["kind"]: row for row in found}
    assert set(incidents) == {"outsider", "member"}
    assert "without being a member of it" in incidents["outsider"]["sentence"]
    assert "a group.id of its own" in advised(incidents["outsider"])
    assert "session" not in advised(incidents["outsider"])


@pytest.mark.parametrize(("took_ms", "thrown_out"), [(7, True), (29_000, False)])
def test_a_coordinator_that_waits_for_nobody_throws_members_out(
    stall: MakeStall, rebalance: MakeRow, took_ms: int, thrown_out: bool
) -> None:
    """JoinGroup v0 names no rebalance timeout, and Redpanda gave members none
    (https://github.com/kafka4beam/brod/pull/465). One that is late for a rebalance that waited for it polls too
    seldom."""
    row = rebalance(5, 5.007, {"client-21": 4})
    departed = replace(row.departed[0], silent_ms=1_299, session_timeout_ms=30_000)
    row.departed, row.duration_ms = (departed,), took_ms
    waited = stall("consume", 21, 1, 5, 20, group_id="orders-app")
    (incident,), _ = tell(stalls=[waited], rebalances=[row])
    assert incident["kind"] == "member"
    assert ("waited for no other member" in incident["sentence"]) is thrown_out
    assert ("did not join again in time" in incident["sentence"]) is not thrown_out
    assert ("poll more often" in advised(incident)) is not thrown_out


def test_a_member_that_asks_with_an_old_epoch_kept_its_place(recovery: MakeRow, client: MakeRow) -> None:
    """OffsetFetch is to be repeated with the epoch of the next heartbeat; a client that begins at the latest offset
    instead skips records (https://github.com/platformatic/kafka/issues/267)."""
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.OFFSET_FETCH}
    asked = recovery("STALE_MEMBER_EPOCH", 21, 1, 5, None, **group)
    asked.last_error_ns = 20 * NS
    (incident,), _ = tell(recoveries=[asked], clients=[client(21)])
    assert incident["kind"] == "member"
    assert "with an old member epoch" in incident["sentence"]
    assert "skips records" in advised(incident)
    assert "poll more often" not in advised(incident)


def test_a_slow_process_may_be_a_slow_network_and_the_advice_says_so(state: MakeState) -> None:
    """Recorded of a broker whose packets took 75 ms longer each way: kernels delay acknowledgments for as long."""
    rows = [replace(state(2, host, "slow", 10, 30), times_usual=54) for host in (21, 22)]
    (incident,), _ = tell(rows + [state(2, host, "serving", 0, 10) for host in (21, 22)])
    assert (incident["kind"], [each["owner"] for each in incident["actions"]]) == (
        "broker_slow",
        ["brokers", "network"],
    )


def test_a_member_that_forgets_its_member_id_has_a_bug(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/aio-libs/aiokafka/issues/727: it joins, and sends its next heartbeat without a member id."""
    group = {"resource_kind": "group", "resource": "shop", "first_api_key": api_keys.HEARTBEAT}
    lost = recovery("UNKNOWN_MEMBER_ID", 21, 1, 5, None, **group)
    lost.last_error_ns, lost.of_outsider, lost.rejoined_ns = 40 * NS, True, 6 * NS
    (incident,), _ = tell(recoveries=[lost], clients=[client(21)])
    assert incident["kind"] == "outsider"
    assert "without the member id that it was given" in incident["sentence"]
    assert "bug" in advised(incident)
    assert "group.id of its own" not in advised(incident)


def test_a_leader_without_the_listener_of_its_clients_did_not_move(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/bitnami/charts/issues/1416."""
    asked = recovery("LISTENER_NOT_FOUND", 21, None, 4, None, first_api_key=api_keys.METADATA)
    asked.last_error_ns = 40 * NS
    (incident,), _ = tell(recoveries=[asked], clients=[client(21)])
    assert incident["kind"] == "no_listener"
    assert "advertised.listeners" in advised(incident)
    assert "metadata.max.age.ms" not in advised(incident)
