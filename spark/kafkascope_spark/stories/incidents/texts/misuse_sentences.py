"""Sentences about clients whose settings do not fit a listener: what they did, who could not work, what shows it."""

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.failures.failure import SECOND
from kafkascope_spark.stories.incidents.signals.misuse import Cause, Misuse, clients_of, place_of
from kafkascope_spark.stories.model import TlsGivenUp
from kafkascope_spark.stories.tls_words import why

_DID: dict[Cause, str] = {
    "http": "{who} spoke HTTP to {place}, where brokers serve Kafka",
    "proxy_header": "{who} began connections to {place} with a header of the PROXY protocol, which brokers do not read",
    "needless_tls": "{who} spoke TLS to {place}, which does not use TLS",
    "without_tls": "{who} spoke Kafka without TLS to {place}, which accepts TLS only",
    "tls_since": "{place} answered {who} with TLS alerts, although the listener serves clients without TLS at other "
    "times or at other brokers",
    "without_name": "{place} closed the connections of {who} at a TLS hello without a server name (SNI), and serves "
    "clients whose hello names one",
    "without_sasl": "{who} did not authenticate at {place}, which requires SASL",
    "before_login": "{who} sent requests to {place}, which requires SASL, before it had authenticated",
    "needless_sasl": "{who} began SASL at {place}, which does not use SASL (ILLEGAL_SASL_STATE)",
    "mechanism": "{place} does not have the SASL mechanism of {who} (UNSUPPORTED_SASL_MECHANISM)",
    "mechanism_gone": "{place} refused the SASL mechanism of {who} (UNSUPPORTED_SASL_MECHANISM), which the listener "
    "takes at other times or at other brokers",
    "credentials": "{place} did not accept the credentials of {who} (SASL_AUTHENTICATION_FAILED)",
    "closed_login": "{place} closed the connections of {who} during login, without an error",
    "left_login": "{who} closed its connections to {place} during login, without an error of the broker",
    "refused_at_times": (
        "{place} refused some logins of {who} (SASL_AUTHENTICATION_FAILED), and later accepted the same credentials"
    ),
    "no_longer": (
        "{place} no longer accepts the credentials of {who} (SASL_AUTHENTICATION_FAILED), with which the same "
        "client id had logged in from the same address before"
    ),
    "session_refused": (
        "{place} accepted {who}, and refused it when it authenticated again on the same connection "
        "(SASL_AUTHENTICATION_FAILED)"
    ),
    "authenticates_again": (
        "{who} authenticated again at {place} in a way that the broker does not support (ILLEGAL_SASL_STATE)"
    ),
}


_AFTER_LOGIN = frozenset({"session_refused", "authenticates_again"})
"""Causes that end connections on which the client had been let in."""


def misuse_sentence(misuse: Misuse) -> str:
    """Returns what the clients did; the times follow in the incident's sentence."""
    if misuse.tls_given_up is not None:
        values = tls_ends(misuse, misuse.tls_given_up)
        said = f"{values['sender']} {why(misuse.tls_given_up.reason, values)}"
        before = " (connections of the same addresses had worked until then)" if misuse.is_tls_changed else ""
        said = f"{said[0].upper()}{said[1:]}{before}"
        return f"{said}: {counted(misuse.n_connections, 'connection')} failed"
    did = _DID[misuse.cause].format(who=clients_of(misuse), place=place_of(misuse))
    mechanisms = misuse.tried_mechanisms
    how = f", mechanism {listed(mechanisms)}" if mechanisms else ""
    did = f"P{did[1:]}" if did.startswith("port ") else did
    ended = "ended by that" if misuse.cause in _AFTER_LOGIN else "failed"
    return f"{did}{how}: {counted(misuse.n_connections, 'connection')} {ended}"


def misuse_impact(misuse: Misuse) -> str:
    """Returns which clients could not work because of it."""
    n = len(misuse.unserved)
    if n:
        return f"{counted(n, 'client')} could not work because of it."
    if misuse.cause == "tls":
        tried = f", after trying for up to {duration(misuse.kept_out_ns)}" if misuse.kept_out_ns >= SECOND else ""
        return f"Later connections of the same hosts to it worked{tried}."
    if misuse.cause == "refused_at_times":
        return f"All of them were accepted later, after trying for up to {duration(misuse.refused_ns)}."
    if misuse.cause == "authenticates_again":
        return "They were served in between, on connections that they opened anew."
    return "All of them were served on other connections."


def misuse_known(misuse: Misuse) -> str:
    """Returns the evidence in the capture, in words."""
    if misuse.tls_given_up is not None:
        return "TLS alerts, and what the handshakes show"
    if any(use.outcome.error_name for use in misuse.uses):
        return "error codes of SASL"
    if misuse.cause == "closed_login":
        return "connections that the server closed after SaslHandshake"
    if misuse.cause == "left_login":
        return "connections that the client closed after SaslHandshake"
    if misuse.cause == "tls_since":
        return "TLS alerts in place of responses, and connections that were served without TLS at the same port"
    return "connections that brokers closed without serving them, and those that they served at the same address"


def tls_ends(misuse: Misuse, given_up: TlsGivenUp) -> dict[str, str]:
    """Returns the texts for the side that gave up TLS and for the other side. The finding tls_failed holds the details
    of certificates and hellos."""
    ends = [clients_of(misuse), place_of(misuse)]
    sender, other = ends if given_up.side == "client" else ends[::-1]
    return {"sender": sender, "other": other, "of_subject": ""}
