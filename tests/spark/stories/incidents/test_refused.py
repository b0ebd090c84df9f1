"""Requests that brokers refuse, as users reported it in public trackers: what is said of it, and what is advised."""

from collections.abc import Sequence

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.kinds.coordinator_loading import LOADING
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.latencies import Asked, Latencies, Latency
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery, LeaderReport

from .conftest import NS, MakeRow, MakeState
from .test_machine import tell

NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"


def named(leader_id: int, first: float, last: float) -> LeaderReport:
    """Metadata of node 1 that named a leader all that time."""
    return LeaderReport(1, "10.0.0.1:9092", leader_id, int(last * NS), 20, int(first * NS))


def lasting(recovery: MakeRow, error: str, until: float = 40, **more: object) -> ClientRecovery:
    """The client at host 21 got errors of node 1 from 5 s on, and never what it wanted."""
    row: ClientRecovery = recovery(error, 21, 1, 5, None, n_errors=25, **more)
    row.last_error_ns = int(until * NS)
    return row


def test_a_batch_that_is_larger_than_a_segment_needs_larger_segments(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/emqx/emqx/pull/15906: max.message.bytes is above segment.bytes."""
    large = lasting(recovery, "RECORD_LIST_TOO_LARGE", first_api_key=api_keys.PRODUCE)
    (incident,), _ = tell(recoveries=[large], clients=[client(21)])
    assert "larger than the log's segments" in incident["sentence"]
    assert "Raise segment.bytes of orders" in advised(incident)
    assert "Raise max.message.bytes" not in advised(incident)


def test_who_knows_a_later_epoch_than_the_leader_has_to_begin_anew(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/twmb/franz-go/issues/119."""
    ahead = lasting(recovery, "UNKNOWN_LEADER_EPOCH")
    ahead.leader_reports = (named(1, 6, 39),)
    (incident,), _ = tell(recoveries=[ahead], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("epoch_ahead", "error")
    assert "still named node 1 as the leader" in incident["sentence"]
    assert "Restart 10.0.0.21" in advised(incident)
    (moved,), _ = tell(recoveries=[recovery("UNKNOWN_LEADER_EPOCH", 21, 1, 5, 7)], clients=[client(21)])
    assert moved["kind"] == "leader_move", "the broker learned that it leads"


def through_balancer(recovery: MakeRow, start: float, *, anew: bool = True, **more: object) -> ClientRecovery:
    """Node 1 said for 2 s that it does not lead, and served the client then. anew: on another connection."""
    ids = ("c1-4", "c2-1") if anew else ("c1-4", "c1-9")
    row: ClientRecovery = recovery(NOT_LEADER, 21, 1, start, start + 2.1, **{"new_node_id": 1, "evidence": ids, **more})
    row.last_error_ns = int((start + 2) * NS)
    row.leader_reports = (named(1, start + 0.1, start + 1.9),)
    return row


def test_a_broker_that_does_not_lead_on_some_connections_is_another_one(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/confluentinc/librdkafka/issues/3277: a load balancer is in front of the brokers."""
    twice = [through_balancer(recovery, start) for start in (5, 20)]
    (incident,), _ = tell(recoveries=twice, clients=[client(21)])
    assert (incident["kind"], incident["place"], incident["severity"]) == ("wrong_broker", "listener", "warning")
    assert "on 2 connections another broker answered" in incident["sentence"]
    assert "metadata.max.age.ms" not in advised(incident)
    for others in ([twice[0]], [through_balancer(recovery, start, anew=False) for start in (5, 20)]):
        incidents, _ = tell(recoveries=others, clients=[client(21)])
        assert {row["kind"] for row in incidents} == {"leader_move"}, "once, or on the same connection"


def test_a_client_that_asks_another_node_than_metadata_names_goes_to_an_old_address(
    recovery: MakeRow, client: MakeRow
) -> None:
    """https://github.com/Yolean/kubernetes-kafka/issues/229: two pods have swapped addresses."""
    astray = lasting(recovery, NOT_LEADER)
    astray.leader_reports = (named(2, 6, 39),)
    (incident,), _ = tell(recoveries=[astray], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("wrong_broker", "error")
    assert "to node 1 for orders-0 were answered" in incident["sentence"]
    assert "The address that the client uses for node 2 now belongs to node 1" in incident["sentence"]
    assert "networkaddress.cache.ttl" in advised(incident)
    assert "advertised.listeners" not in advised(incident)
    astray.leader_reports = (named(2, 39.5, 39.5),)
    (move,), _ = tell(recoveries=[astray], clients=[client(21)])
    assert move["kind"] == "leader_move", "it was sent there a moment ago"


def test_a_client_that_keeps_a_later_epoch_asks_the_leader_in_vain(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/twmb/franz-go/issues/119: the epoch went back, and the client asks the former leader and the
    present one by turns; another client follows the move."""
    ahead = lasting(recovery, NOT_LEADER, error_names=(NOT_LEADER, "UNKNOWN_LEADER_EPOCH"))
    ahead.leader_reports = (named(3, 6, 39),)
    rows = [ahead, recovery(NOT_LEADER, 22, 1, 5, 5.2)]
    incidents, _ = tell(recoveries=rows, clients=[client(21), client(22)])
    (found,) = (row for row in incidents if row["kind"] == "epoch_ahead")
    assert "for orders-0 to node 3 with a later leader epoch than the leader has" in found["sentence"]


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "LEADER_NOT_AVAILABLE"])
def test_what_lasts_long_after_a_broker_is_back_has_another_cause(
    recovery: MakeRow, state: MakeState, error: str
) -> None:
    """A broker that comes back under another node id (https://github.com/wurstmeister/kafka-docker/issues/100)."""
    states = [row for host in (21, 22) for row in (state(1, host, "serving", 0, 2), state(1, host, "down", 2, 5))]
    rows = [lasting(recovery, error)]
    incidents, _ = tell(states, recoveries=rows)
    assert len(incidents) == 2
    assert {row["kind"] for row in incidents} & {"no_leader", "coordinator_loading"}


def test_a_broker_that_loads_since_it_is_back_says_so(recovery: MakeRow, state: MakeState) -> None:
    """https://github.com/tulios/kafkajs/pull/1779"""
    states = [row for host in (21, 22) for row in (state(1, host, "serving", 0, 2), state(1, host, "down", 2, 5))]
    group = {"resource_kind": "group", "resource": "g", "error_names": ("CONNECTION_RESET", LOADING)}
    (incident,), _ = tell(states, recoveries=[lasting(recovery, "CONNECTION_RESET", **group)])
    assert incident["kind"] == "broker_down"
    assert f"since it is back, it has not finished loading g ({LOADING})" in incident["sentence"]
    assert "GroupMetadataManager" in advised(incident)


def test_a_broker_that_answers_and_is_not_available_is_up(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/redpanda-data/redpanda/issues/24492: the disk is full."""
    full = lasting(recovery, "BROKER_NOT_AVAILABLE", first_api_key=api_keys.PRODUCE)
    (incident,), _ = tell(recoveries=[full], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("broker_error", "error")
    assert "free space of their disks" in advised(incident)


def test_an_address_that_all_brokers_advertise_is_that_of_none(recovery: MakeRow, client: MakeRow) -> None:
    """https://github.com/bitnami/charts/issues/10825: Metadata names node 2 at the address of node 1."""
    rows = [lasting(recovery, NOT_LEADER, old_node_id=None, outcome="wrong_reaction")]
    rows[0].leader_reports = (named(2, 6, 39),)
    (incident,), _ = tell(recoveries=rows, clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("wrong_broker", "error")
    assert "still named node 2 as leaders: no leader moved" in incident["sentence"]
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.JOIN_GROUP, "old_node_id": None}
    rows.append(recovery("NOT_COORDINATOR", 22, 1, 6, None, **group))
    (both,), _ = tell(recoveries=rows, clients=[client(21), client(22)])
    assert both["kind"] == "wrong_broker"
    assert "g, orders-0" in both["sentence"]


def test_a_coordinator_that_never_finishes_loading_is_no_move(recovery: MakeRow, client: MakeRow) -> None:
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.JOIN_GROUP}
    (incident,), _ = tell(recoveries=[lasting(recovery, "COORDINATOR_LOAD_IN_PROGRESS", **group)], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("coordinator_loading", "error")
    assert "Node 1, coordinator of g, did not finish loading" in incident["sentence"]
    assert "Nothing is to be done" not in advised(incident)
    loaded = recovery("COORDINATOR_LOAD_IN_PROGRESS", 21, 1, 5, 9, **group)
    (moved,), _ = tell(recoveries=[loaded], clients=[client(21)])
    assert moved["kind"] == "coordinator_move"


@pytest.mark.parametrize(("outcome", "severity"), [("client_ended", "error"), ("recovered", None)])
def test_who_ends_without_the_records_that_were_refused_lost_them(
    recovery: MakeRow, client: MakeRow, outcome: str, severity: str | None
) -> None:
    """kafkajs sends the third batch before the second, and its application ends at the error
    (https://github.com/tulios/kafkajs/issues/598)."""
    end = 5.02 if outcome == "recovered" else None
    mine = {"first_api_key": api_keys.PRODUCE, "outcome": outcome, "n_errors": 1}
    refused = recovery("OUT_OF_ORDER_SEQUENCE_NUMBER", 21, 1, 5, end, **mine)
    incidents, _ = tell(recoveries=[refused], clients=[client(21)])
    assert [row["severity"] for row in incidents] == ([] if severity is None else [severity])


def test_a_group_of_the_other_protocol_is_not_missing(recovery: MakeRow, client: MakeRow) -> None:
    """KIP-848: a member with group.protocol=consumer in a group of classic members that may not change."""
    group = {"resource_kind": "group", "resource": "shop", "outcome": "fatal", "n_errors": 1}
    refused = recovery("GROUP_ID_NOT_FOUND", 21, 1, 5, None, **group, first_api_key=api_keys.CONSUMER_GROUP_HEARTBEAT)
    (incident,), _ = tell(recoveries=[refused], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("group_refused", "error")
    assert "group.consumer.migration.policy" in advised(incident)


def test_a_name_that_no_topic_can_have_is_not_created(recovery: MakeRow, client: MakeRow) -> None:
    named_so = {"resource": "my topic", "resource_kind": "topic", "first_api_key": api_keys.METADATA}
    (incident,), _ = tell(recoveries=[lasting(recovery, "INVALID_TOPIC_EXCEPTION", **named_so)], clients=[client(21)])
    assert "my topic is not a valid name of a topic" in incident["sentence"]
    assert "--create" not in advised(incident)


def test_who_commits_with_an_old_member_epoch_commits_nothing(recovery: MakeRow, client: MakeRow) -> None:
    """KIP-848: a commit has the epoch of the last heartbeat."""
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.OFFSET_COMMIT}
    (incident,), _ = tell(recoveries=[lasting(recovery, "STALE_MEMBER_EPOCH", **group)], clients=[client(21)])
    assert "kept committing offsets of group g with an old member epoch" in incident["sentence"]
    assert "Update its library" in advised(incident)
    assert "Nothing is to be changed" not in advised(incident)


def test_a_static_member_that_comes_too_early_lost_no_place(recovery: MakeRow, client: MakeRow) -> None:
    """KIP-848: the old process with the same group.instance.id had not left."""
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.CONSUMER_GROUP_HEARTBEAT}
    early = recovery("UNRELEASED_INSTANCE_ID", 21, 1, 5, None, outcome="fatal", **group)
    (incident,), _ = tell(recoveries=[early], clients=[client(21)])
    assert "could not join group g" in incident["sentence"]
    assert "let the old one leave when it stops" in advised(incident)


def test_an_exception_at_sync_group_is_mostly_about_the_size_of_the_group(recovery: MakeRow, client: MakeRow) -> None:
    group = {"resource_kind": "group", "resource": "g", "first_api_key": api_keys.SYNC_GROUP}
    (incident,), _ = tell(recoveries=[lasting(recovery, "UNKNOWN_SERVER_ERROR", **group)], clients=[client(21)])
    assert "max.message.bytes of __consumer_offsets" in advised(incident)


class Answered(Packets):
    """Node 1 answered Produce of the host 21 after that long."""

    def __init__(self, longest_ms: int) -> None:
        super().__init__()
        self._latency = Latency(25, 0, longest_ms * 1_000_000)

    def latencies(self, questions: Sequence[Asked]) -> list[Latencies]:
        return [Latencies({("10.0.0.21", 1): self._latency}) for _ in questions]


@pytest.mark.parametrize(
    ("longest_ms", "api", "kind"),
    [
        (103, api_keys.PRODUCE, "request_refused"),
        (30_000, api_keys.PRODUCE, "too_few_replicas"),
        (103, api_keys.METADATA, "too_few_replicas"),
    ],
)
def test_a_producer_that_lets_brokers_wait_for_a_moment_is_the_cause(
    longest_ms: int, api: int, kind: str, recovery: MakeRow, client: MakeRow
) -> None:
    """https://github.com/oleksiyk/kafka/issues/70: its default was 100 ms."""
    machine = Incidents(0, packets=Answered(longest_ms))
    for row in (lasting(recovery, "REQUEST_TIMED_OUT", first_api_key=api), client(21)):
        machine.take(row)
    (incident,) = [row for row in machine.finish() if isinstance(row, IncidentRow)]
    assert incident.kind == kind
    is_own = kind == "request_refused"
    assert ("no longer than 103 ms" in incident.sentence) == is_own
    assert any("Raise the timeout of Produce" in action.text for action in incident.actions) == is_own
