"""What advice says: in the words of the client's library, with commands that a shell and Kafka's tools take."""

import shlex
from dataclasses import replace

import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_spark.stories.incidents.actions import brokers, clients, network, one_for_each_owner
from kafkascope_spark.stories.incidents.brokers.controllers import give_absent_controllers
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.broker_silent import BROKER_SILENT
from kafkascope_spark.stories.incidents.kinds.controllers_cut import CONTROLLERS_CUT
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of
from kafkascope_spark.stories.incidents.table import CourseStep, StepName
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.libraries.registry import library as library_called
from kafkascope_spark.stories.servers.table import BrokerState

from .conftest import NS, MakeRow, MakeStall, MakeState, Row
from .test_machine import tell

JAVA_NAMES = {setting.name for setting in JAVA.settings.values()}
HOSTILE = 'it\'s $(reboot) `id`; rm -rf / && "x"\n| tee'


def advice(*rows: list[Row], clients: list[Row], uses: list[Row] | None = None) -> str:
    """The advice of the only incident. rows: states, stalls, recoveries, rebalances, as `tell` takes them."""
    (incident,), _ = tell(*rows, clients=clients, uses=uses or [])
    text: str = advised(incident)
    return text


@pytest.fixture
def silent_broker(state: MakeState) -> list[BrokerState]:
    """Node 2 is silent from 5 to 20 s; node 1 serves."""
    rows = [state(2, 21, "serving", 0, 5), state(2, 21, "silent", 5, 20), state(2, 21, "serving", 20, 60)]
    return [*rows, state(1, 21, "serving", 0, 60)]


@pytest.mark.parametrize("library", [each.name for each in LIBRARIES if each.name not in ("java", "librdkafka")])
def test_no_java_setting_is_named_to_a_client_of_another_library(
    silent_broker: list[BrokerState],
    stall: MakeStall,
    rebalance: MakeRow,
    recovery: MakeRow,
    client: MakeRow,
    use: MakeRow,
    library: str,
) -> None:
    mine = [client(21, library, session_timeout_ms=10_000)]
    refused = use(21, "SASL_PLAINTEXT", error_name="SASL_AUTHENTICATION_FAILED", mechanism="PLAIN")
    texts = [
        advice(silent_broker, [stall("produce", 21, 2, 5, 14)], clients=mine),
        advice(
            [],
            [stall("consume", 21, 1, 5, 16, group_id="orders-app")],
            [],
            [rebalance(15, 16, {"client99": 3})],
            clients=mine,
        ),
        advice([], [], [recovery("NOT_LEADER_OR_FOLLOWER", 21, 1, 9, 9.2)], clients=mine),
        advice(clients=mine, uses=[refused]),
        advice(clients=mine, uses=[use(21, "PLAINTEXT"), use(22, "TLS", served=True)]),
    ]
    words = {word.strip(".,;()") for text in texts for word in text.split()}
    assert not words & (JAVA_NAMES - {setting.name for setting in library_called(library).settings.values()})
    assert all(f"({library}" in text for text in texts)


def test_each_library_of_several_is_named(silent_broker: list[BrokerState], stall: MakeStall, client: MakeRow) -> None:
    stalls = [stall("produce", 21, 2, 5, 14), stall("produce", 22, 2, 5, 14)]
    text = advice(silent_broker, stalls, clients=[client(21), client(22, "kafkajs")])
    assert "request.timeout.ms (default 30000)" in text
    assert "requestTimeout (kafkajs, default 30000) and connectionTimeout (kafkajs, default 1000)" in text


def test_java_names_stand_where_the_library_is_unknown(
    silent_broker: list[BrokerState], stall: MakeStall, client: MakeRow
) -> None:
    text = advice(silent_broker, [stall("produce", 21, 2, 5, 14)], clients=[client(21, "unknown")])
    assert "request.timeout.ms (Java name, default 30000)" in text


@pytest.mark.parametrize(("name", "setting"), [("silent", "request.timeout.ms"), ("refusing", "reconnect.backoff")])
def test_a_closed_path_is_noticed_at_once_where_it_refuses(
    name: str, setting: str, state: MakeState, stall: MakeStall, client: MakeRow
) -> None:
    rows = [state(2, 11, "serving", 0, 60, "broker"), state(2, 21, "serving", 0, 5)]
    rows += [state(2, 21, name, 5, 15), state(2, 21, "serving", 15, 60)]
    text = advice(rows, [stall("produce", 21, 2, 5, 14)], clients=[client(21)])
    assert "The broker itself worked." in text
    assert setting in text
    assert ("notice an unresponsive broker" in text) == (name == "silent")


def test_how_long_requests_were_waited_for_is_named(
    silent_broker: list[BrokerState], recovery: MakeRow, client: MakeRow
) -> None:
    given_up = recovery("REQUEST_UNANSWERED", 21, 2, 15.5, 21, failing_ns=6_000_000_000, resource_kind="connection")
    text = advice(silent_broker, [], [given_up], clients=[client(21, "sarama")])
    assert "Net.ReadTimeout (sarama, default 30 s)" in text
    assert "now they gave up a request after 9.50 s" in text


def test_a_command_at_the_end_of_a_part_ends_its_sentence() -> None:
    (action,) = one_for_each_owner([brokers("See: kafka-topics.sh --describe"), brokers("Then wait."), brokers("ls")])
    assert action.text == "See: kafka-topics.sh --describe. Then wait. ls"


def test_each_owner_has_one_action_and_clients_one_for_each_library() -> None:
    parts = [
        brokers("Look."),
        clients("Lower a.", "Java: x"),
        brokers("Wait."),
        clients("Lower b.", "Java: x"),
        network(""),
    ]
    actions = list(one_for_each_owner([*parts, clients("Lower c.", "sarama: y")]))
    assert [(one.owner, one.who, one.text) for one in actions] == [
        ("brokers", None, "Look. Wait."),
        ("clients", "Java: x", "Lower a. Lower b."),
        ("clients", "sarama: y", "Lower c."),
    ]


def test_a_member_that_died_and_one_that_paused_need_other_timeouts(
    stall: MakeStall, rebalance: MakeRow, client: MakeRow
) -> None:
    stalls = [stall("consume", 22, 1, 5, 16, group_id="orders-app")]
    rebalances = [rebalance(15, 16, {"client-21": 5})]
    died = advice([], stalls, [], rebalances, clients=[client(21, "kafkajs", end_state="died"), client(22, "kafkajs")])
    assert "close()" in died
    assert "A lower sessionTimeout (kafkajs), now 10000 ms, hands the partitions of a dead member over sooner" in died
    paused = advice([], stalls, [], rebalances, clients=[client(21, "kafkajs"), client(22, "kafkajs")])
    assert "why client-21 was silent" in paused
    assert "now 10000 ms, of 13000 ms keeps members in the group that are silent for so long" in paused


def test_the_session_timeout_of_the_consumer_protocol_is_set_for_the_group(
    stall: MakeStall, rebalance: MakeRow, client: MakeRow
) -> None:
    stalls = [stall("consume", 22, 1, 5, 16, group_id="orders-app")]
    clients = [client(21, group_protocol="consumer"), client(22, group_protocol="consumer")]
    text = advice([], stalls, [], [rebalance(15, 16, {"client-21": 5})], clients=clients)
    assert (
        "kafka-configs.sh --bootstrap-server 10.0.0.1:9092 --alter --entity-type groups --entity-name orders-app "
        "--add-config consumer.session.timeout.ms=13000" in text
    )


def test_commands_use_a_broker_that_served_the_clients(recovery: MakeRow, client: MakeRow, state: MakeState) -> None:
    missing = [recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 9, None, first_api_key=3, resource="orders-2")]
    create = "--create --topic orders-2"
    assert f"--bootstrap-server 10.0.0.1:9092 {create}" in advice([], [], missing, clients=[client(21)])
    secured = client(21, servers=(), secured_servers=("2001:db8::1:9094",))
    assert f"--bootstrap-server '[2001:db8::1]:9094' --command-config CLIENT.properties {create}" in advice(
        [], [], missing, clients=[secured]
    )
    assert f"--bootstrap-server 10.0.0.3:9092 {create}" in advice(
        [state(3, 22, "serving", 0, 60)], [], missing, clients=[]
    )
    assert f"--bootstrap-server BROKER:9092 {create}" in advice([], [], missing, clients=[])


def test_a_quota_is_changed_for_the_client_that_it_held_back(recovery: MakeRow, client: MakeRow) -> None:
    held = recovery("THROTTLING_QUOTA_EXCEEDED", 21, 1, 9, None, resource="quota: Produce", resource_kind="connection")
    text = advice([], [], [held], clients=[client(21, client_id="etl 1")])
    assert "--alter --entity-type clients --entity-name 'etl 1' --add-config producer_byte_rate=RATE" in text
    of_user = advice([], [], [held], clients=[client(21, principal="alice")])
    assert "--alter --entity-type users --entity-name alice --add-config" in of_user


def test_an_advertised_address_is_compared_with_what_the_clients_reached(
    state: MakeState, recovery: MakeRow, client: MakeRow
) -> None:
    where = {"resource": "10.0.0.99:9099", "resource_kind": "connection", "outcome": "client_ended"}
    refused = [recovery("CONNECTION_REFUSED", 21, 7, 5, None, **where)]
    states = [replace(state(None, 21, "silent", 5, None), server_ip="10.0.0.99", server_port=9099)]
    text = advice(states, [], refused, clients=[client(21, advertised=("10.0.0.99:9099",))])
    assert text.startswith("Brokers advertise 10.0.0.99:9099 (advertised.listeners); no connection was accepted there.")
    assert "The same clients reached 10.0.0.1:9092." in text
    configured = advice(states, [], refused, clients=[client(21, "kafkajs")])
    assert "it stands in brokers (kafkajs) of these clients" in configured


def test_names_from_the_wire_are_one_word_for_a_shell(recovery: MakeRow, client: MakeRow) -> None:
    """shlex splits as a POSIX shell does: whatever a name has in it stays one argument."""
    clients = [client(21, principal=HOSTILE)]
    denied = [recovery("TOPIC_AUTHORIZATION_FAILED", 21, 1, 9, None, first_api_key=3, resource=HOSTILE)]
    missing = [recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 9, None, first_api_key=3, resource=HOSTILE)]
    grant = shlex.split(advice([], [], denied, clients=clients).partition("denied: ")[2])
    assert grant[:5] == ["kafka-acls.sh", "--bootstrap-server", "10.0.0.1:9092", "--add", "--allow-principal"]
    assert grant[5:] == [f"User:{HOSTILE}", "--operation", "Describe", "--topic", HOSTILE]
    assert shlex.split(advice([], [], missing, clients=clients).partition("client: ")[2])[-1] == HOSTILE


@pytest.mark.parametrize(
    ("error", "api_key", "resource", "expected"),
    [
        ("TOPIC_AUTHORIZATION_FAILED", 0, "orders-0", "--operation Write --topic orders"),
        ("TOPIC_AUTHORIZATION_FAILED", 3, "it's", "--operation Describe --topic 'it'\"'\"'s'"),
        ("GROUP_AUTHORIZATION_FAILED", 11, "orders-app", "--operation Read --group orders-app"),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 22, "pay-1", "--operation Write --transactional-id pay-1"),
        ("CLUSTER_AUTHORIZATION_FAILED", 22, "cluster", "--operation IdempotentWrite --cluster"),
    ],
)
def test_advice_grants_what_was_denied(
    recovery: MakeRow, error: str, api_key: int, resource: str, expected: str
) -> None:
    """Operations as Kafka's documentation lists them for each protocol."""
    (incident,), _ = tell(recoveries=[recovery(error, 21, 1, 9, None, first_api_key=api_key, resource=resource)])
    assert incident["kind"] == "permission"
    assert advised(incident).endswith(expected)


@pytest.mark.parametrize(("detected", "of_cluster"), [(13, True), (6, False)], ids=["late", "soon"])
def test_advice_is_for_whoever_took_longer(
    silent_broker: list[BrokerState], stall: MakeStall, client: MakeRow, *, detected: int, of_cluster: bool
) -> None:
    """Node 2 is silent from 5 s on; the client is served at 14 s."""
    failure = Failure(BROKER_SILENT, "node 2", 5 * NS, 20 * NS, states=silent_broker[1:2])
    failure.course = tuple(CourseStep(step, at * NS, None, "") for step, at in steps(detected))
    text = " ".join(action.text for action in actions_of(failure, Observed(failure, {}, [])))
    assert ("broker.session.timeout.ms" in text) == of_cluster
    took = "the cluster took 8.00 s to react" if of_cluster else "clients took 8.00 s after the cluster had reacted"
    assert f"Of the 9.00 s until the last client was served, {took}." in text


@pytest.mark.parametrize(("back", "are_lost"), [(12, True), (7, False)])
def test_no_session_timeout_is_lowered_where_the_controllers_were_lost(
    silent_broker: list[BrokerState], *, back: int, are_lost: bool
) -> None:
    """Recorded: the controllers did not reach each other for 18 s; a broker that died meanwhile was replaced 5 s after
    they did again. No setting of brokers moves its leaders before."""
    failure = Failure(BROKER_SILENT, "node 2", 5 * NS, 20 * NS, states=silent_broker[1:2])
    failure.course = tuple(CourseStep(step, at * NS, None, "") for step, at in steps(13))
    give_absent_controllers([failure, Failure(CONTROLLERS_CUT, "10.0.0.1, 10.0.0.2", 3 * NS, back * NS)])
    text = " ".join(action.text for action in actions_of(failure, Observed(failure, {}, [])))
    assert ("broker.session.timeout.ms" in text) != are_lost
    assert ("For 7.00 s of that its controllers did not work: see why first." in text) == are_lost


def test_no_client_is_told_to_come_back_sooner_where_it_could_not(
    silent_broker: list[BrokerState], stall: MakeStall, recovery: MakeRow
) -> None:
    """Writes are refused from 6 to 13 s for lack of replicas; or a later failure keeps the clients waiting."""
    failure = Failure(BROKER_SILENT, "node 2", 5 * NS, 20 * NS, states=silent_broker[1:2])
    failure.course = tuple(CourseStep(step, at * NS, None, "") for step, at in steps(6))

    def text() -> str:
        return " ".join(action.text for action in actions_of(failure, Observed(failure, {}, [])))

    assert "clients took 8.00 s" in text()
    failure.take_recovery(replace(recovery("NOT_ENOUGH_REPLICAS", 21, 1, 6, 13), last_error_ns=13 * NS))
    assert "clients took" not in text()
    assert "For 7.00 s writes were refused because fewer replicas were in sync than min.insync.replicas" in text()
    failure.recoveries.clear()
    failure.outlasting.add("a stall")
    assert "until the last client was served" not in text()


def steps(detected: int) -> list[tuple[StepName, int]]:
    return [("failed", 5), ("detected", detected), ("served", 14)]
