"""What follows from the uses of a listener that does not fit the settings of clients."""

from typing import Any

from kafkascope_spark.stories.incidents.signals.misuse import (
    ENCRYPTED,
    Misuse,
    clients_of,
    place_of,
    was_accepted_before,
)
from kafkascope_spark.stories.model import TlsGivenUp

from .conftest import NS, MakeRow


def misuse(*uses: Any, others_served: bool = True) -> Misuse:
    return Misuse("tls", uses, (), (), (), others_served)


def given_up(side: str = "client", alert: str = "bad_certificate", reason: str | None = None) -> TlsGivenUp:
    return TlsGivenUp(side, alert, alert if reason is None else reason)


def test_the_listener_in_words(use: MakeRow) -> None:
    one = misuse(use(21, "PLAINTEXT"), use(22, "PLAINTEXT"))
    both = misuse(use(21, "PLAINTEXT", server="10.0.0.2:9093"), use(21, "PLAINTEXT"))
    assert place_of(one) == "10.0.0.1:9093"
    assert place_of(both) == "port 9093 of 10.0.0.1, 10.0.0.2"
    assert clients_of(one) == "client-21 (10.0.0.21), client-22 (10.0.0.22)"


def test_one_client_is_at_fault_only_where_others_are_served(use: MakeRow) -> None:
    assert misuse(use(21, "SSL"), use(21, "SSL")).is_of_one_client
    assert not misuse(use(21, "SSL"), others_served=False).is_of_one_client
    assert not misuse(use(21, "SSL"), use(22, "SSL")).is_of_one_client


def test_clients_that_were_served_nowhere_afterwards(use: MakeRow) -> None:
    """A client that logs in as another user later was served, too; one of which no request could be read is known by
    its address."""
    served = use(21, "SSL", works_on=True)
    as_another = use(22, "SSL", had_session=True, logs_in_later=True)
    unread = use(23, "SSL", client_instance_id=None)
    no_session = use(24, "SSL", logs_in_later=True)
    found = misuse(served, as_another, unread, no_session)
    assert found.unserved == {"10.0.0.23", "ci-24"}
    assert found.client_instance_ids == {"ci-21", "ci-22", "ci-24"}


def test_how_long_clients_tried(use: MakeRow) -> None:
    short, long = use(21, "SSL", start=5, end=9), use(22, "SSL", start=5, end=30)
    assert misuse(short, long).refused_ns == 25 * NS
    assert misuse(short, long).kept_out_ns == 0, "none of them worked later"
    later = use(23, "SSL", start=5, end=11, works_on=True)
    meanwhile = use(24, "SSL", start=5, end=40, works_on=True, tls_meanwhile=True)
    assert misuse(short, later, meanwhile).kept_out_ns == 6 * NS
    assert misuse(short, long).n_connections == 14


def test_the_mechanisms_that_clients_used(use: MakeRow) -> None:
    tried = misuse(
        use(21, "SASL_SSL", mechanism="SCRAM-SHA-256"), use(22, "SASL_SSL", mechanism="PLAIN"), use(23, "SSL")
    )
    assert tried.tried_mechanisms == ["PLAIN", "SCRAM-SHA-256"]


def test_a_certificate_changed_if_clients_took_the_one_before(use: MakeRow) -> None:
    """A server that gives TLS up, and a client that goes on meanwhile, say nothing of the certificate."""
    before = {"tls_before_ns": 3 * NS}
    changed = use(21, "SSL", tls_given_up=given_up(), **before)
    assert was_accepted_before(changed)
    for other in (
        use(21, "SSL", tls_given_up=given_up()),
        use(21, "SSL", tls_given_up=given_up("server"), **before),
        use(21, "SSL", tls_given_up=given_up(), tls_meanwhile=True, **before),
        use(21, "SSL", **before),
    ):
        assert not was_accepted_before(other)
    assert misuse(use(22, "SSL"), changed).is_tls_changed
    assert not misuse(use(22, "SSL")).is_tls_changed


def test_the_handshake_that_shows_most(use: MakeRow) -> None:
    """An alert that can be read says why; an encrypted one (TLS 1.3) only that there was one."""
    plain, alert, hidden = given_up(reason="the certificate has expired"), given_up(), given_up(alert=ENCRYPTED)
    uses = [use(21, "SSL", tls_given_up=each) for each in (hidden, alert, plain)]
    assert misuse(*uses).tls_given_up == plain
    assert misuse(*uses[:2]).tls_given_up == alert
    assert misuse(use(21, "SSL")).tls_given_up is None
