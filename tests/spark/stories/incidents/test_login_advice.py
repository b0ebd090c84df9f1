"""Advice for clients that a listener did not let in: what has to be compared, by mechanism and by who tried."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.tls_failed import TLS_FAILED
from kafkascope_spark.stories.incidents.signals.misuse import Misuse
from kafkascope_spark.stories.incidents.texts.login_advice import (
    before_login,
    credentials,
    left_login,
    no_longer,
    refused_at_times,
    session_refused,
)

from .conftest import MakeRow

Advice = Callable[[Misuse, Observed], Iterable[Action]]


def text(advice: Advice, use: MakeRow, client: MakeRow, mechanism: str | None, **more: Any) -> str:
    """What is advised for one client at host 21 that is named and has a user, as one text."""
    client_id, principal, messages = more.pop("client_id", "app"), more.pop("principal", None), more.pop("messages", [])
    uses = [replace(use(21, "SASL_PLAINTEXT", mechanism=mechanism), client_id=client_id)]
    facts = {"cause": "credentials", "uses": uses, "protocols": (), "mechanisms": (), "alternatives": ()}
    misuse = Misuse(**facts | {"others_served": True} | more)
    failure = Failure(TLS_FAILED, "10.0.0.1:9093", 0, None, misuse=misuse, messages=messages)
    observed = Observed(failure, {"ci-21": client(21, principal=principal)}, ["10.0.0.1:9092"])
    return " ".join(action.text for action in advice(misuse, observed))


@pytest.mark.parametrize(
    ("mechanism", "more", "compare", "not_said"),
    [
        ("AWS_MSK_IAM", {}, "IAM policies", "Correct user name"),
        ("PLAIN", {"let_in_at": ("10.0.0.2:9093",)}, "10.0.0.2:9093 let the same hosts in", "Correct user name"),
        ("PLAIN", {"client_id": "raft-client-1"}, "sasl.mechanism.controller.protocol", "Correct user name"),
        ("OAUTHBEARER", {}, "sasl.oauthbearer.expected.audience", "Correct user name"),
        ("PLAIN", {}, "Correct user name and password in these clients", "SCRAM users"),
    ],
)
def test_what_has_to_be_compared(
    use: MakeRow, client: MakeRow, mechanism: str, more: dict[str, Any], compare: str, not_said: str
) -> None:
    told = text(credentials, use, client, mechanism, **more)
    assert compare in told
    assert not_said not in told


def test_a_password_is_set_for_the_user_and_the_mechanism_that_are_known(use: MakeRow, client: MakeRow) -> None:
    """kafka-configs.sh creates SCRAM users (KIP-554); names from the wire are quoted for the shell. Users of PLAIN are
    in a file of the brokers."""
    told = text(credentials, use, client, "SCRAM-SHA-512", principal="User:o'neill; rm")
    assert "Correct user name and password of User:o'neill; rm in these clients" in told
    assert """'SCRAM-SHA-512=[password=PASSWORD]' --entity-type users --entity-name 'o'"'"'neill; rm'""" in told
    assert "kafka-configs.sh" not in text(credentials, use, client, "PLAIN", principal="User:app")
    assert "To set a password" not in text(credentials, use, client, "SCRAM-SHA-512")


def test_a_broker_without_words_for_a_refusal(use: MakeRow, client: MakeRow) -> None:
    """SaslHandshake v0 sends tokens without Kafka's framing, and has no error for them (KIP-152)."""
    assert "SaslHandshake v0" in text(credentials, use, client, "PLAIN", cause="closed_login")
    assert "SaslHandshake v0" not in text(credentials, use, client, "PLAIN")


def test_clients_that_left_during_the_login(use: MakeRow, client: MakeRow) -> None:
    kerberos = text(left_login, use, client, "GSSAPI")
    assert "supports the mechanism (GSSAPI) and refused nothing" in kerberos
    assert "kinit" in kerberos
    assert "kinit" not in text(left_login, use, client, "PLAIN")


@pytest.mark.parametrize("advice", [refused_at_times, session_refused])
@pytest.mark.parametrize(
    ("messages", "is_changed"),
    [
        (["Authentication failed: Invalid username or password"], True),
        (["Authentication failed during authentication due to invalid credentials with SASL mechanism X"], True),
        (["Too many connects"], False),
        ([], False),
    ],
)
def test_a_password_that_was_changed_meanwhile(
    use: MakeRow, client: MakeRow, advice: Advice, messages: list[str], is_changed: bool
) -> None:
    """The messages are those of Kafka's PlainServerCallbackHandler and SaslServerAuthenticator."""
    told = text(advice, use, client, "PLAIN", messages=messages, principal="User:app")
    assert ("ask who changed it then" in told) is is_changed
    assert ("of User:app that they took before" in told) is is_changed


def test_credentials_that_expired_and_requests_before_the_login(use: MakeRow, client: MakeRow) -> None:
    assert "SCRAM-SHA-256: a delegation token" in text(no_longer, use, client, "SCRAM-SHA-256")
    known = text(before_login, use, client, None, principal="User:app")
    assert "app (10.0.0.21) authenticates as User:app and is served" in known
    assert "authenticates and is served" in text(before_login, use, client, None)
