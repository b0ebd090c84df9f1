"""Advice for clients whose settings do not fit a listener: the values that fit, taken from clients that were served
there, and other listeners that accept the clients' settings."""

from collections.abc import Callable, Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.observed import Observed, address
from kafkascope_spark.stories.incidents.signals.listener_use import HTTP, TLS
from kafkascope_spark.stories.incidents.signals.misuse import Cause, Misuse, clients_of, place_of
from kafkascope_spark.stories.incidents.texts import login_advice
from kafkascope_spark.stories.incidents.texts.misuse_sentences import tls_ends
from kafkascope_spark.stories.settings import setting, settings
from kafkascope_spark.stories.tls_words import what_to_change


def what_fits(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice."""
    yield from _ADVICE[misuse.cause](misuse, observed)


def _tls(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns what to compare, by the alert. If a listener was trusted before, the change is at the listener and not at
    its clients."""
    if misuse.tls_given_up is not None and misuse.is_tls_changed:
        place = place_of(misuse)
        yield brokers(
            f"See what changed about the certificate of {place} (ssl.keystore.location, also set at run time): "
            "whether it has expired, is signed by another authority, or lacks a name. Until its clients trust the "
            "new one, restore the former certificate of the listener; to change the authority, let clients trust "
            "both first. Open connections keep working until they end: more clients fail then. What it shows now: "
            f"openssl s_client -connect {misuse.servers[0]} -showcerts."
        )
    elif misuse.tls_given_up is not None:
        values = tls_ends(misuse, misuse.tls_given_up)
        yield clients(what_to_change(misuse.tls_given_up.reason, observed.libraries, values))


def _http(_misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    yield clients(
        "Give this client (a browser, a health check, a REST client) the address of the service that it looks for; "
        "to check a Kafka port use a TCP check."
    )


def _proxy_header(misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    yield clients(
        f"Switch the PROXY protocol off in the load balancer {clients_of(misuse)} for these brokers (AWS: "
        "proxy_protocol_v2.enabled=false of the target group; HAProxy: no send-proxy; nginx: no proxy_protocol on): a "
        "broker takes the first bytes of the header for the length of a request, and closes the connection. What comes "
        "behind the load balancer is not to be changed."
    )


def _without_name(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"What stands at {place_of(misuse)} (an ingress with TLS passthrough, a route, a proxy) chooses the broker by "
        "the server name in the TLS hello, and the library of these clients sends none: use a host name and no IP "
        f"address in {setting('bootstrap', observed.libraries)}, and a library, or a release of it, that sends the "
        "name also where it does not verify it (some send none with verification of host names switched off). "
        "Certificates, limits of connections and brokers are not the cause."
    )


def _protocol(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice to use the security protocol of the listener, or another listener. A broker has no such
    setting of its own: it connects to others as its inter-broker listener says."""
    if misuse.by_brokers:
        yield brokers(
            f"A broker connects to others in this way, and no client: compare listener.security.protocol.map, "
            f"inter.broker.listener.name and security.inter.broker.protocol of {clients_of(misuse)} with those of the "
            "others, and with what they were before it was last started. Its replicas stay behind meanwhile."
        )
        return
    names = f"{setting('security', observed.libraries)} to {' or '.join(_fitting(misuse))}"
    more = ""
    if misuse.cause == "without_sasl":
        others = f" (others use {listed(misuse.mechanisms)} there)" if misuse.mechanisms else ""
        more = f", and {settings(('mechanism', 'credentials'), observed.libraries)}{others}"
    yield clients(
        f"In these clients set {names}, which {place_of(misuse)} accepts{more}; {_or_elsewhere(misuse, observed)}"
    )


def _fitting(misuse: Misuse) -> list[str]:
    """Returns the security protocols of the listener: those of clients that were served there, else those that are
    possible."""
    if misuse.cause == "needless_sasl":
        return sorted({use.outcome.protocol.removeprefix("SASL_") for use in misuse.uses})
    known = [protocol for protocol in misuse.protocols if protocol not in (TLS, HTTP)]
    if known:
        return known
    return ["PLAINTEXT", "SASL_PLAINTEXT"] if misuse.cause == "needless_tls" else ["SSL", "SASL_SSL"]


def _or_elsewhere(misuse: Misuse, observed: Observed) -> str:
    """Returns a listener that accepts these clients without a change, as the end of a sentence."""
    bootstrap = setting("bootstrap", observed.libraries)
    spoken = listed(sorted({use.outcome.protocol for use in misuse.uses}))
    if misuse.alternatives:
        others = ",".join(address(server) for server in misuse.alternatives)
        return f"or give them a listener that served {spoken} in the capture: {others} ({bootstrap})."
    return f"or give them a listener for {spoken} ({bootstrap}); the capture shows none that serves clients."


def _mechanism_gone(misuse: Misuse, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Compare sasl.enabled.mechanisms of {place_of(misuse)} with that of the other brokers, and with what it was "
        f"before the broker was last started: it lacks {listed(misuse.tried_mechanisms)}. Correct it there. The "
        "settings of these clients are right."
    )


def _tls_since(misuse: Misuse, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Compare listener.security.protocol.map and listeners of {place_of(misuse)} with those of the other brokers, "
        "and with what they were before the broker was last started: this listener speaks TLS. Correct it there. The "
        "settings of these clients are right; to change clients to TLS, give the brokers a second listener first."
    )


def _mechanism(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    others = f", for example {listed(misuse.mechanisms)}, which others use there," if misuse.mechanisms else ""
    yield clients(
        f"Set {setting('mechanism', observed.libraries)} of these clients (now {listed(misuse.tried_mechanisms)}) to "
        f"one that the listener supports{others} or add theirs to sasl.enabled.mechanisms of the brokers."
    )


_ADVICE: dict[Cause, Callable[[Misuse, Observed], Iterable[Action]]] = {
    "http": _http,
    "proxy_header": _proxy_header,
    **dict.fromkeys(("needless_tls", "without_tls", "without_sasl", "needless_sasl"), _protocol),
    "tls_since": _tls_since,
    "without_name": _without_name,
    "before_login": login_advice.before_login,
    "mechanism": _mechanism,
    "mechanism_gone": _mechanism_gone,
    "credentials": login_advice.credentials,
    "left_login": login_advice.left_login,
    "closed_login": login_advice.credentials,
    "refused_at_times": login_advice.refused_at_times,
    "no_longer": login_advice.no_longer,
    "authenticates_again": login_advice.authenticates_again,
    "session_refused": login_advice.session_refused,
    "tls": _tls,
}
