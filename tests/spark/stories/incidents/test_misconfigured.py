"""Clients whose settings do not fit a listener, from rows of its uses written by hand; and how connections make such
rows. The causes are those of Kafka's SaslServerAuthenticator and SslTransportLayer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.clients.identity.kinds import kind_of
from kafkascope_spark.stories.incidents.clients.misconfigured import Listeners
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse, listener_uses, with_logins
from kafkascope_spark.stories.incidents.texts.misuse_advice import what_fits
from kafkascope_spark.stories.model import Connection

from .conftest import NS, MakeRow, MakeStall, Row
from .test_machine import tell

FAULTS = [
    # what the client does; what others were served with there; the fault; in the sentence; in the advice
    ({"protocol": "PLAINTEXT"}, {"protocol": "TLS"}, "wrong_protocol", "without TLS", "to SSL or SASL_SSL"),
    ({"protocol": "TLS"}, {"protocol": "PLAINTEXT"}, "wrong_protocol", "spoke TLS to", "to PLAINTEXT"),
    ({"protocol": "HTTP"}, {"protocol": "PLAINTEXT"}, "wrong_protocol", "spoke HTTP to", "TCP check"),
    (
        {"protocol": "PROXY protocol"},
        {"protocol": "PLAINTEXT"},
        "wrong_protocol",
        "began connections to 10.0.0.1:9093 with a header of the PROXY protocol",
        "Switch the PROXY protocol off",
    ),
    (
        {"protocol": "PLAINTEXT", "answered": True, "asked": True},
        {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"},
        "auth_failed",
        "did not authenticate at",
        "10.0.0.1:9093 accepts, and sasl.mechanism and sasl.jaas.config (others use PLAIN there)",
    ),
    (
        {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "error_name": "ILLEGAL_SASL_STATE"},
        {"protocol": "PLAINTEXT"},
        "auth_failed",
        "began SASL at 10.0.0.1:9093, which does not use SASL (ILLEGAL_SASL_STATE), mechanism PLAIN",
        "security.protocol to PLAINTEXT",
    ),
    (
        {"protocol": "SASL_SSL", "mechanism": "GSSAPI", "error_name": "UNSUPPORTED_SASL_MECHANISM"},
        {"protocol": "SASL_SSL", "mechanism": "PLAIN"},
        "auth_failed",
        "does not have the SASL mechanism of client-21 (10.0.0.21)",
        "Set sasl.mechanism of these clients (now GSSAPI) to one that the listener supports, for example PLAIN",
    ),
    (
        {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "error_name": "SASL_AUTHENTICATION_FAILED"},
        {"protocol": "TLS"},
        "auth_failed",
        "10.0.0.1:9093 did not accept the credentials of client-21 (10.0.0.21)",
        "--alter --add-config 'SCRAM-SHA-512=[password=PASSWORD]' --entity-type users --entity-name carol",
    ),
    (
        {"protocol": "SASL_SSL", "mechanism": "AWS_MSK_IAM", "error_name": "SASL_AUTHENTICATION_FAILED"},
        {"protocol": "TLS"},
        "auth_failed",
        "10.0.0.1:9093 did not accept the credentials of client-21 (10.0.0.21)",
        "it has to allow kafka-cluster:Connect on this cluster",
    ),
    (
        {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "error_name": "SASL_AUTHENTICATION_FAILED"},
        {"protocol": "TLS"},
        "auth_failed",
        "10.0.0.1:9093 did not accept the credentials of client-21 (10.0.0.21)",
        "sasl.oauthbearer.expected.audience",
    ),
    (
        {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "closed_login": True},
        {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"},
        "auth_failed",
        "10.0.0.1:9093 closed the connections of client-21 (10.0.0.21) during login, without an error",
        "After SaslHandshake v0",
    ),
    (
        {"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI", "left_login": True},
        {"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI"},
        "auth_failed",
        "closed its connections to 10.0.0.1:9093 during login, without an error of the broker",
        "With Kerberos they probably got no ticket",
    ),
    (
        {"protocol": "SASL_SSL", "error_name": "ILLEGAL_SASL_STATE", "had_session": True},
        {"protocol": "TLS"},
        "auth_failed",
        "authenticated again at",
        "connections.max.reauth.ms",
    ),
]


@pytest.mark.parametrize(("wrong", "right", "fault", "sentence", "advice"), FAULTS)
def test_what_does_not_fit_is_named_with_what_fits(
    wrong: Row, right: Row, fault: str, sentence: str, advice: str, use: MakeRow, client: MakeRow
) -> None:
    clients = [client(21, principal="carol"), client(22)]
    (incident,), _ = tell(uses=[use(21, **wrong), use(22, served=True, **right)], clients=clients)
    assert (incident["kind"], incident["client_fault"], incident["node_id"]) == ("client", fault, None)
    assert (incident["severity"], incident["clients"]) == ("error", ["ci-21"])
    assert (incident["start_ns"], incident["end_ns"]) == (5 * NS, 20 * NS)
    assert (incident["longest_ms"], incident["ending"]) == (15_000, "not_seen"), "it tried for 15 s, and ended"
    assert incident["hosts"] == ["10.0.0.21"]
    assert "c21" in incident["evidence"]
    assert sentence in incident["sentence"]
    assert "1 client could not work because of it." in incident["sentence"]
    assert advice in advised(incident)


@pytest.mark.parametrize(
    ("closed", "served"),
    [
        ({"protocol": "TLS"}, None),
        ({"protocol": "PLAINTEXT"}, None),
        ({"protocol": "TLS"}, {"protocol": "SSL"}),
        ({"protocol": "PLAINTEXT"}, {"protocol": "PLAINTEXT"}),
        ({"protocol": "PLAINTEXT", "answered": True}, {"protocol": "TLS"}),
        ({"protocol": "PLAINTEXT", "answered": True}, {"protocol": "SASL_PLAINTEXT"}),
        ({"protocol": "PLAINTEXT", "answered": True, "asked": True, "n": 1}, {"protocol": "SASL_PLAINTEXT"}),
    ],
)
def test_a_connection_that_was_closed_shows_no_fault_by_itself(closed: Row, served: Row | None, use: MakeRow) -> None:
    """Nobody shows what the port takes; others speak the same there; or the server closed while it greeted."""
    others = [] if served is None else [use(22, served=True, **served)]
    assert tell(uses=[use(21, **closed), *others]) == ([], {})


def test_a_hello_without_a_name_is_closed_where_others_name_the_server(use: MakeRow, client: MakeRow) -> None:
    """An ingress chooses the broker by the server name (https://github.com/dpkp/kafka-python/issues/3113)."""
    nameless = use(21, protocol="TLS", names_server=False)
    others = use(22, protocol="TLS", served=True, names_server=True)
    (incident,), _ = tell(uses=[nameless, others], clients=[client(21)])
    assert (incident["kind"], incident["severity"]) == ("client", "error")
    assert (
        "at a TLS hello without a server name (SNI), and serves clients whose hello names one" in incident["sentence"]
    )
    assert "chooses the broker by the server name" in advised(incident)
    for served in (use(22, protocol="TLS", served=True, names_server=False), use(22, protocol="TLS", served=True)):
        assert tell(uses=[nameless, served]) == ([], {})
    assert tell(uses=[use(21, protocol="TLS", names_server=True), others]) == ([], {})


def test_a_client_that_authenticates_elsewhere_sent_requests_too_early(use: MakeRow, client: MakeRow) -> None:
    """It is served as the same user on other connections: no setting is missing."""
    early = use(21, "PLAINTEXT", answered=True, asked=True, works_on=True, logged_in=True)
    served = use(21, "SASL_PLAINTEXT", mechanism="PLAIN", served=True)
    (incident,), _ = tell(uses=[early, served], clients=[client(21, principal="User:carol")])
    assert (incident["kind"], incident["client_fault"]) == ("client", "before_login")
    assert "client-21 (10.0.0.21) sent requests to 10.0.0.1:9093, which requires SASL, before" in incident["sentence"]
    assert "7 connections failed" in incident["sentence"]
    assert "authenticates as User:carol" in advised(incident)
    assert "security.protocol" not in advised(incident)


@pytest.mark.parametrize(
    ("server", "is_gone"), [("10.0.0.1:9093", True), ("10.0.0.2:9093", True), ("10.0.0.2:9094", False)]
)
def test_a_mechanism_that_the_listener_takes_at_other_times_or_brokers_is_missing_at_the_broker(
    use: MakeRow, state: MakeRow, server: str, is_gone: bool
) -> None:
    """Recorded: a broker came back from a restart without SCRAM-SHA-256; clients with another mechanism were served."""
    login = {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-256"}
    refused = use(21, **login, error_name="UNSUPPORTED_SASL_MECHANISM", login_before_ns=2 * NS)
    before = use(21, **login, served=True, server=server, start=2, end=4)
    row = replace(state(1, 21, "serving", 0, 30), server_port=9093)
    (incident,), _ = tell([row], uses=[refused, before])
    assert (incident["kind"], incident["node_id"]) == (("mechanism_gone", 1) if is_gone else ("client", None))
    assert ("Compare sasl.enabled.mechanisms of 10.0.0.1:9093" in advised(incident)) is is_gone
    assert (incident["fault_start_after_ns"], incident["fault_start_ns"]) == (
        (2 * NS, 5 * NS) if is_gone else (None, None)
    )


@pytest.mark.parametrize(
    ("served", "changed"),
    [
        ({"protocol": "PLAINTEXT", "server": "10.0.0.1:9093", "start": 2, "end": 4}, True),
        ({"protocol": "PLAINTEXT", "server": "10.0.0.2:9093"}, True),
        ({"protocol": "TLS", "server": "10.0.0.1:9093"}, False),
        ({"protocol": "PLAINTEXT", "server": "10.0.0.1:9092"}, False),
    ],
    ids=["this broker took it before", "another broker takes it", "others use TLS there", "another port takes it"],
)
def test_a_listener_that_demands_tls_of_clients_that_it_served_without_is_told_as_changed(
    served: Row, changed: bool, use: MakeRow, stall: MakeStall
) -> None:
    """Recorded: a broker came back from a restart with TLS on the clients' port. A client that was told to go there
    waited for it, although it was served elsewhere afterwards."""
    refused = use(21, "PLAINTEXT", tls_alerted=True, works_on=True, login_before_ns=4 * NS)
    waiting = stall("produce", 21, 2, 6, 18)
    (incident, *_), told = tell(uses=[refused, use(22, served=True, **served)], stalls=[waiting])
    assert incident["kind"] == ("protocol_changed" if changed else "client")
    assert ("listener.security.protocol.map" in advised(incident)) is changed
    assert ("with TLS alerts" in incident["sentence"]) is changed
    assert (told[waiting.stall_id] == "protocol_changed") is changed
    if changed:
        assert (incident["fault_start_after_ns"], incident["fault_start_ns"]) == (4 * NS, 5 * NS)


def test_a_broker_that_speaks_tls_to_others_is_told_which_settings_to_compare(use: MakeRow) -> None:
    """Recorded: a broker came back from a restart with TLS on the listener between brokers; the others had none."""
    served = [use(30, "PLAINTEXT", served=True, server=f"10.0.0.{node}:9093") for node in (1, 2)]
    broker = use(2, "TLS", client_instance_id=None, client_id=None)
    (incident,), _ = tell(uses=[*served, broker])
    assert "spoke TLS to 10.0.0.1:9093, which does not use TLS" in incident["sentence"]
    assert "security.inter.broker.protocol of 10.0.0.2 with" in advised(incident)
    assert [action["owner"] for action in incident["actions"]] == ["brokers"]


def test_one_incident_for_a_listener_and_a_cause(use: MakeRow) -> None:
    """Two clients without TLS at two brokers of one listener; a third client with TLS at another port."""
    served = [use(30, "TLS", served=True, server=f"10.0.0.{node}:9093") for node in (1, 2)]
    served.append(use(30, "PLAINTEXT", served=True, server="10.0.0.1:9092"))
    wrong = [use(21, "PLAINTEXT"), use(22, "PLAINTEXT", server="10.0.0.2:9093", start=7, end=30)]
    other = use(23, "TLS", server="10.0.0.1:9092", client_instance_id=None, client_id=None, start=8, end=9)
    first, second = tell(uses=[*served, *wrong, other])[0]
    assert first["subject"] == "client-21 (10.0.0.21), client-22 (10.0.0.22) at port 9093 of 10.0.0.1, 10.0.0.2"
    assert (first["start_ns"], first["end_ns"], first["clients"]) == (5 * NS, 30 * NS, ["ci-21", "ci-22"])
    assert "14 connections failed" in first["sentence"]
    assert "or give them a listener that served PLAINTEXT in the capture: 10.0.0.1:9092 (" in advised(first)
    assert (second["subject"], second["clients"]) == ("10.0.0.23 at 10.0.0.1:9092", [])
    assert second["severity"] == "error"


def test_a_listener_of_brokers_is_none_for_clients(use: MakeRow) -> None:
    """Nor is it known that a listener does no SASL of which the capture lacks the first packets."""
    served = [use(30, "TLS", served=True)]
    served += [use(1, "PLAINTEXT", served=True, of_broker=True, server="10.0.0.2:9091")]
    served += [use(31, "PLAINTEXT", served=True, from_start=False, server="10.0.0.2:9092")]
    (incident,), _ = tell(uses=[use(21, "PLAINTEXT"), *served])
    assert "the capture shows none that serves clients" in advised(incident)


def test_a_client_that_goes_on_trying_leaves_the_incident_open(use: MakeRow) -> None:
    served = use(30, "TLS", served=True)
    (goes_on,), _ = tell(uses=[served, use(21, "PLAINTEXT", is_over=False)])
    assert goes_on["end_ns"] is None
    (elsewhere,), _ = tell(uses=[served, use(21, "PLAINTEXT", is_over=False, works_on=True)])
    assert (elsewhere["end_ns"], elsewhere["severity"]) == (20 * NS, "info")
    assert "All of them were served on other connections." in elsewhere["sentence"]


def test_recoveries_and_stalls_of_a_client_that_is_not_let_in_belong_to_it(
    use: MakeRow, recovery: MakeRow, stall: MakeStall
) -> None:
    """Its password was changed while it ran: another client's errors are something else."""
    refused = use(21, "SASL_PLAINTEXT", mechanism="PLAIN", error_name="SASL_AUTHENTICATION_FAILED")
    lost = recovery("SASL_AUTHENTICATION_FAILED", 21, 1, 6, None, resource_kind="authentication", resource="PLAIN")
    other = recovery("NOT_COORDINATOR", 22, 1, 6, 7, resource_kind="coordinator", resource="orders-app")
    waited = stall("produce", 21, 1, 6, 20)
    (incident, moved), kinds = tell([], [waited], [lost, other], uses=[refused])
    assert (incident["kind"], incident["n_stalls"], moved["clients"]) == ("client", 1, ["ci-22"])
    assert kinds == {waited.stall_id: "client"}
    assert lost.evidence[0] in incident["evidence"]


MakeConnection = Callable[..., Connection]
S_MS = 1_000


@pytest.fixture
def uses(connection: MakeConnection) -> Callable[..., list[ListenerUse]]:
    """The rows of connections of one client, as keyword arguments of `connection`; the capture ends at 60 s."""

    def make(*changed: dict[str, Any], refused: dict[str, str] | None = None) -> list[ListenerUse]:
        made = [connection(f"c{n}", n * S_MS, n * S_MS + 100, **changes) for n, changes in enumerate(changed)]
        kafka = [c for c in made if c.protocol == "kafka"]
        instances = {}
        if kafka:
            instance = Instance("ci-1", "10.0.0.21", "app", kind_of(kafka), Group(kafka), kafka)
            instances = {c.conn_id: instance for c in kafka}
        return list(listener_uses("10.0.0.21", made, instances, refused or {}, 60 * NS))

    return make


CLOSED: Row = {"close_kind": "fin_server", "n_requests": 1}
SERVED: Row = {"served": True, "n_responses": 9, "server": "10.0.0.1:9092", "apis": {api_keys.METADATA}}


@pytest.mark.parametrize("n", [1, 2])
def test_who_loses_its_session_works_on_if_it_is_let_in_again(n: int, uses: Callable[..., list[ListenerUse]]) -> None:
    """One connection that ends does not show that the client was served afterwards."""
    login = {"sasl_mechanism": "PLAIN", "session_lifetime_ms": 300, "close_kind": "fin_client"}
    refused = {f"c{number}": "ILLEGAL_SASL_STATE" for number in range(n)}
    (row,) = uses(
        *[{**SERVED, **login, "last_request_ns": number * NS + NS // 20} for number in range(n)], refused=refused
    )
    assert row.outcome.lost_session
    assert row.works_on == (n > 1)


@pytest.mark.parametrize(
    ("changes", "protocol", "served"),
    [
        (SERVED, "PLAINTEXT", True),
        (SERVED | {"tls": True, "sasl_mechanism": "PLAIN"}, "SASL_SSL", True),
        ({"protocol": "tls", "server_bytes": 3_000}, "TLS", True),
        ({"protocol": "tls", "close_kind": "rst_server"}, "TLS", False),
        (CLOSED, "PLAINTEXT", False),
        ({"protocol": "http", "server_bytes": 7}, "HTTP", False),
    ],
)
def test_a_connection_says_what_was_spoken_and_whether_it_was_served(
    changes: Row, protocol: str, served: bool, uses: Callable[..., list[ListenerUse]]
) -> None:
    (row,) = uses(changes)
    assert (row.outcome.protocol, row.outcome.served) == (protocol, served)


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "tls"},
        {"n_requests": 1},
        CLOSED | {"n_responses": 1, "apis": {api_keys.API_VERSIONS}},
        {"protocol": "empty", "close_kind": "refused"},
    ],
)
def test_what_ended_otherwise_says_nothing(changes: Row, uses: Callable[..., list[ListenerUse]]) -> None:
    """A client that closed first, a server that closed after its greeting, a port without a server."""
    assert uses(changes) == []


def test_attempts_that_went_alike_are_one_row(uses: Callable[..., list[ListenerUse]]) -> None:
    """Three at 0, 1 and 2 s failed; then the client was served at another port."""
    served, closed = sorted(uses(CLOSED, CLOSED, CLOSED, SERVED), key=lambda row: not row.outcome.served)
    assert (closed.n, closed.evidence) == (3, ("c0", "c1", "c2"))
    assert (closed.first_ns, closed.last_ns, closed.is_over) == (0, 2_100_000_000, True)
    assert (closed.works_on, closed.client_instance_id, closed.client_id) == (True, "ci-1", "app")
    assert (served.client_instance_id, served.evidence) == (None, ())


def test_a_client_has_logged_in_where_an_earlier_connection_shows_it(uses: Callable[..., list[ListenerUse]]) -> None:
    login = SERVED | {"sasl_mechanism": "PLAIN"}
    early = CLOSED | {"n_responses": 1, "apis": {api_keys.API_VERSIONS, api_keys.PRODUCE}}
    rows = (uses(login, early), uses(early, login), uses(SERVED, early))
    assert [next(row.logged_in for row in made if not row.outcome.served) for made in rows] == [True, False, False]


def test_a_client_whose_next_attempt_may_be_due_goes_on(uses: Callable[..., list[ListenerUse]]) -> None:
    last = CLOSED | {"syn_ns": 45 * NS, "last_ns": 45 * NS}
    (slow,) = uses(CLOSED, last)
    (single,) = uses(last)
    assert (slow.is_over, single.is_over) == (False, True)


@pytest.mark.parametrize(
    ("apis", "mechanism", "left"),
    [
        ({api_keys.API_VERSIONS, api_keys.SASL_HANDSHAKE}, "GSSAPI", True),
        ({api_keys.API_VERSIONS}, None, False),
        ({api_keys.SASL_HANDSHAKE, api_keys.METADATA}, "GSSAPI", False),
    ],
    ids=["after SaslHandshake", "after its greeting", "after a request"],
)
def test_a_client_that_closes_while_it_logs_in_has_left_its_login(
    apis: set[int], mechanism: str | None, left: bool, uses: Callable[..., list[ListenerUse]]
) -> None:
    """librdkafka without a Kerberos ticket (https://github.com/confluentinc/librdkafka/issues/2117)."""
    rows = uses({"close_kind": "fin_client", "n_requests": 2, "apis": apis, "sasl_mechanism": mechanism})
    assert [row.outcome.left_login for row in rows] == [True] * left


def test_a_server_that_closes_while_a_client_logs_in_has_closed_its_login(
    uses: Callable[..., list[ListenerUse]],
) -> None:
    """After SaslHandshake v0 brokers have no error for a token that they refuse."""
    login = {"n_requests": 1, "n_responses": 1, "apis": {api_keys.SASL_HANDSHAKE}, "sasl_mechanism": "PLAIN"}
    (row,) = uses(CLOSED | login)
    assert (row.outcome.closed_login, row.outcome.served) == (True, False)
    assert uses(CLOSED | login | {"apis": {api_keys.API_VERSIONS}, "sasl_mechanism": None}) == []


def test_credentials_that_another_broker_takes_are_right(use: MakeRow) -> None:
    """https://github.com/confluentinc/librdkafka/issues/1510."""
    plain = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"}
    there = use(21, served=True, **plain, server="10.0.0.2:9093")
    refused = use(21, **plain, error_name="SASL_AUTHENTICATION_FAILED")
    (incident,), _ = tell(uses=[refused, there])
    assert "10.0.0.2:9093 let the same hosts in with the same mechanism" in advised(incident)
    assert "Correct user name" not in advised(incident)


def test_controllers_that_refuse_each_other_are_no_clients(use: MakeRow) -> None:
    """https://github.com/bitnami/charts/issues/18793."""
    plain = {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-256"}
    refused = use(21, **plain, error_name="SASL_AUTHENTICATION_FAILED", client_id="raft-client-2")
    (incident,), _ = tell(uses=[refused])
    assert "format --add-scram" in advised(incident)
    assert {action["owner"] for action in incident["actions"]} == {"brokers"}


def test_who_left_its_login_once_or_works_on_shows_no_fault(use: MakeRow) -> None:
    login = {"protocol": "SASL_PLAINTEXT", "mechanism": "GSSAPI", "left_login": True}
    for more in ({"n": 2}, {"works_on": True}):
        assert tell(uses=[use(21, **login, **more)]) == ([], {})


def test_refused_credentials_go_by_their_error(uses: Callable[..., list[ListenerUse]]) -> None:
    (row,) = uses({"sasl_mechanism": "PLAIN"}, refused={"c0": "SASL_AUTHENTICATION_FAILED"})
    assert (row.outcome.protocol, row.outcome.mechanism, row.outcome.error_name) == (
        "SASL_PLAINTEXT",
        "PLAIN",
        "SASL_AUTHENTICATION_FAILED",
    )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "refused_entry",
            {
                ("auth_failed", "loader-6, loader-7"),
                ("auth_failed", "worker-9"),
                ("auth_failed", "order-api-10"),
                ("auth_failed", "svc-a-4"),
            },
        ),
        ("other_protocol", {("wrong_protocol", "worker-6"), ("wrong_protocol", "10.77.0.103")}),
        ("healthy_basic", set()),
        ("sasl_users", {("auth_failed", "svc-a-4")}),
        ("leader_move", set()),
        ("requests_before_login", {("before_login", "rdkafka")}),
    ],
)
def test_recorded_clients_are_incidents_of_their_own(
    name: str, expected: set[tuple[str, str]], dataset_of: Any
) -> None:
    """What the lab set up: fixtures/findings/README.md."""
    incidents = pq.read_table(dataset_of(name) / "stories" / "incidents").to_pylist()
    of_clients = [row for row in incidents if row["kind"] == "client"]
    names = [row["subject"].partition(" at ")[0].split(", ") for row in of_clients]
    named = {
        (row["client_fault"], ", ".join(name.partition(" (")[0] for name in each))
        for row, each in zip(of_clients, names, strict=True)
    }
    assert named == expected
    assert {row["severity"] for row in of_clients} <= {"warning" if name == "requests_before_login" else "error"}


def test_credentials_that_are_taken_a_moment_later_are_right(use: MakeRow, client: MakeRow) -> None:
    """MSK refuses IAM logins beyond a number a second (https://github.com/twmb/franz-go/issues/109)."""
    refused = use(
        *(21, "SASL_SSL"),
        mechanism="AWS_MSK_IAM",
        error_name="SASL_AUTHENTICATION_FAILED",
        works_on=True,
        logs_in_later=True,
    )
    served = use(21, "SASL_SSL", mechanism="AWS_MSK_IAM", served=True)
    (incident,), _ = tell(uses=[refused, served], clients=[client(21)])
    assert (incident["kind"], incident["client_fault"], incident["severity"]) == ("client", "auth_failed", "error")
    assert (
        "refused some logins of client-21 (10.0.0.21) (SASL_AUTHENTICATION_FAILED), and later accepted the same"
    ) in incident["sentence"]
    assert "after trying for up to 15.0 s" in incident["sentence"]
    assert "took the same credentials at another time" in advised(incident)
    assert "user name" not in advised(incident)


@pytest.mark.parametrize(
    ("had_session", "message", "is_password"),
    [
        (False, "Authentication failed during authentication due to invalid credentials with SASL mechanism X", True),
        (True, "Authentication failed: Invalid username or password", True),
        (True, "Cannot change principals during re-authentication from User.alice: to User.bob:", False),
        (False, "Too many connects", False),
    ],
)
def test_what_the_broker_says_decides_about_the_password(
    use: MakeRow, had_session: bool, message: str, is_password: bool
) -> None:
    """A password that was changed, and changed back, is refused at times, too."""
    refused = use(
        *(21, "SASL_PLAINTEXT"),
        mechanism="SCRAM-SHA-256",
        error_name="SASL_AUTHENTICATION_FAILED",
        had_session=had_session,
        logs_in_later=True,
        login_before_ns=4 * NS,
        login_after_ns=21 * NS,
    )
    listeners = Listeners()
    listeners.take(refused)
    (failure,) = listeners.failures()
    failure.messages = [message]
    text = " ".join(action.text for action in what_fits(failure.misuse, Observed(failure, {}, [])))
    assert ("who changed it then" in text) == is_password
    assert not (is_password and "are right" in text)
    assert failure.fault == Fault(4 * NS, (20 if had_session else 5) * NS, 20 * NS, 21 * NS)


@pytest.mark.parametrize(
    ("had_session", "begins", "before", "after"),
    [(False, [1, 3, 30], 3, 30), (True, [1, 10, 30], 10, 30), (False, [10], None, None), (False, [], None, None)],
    ids=["refused", "session", "between", "never"],
)
def test_logins_before_and_after_the_refusals(
    use: MakeRow, had_session: bool, begins: list[int], before: int | None, after: int | None
) -> None:
    refused = use(21, "SASL_PLAINTEXT", error_name="SASL_AUTHENTICATION_FAILED", had_session=had_session)
    found = with_logins(refused, [begin * NS for begin in begins])
    expected = [None if at is None else at * NS for at in (before, after)]
    assert [found.login_before_ns, found.login_after_ns] == expected


def test_who_authenticates_again_as_another_user_has_the_right_password(use: MakeRow, client: MakeRow) -> None:
    """Cannot change principals during re-authentication (KIP-368)."""
    how = {"mechanism": "PLAIN", "error_name": "SASL_AUTHENTICATION_FAILED", "had_session": True}
    (incident,), _ = tell(uses=[use(21, "SASL_PLAINTEXT", **how, logs_in_later=True)], clients=[client(21)])
    assert "when it authenticated again on the same connection" in incident["sentence"]
    assert "could not work" not in incident["sentence"]
    assert "Correct user name" not in advised(incident)
    assert incident["start_ns"] == 20 * NS


def test_who_loses_its_sessions_and_is_let_in_again_worked_in_between(use: MakeRow, client: MakeRow) -> None:
    """Recorded of kafkajs, whose records were accepted on 57 connections that ended one after the other."""
    how = {"mechanism": "PLAIN", "error_name": "ILLEGAL_SASL_STATE", "had_session": True}
    (incident,), _ = tell(uses=[use(21, "SASL_PLAINTEXT", **how, works_on=True)], clients=[client(21)])
    assert "ended by that" in incident["sentence"]
    assert "They were served in between" in incident["sentence"]
    assert "could not work" not in incident["sentence"]
    assert incident["severity"] != "error"


def test_credentials_that_were_taken_before_have_expired(use: MakeRow, client: MakeRow) -> None:
    """A delegation token that is over (https://github.com/apache/spark/pull/23906)."""
    how = {"mechanism": "SCRAM-SHA-512", "error_name": "SASL_AUTHENTICATION_FAILED"}
    refused = use(21, "SASL_PLAINTEXT", **how, accepted_ns=NS)
    (incident,), _ = tell(uses=[refused], clients=[client(21)])
    assert (incident["client_fault"], incident["severity"]) == ("auth_failed", "error")
    assert "no longer accepts the credentials of client-21 (10.0.0.21)" in incident["sentence"]
    assert "have expired" in advised(incident)
    (never,), _ = tell(uses=[use(21, "SASL_PLAINTEXT", **how)], clients=[client(21)])
    assert "Correct user name and password" in advised(never)


ALERTED: Row = {"n_requests": 1, "n_responses": 0, "server_bytes": 7, "close_kind": "fin_client"}


@pytest.mark.parametrize(
    ("changed", "alerted"),
    [({}, True), ({"close_kind": "fin_server"}, True), ({"server_bytes": 8}, False), ({"tls": True}, False)],
    ids=["closed by the client", "closed by the server", "as long as a response", "inside TLS"],
)
def test_an_answer_as_long_as_a_tls_alert_is_one(
    changed: Row, alerted: bool, uses: Callable[..., list[ListenerUse]]
) -> None:
    rows = uses(SERVED, ALERTED | {"server": "10.0.0.1:9092"} | changed)
    assert [row.outcome.tls_alerted for row in rows if not row.outcome.served] == [True] * alerted
