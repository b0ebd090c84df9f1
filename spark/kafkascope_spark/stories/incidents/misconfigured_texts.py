"""Texts and advice of incidents of clients whose settings do not fit a listener: the values that fit, taken from
clients that were served there, and other listeners that accept the clients' settings."""

import shlex
from collections.abc import Callable, Iterable

from kafkascope_parsers.broker_clients import is_broker
from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failure import SECOND
from kafkascope_spark.stories.incidents.kinds.texts import MOST_COMMANDS
from kafkascope_spark.stories.incidents.listener_use import HTTP, TLS
from kafkascope_spark.stories.incidents.misuse import Cause, Misuse, clients_of, place_of
from kafkascope_spark.stories.incidents.observed import Observed, address
from kafkascope_spark.stories.model import TlsGivenUp
from kafkascope_spark.stories.settings import setting, settings
from kafkascope_spark.stories.tls_words import what_to_change, why

_IAM = "AWS_MSK_IAM"
"""The mechanism of Amazon MSK: a signed request in place of a password."""
_WRONG = ("invalid credentials", "invalid username or password")
"""Parts of the messages of brokers that do not know the user, or got another password (SCRAM, PLAIN)."""
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
        values = _ends(misuse, misuse.tls_given_up)
        said = f"{values['sender']} {why(misuse.tls_given_up.reason, values)}"
        before = " (connections of the same addresses had worked until then)" if misuse.is_tls_changed else ""
        said = f"{said[0].upper()}{said[1:]}{before}"
        return f"{said}: {counted(misuse.n_connections, 'connection')} failed"
    did = _DID[misuse.cause].format(who=clients_of(misuse), place=place_of(misuse))
    mechanisms = _mechanisms(misuse)
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


def what_fits(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice."""
    yield from _ADVICE[misuse.cause](misuse, observed)


def _ends(misuse: Misuse, given_up: TlsGivenUp) -> dict[str, str]:
    """Returns the texts for the side that gave up TLS and for the other side. The finding tls_failed holds the details
    of certificates and hellos."""
    ends = [clients_of(misuse), place_of(misuse)]
    sender, other = ends if given_up.side == "client" else ends[::-1]
    return {"sender": sender, "other": other, "of_subject": ""}


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
        values = _ends(misuse, misuse.tls_given_up)
        yield clients(what_to_change(misuse.tls_given_up.reason, observed.libraries, values))


def _mechanisms(misuse: Misuse) -> list[str]:
    return sorted({use.outcome.mechanism for use in misuse.uses if use.outcome.mechanism is not None})


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
        f"before the broker was last started: it lacks {listed(_mechanisms(misuse))}. Correct it there. The settings "
        "of these clients are right."
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
        f"Set {setting('mechanism', observed.libraries)} of these clients (now {listed(_mechanisms(misuse))}) to one "
        f"that the listener supports{others} or add theirs to sasl.enabled.mechanisms of the brokers."
    )


def _credentials(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    mechanisms = _mechanisms(misuse)
    users = sorted({client.principal for client in observed.clients if client.principal})
    who = f" of {listed(users)}" if users else ""
    if _IAM in mechanisms:
        yield clients(
            "Compare what the broker said with the IAM policies of the role that these clients have: it has to "
            "allow kafka-cluster:Connect on this cluster (and the actions on topics and groups that they need). "
            "There is no password to correct; a role of another account, or of the host instead of the pod, causes "
            "the same error."
        )
        return
    if misuse.let_in_at:
        yield brokers(
            f"{listed(misuse.let_in_at)} let the same hosts in with the same mechanism: compare {place_of(misuse)} "
            "with that. It may lack users that the others have (a JAAS file of its own, sasl.jaas.config of its "
            "listener), not have read the latest metadata, or reach another service for identities. The clients are "
            "not to be changed for it."
        )
        return
    if all(is_broker(use.client_id) for use in misuse.uses):
        yield brokers(
            "These are brokers or controllers that log in at each other: sasl.mechanism.inter.broker.protocol, "
            "sasl.mechanism.controller.protocol and the sasl.jaas.config of the listener "
            "(listener.name.NAME.MECHANISM) have to name a user that all of them know. Users of SCRAM are part of "
            "the cluster's metadata: those of controllers have to be there before the first start (kafka-storage.sh "
            "format --add-scram)."
        )
        return
    if mechanisms == ["OAUTHBEARER"]:
        yield clients(
            "Compare the token that these clients send (its issuer, audience, scope and expiry) with what the listener "
            "expects: sasl.oauthbearer.expected.issuer, sasl.oauthbearer.expected.audience and the keys at "
            "sasl.oauthbearer.jwks.endpoint.url; then see whether clients and brokers use the same token endpoint, and "
            "whether their clocks agree. The log of the broker says what it does not accept."
        )
        return
    if misuse.cause == "closed_login":
        yield clients(
            "After SaslHandshake v0 a broker that refuses the token has no error for that, and closes the connection."
        )
    yield clients(
        f"Correct user name and password{who} in these clients: {setting('credentials', observed.libraries)}; or add "
        f"them to the brokers (mechanism {listed(mechanisms)})."
    )
    scram = [mechanism for mechanism in mechanisms if mechanism.startswith("SCRAM")]
    if scram:
        yield clients(
            f"SCRAM users that the brokers know: kafka-configs.sh {observed.tool} --describe --entity-type users."
        )
        commands = [
            f"kafka-configs.sh {observed.tool} --alter --add-config '{mechanism}=[password=PASSWORD]' "
            f"--entity-type users --entity-name {shlex.quote(user.removeprefix('User:'))}"
            for user in users
            for mechanism in scram
        ]
        yield clients(f"To set a password: {'; '.join(commands[:MOST_COMMANDS])}" if commands else "")


def _left_login(misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    mechanisms = _mechanisms(misuse)
    how = f" ({listed(mechanisms)})" if mechanisms else ""
    yield clients(
        f"The broker supports the mechanism{how} and refused nothing: the log of these clients says why they have no "
        "credentials to send."
    )
    if "GSSAPI" in mechanisms:
        yield clients(
            "With Kerberos they probably got no ticket: check that kinit works with their keytab and principal on "
            "their host, and that the KDC knows kafka/HOST for the name under which they reach the broker "
            "(sasl.kerberos.service.name; klist, kvno kafka/HOST)."
        )


def _are_wrong(observed: Observed) -> bool:
    """Whether brokers said that they did not know the user, or that the password did not fit."""
    return any(words in message.lower() for message in observed.messages for words in _WRONG)


def _changed_meanwhile(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if brokers refused a password that they took before or afterwards."""
    users = sorted({client.principal for client in observed.clients if client.principal})
    whose = f" of {listed(users)}" if users else ""
    yield clients(
        f"For that time brokers did not know the user or the password{whose} that they took before or afterwards: ask "
        "who changed it then (an operator, a vault or a Kubernetes operator that rotates passwords). To change a "
        "password without this, give the new one to the clients at the same time, or let them use a second user "
        "meanwhile: brokers know one password for each user and SCRAM mechanism."
    )
    yield brokers(
        "See who altered users at that time (audit log, controller log). Sessions that are open go on until they "
        "authenticate again (connections.max.reauth.ms), so that clients notice it one after the other. What brokers "
        f"know now: kafka-configs.sh {observed.tool} --describe --entity-type users."
    )


def _refused_at_times(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    if _are_wrong(observed):
        yield from _changed_meanwhile(misuse, observed)
        return
    yield clients(
        "Brokers took the same credentials at another time. The logs of these clients have the broker's "
        "message: where it speaks of too many connections or "
        "logins, open fewer at a time: one client object for each process, clients that do not all start at once, "
        f"and longer pauses between attempts ({settings(('reconnect_backoff',), observed.libraries)})."
    )
    yield brokers(
        f"See what the log of {place_of(misuse)} says about these logins: a limit of connections or logins a second "
        "(a managed service has one for each broker), an identity provider that answered late, or users that were "
        "created only then."
    )


def _no_longer(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    mechanisms = listed(_mechanisms(misuse))
    yield clients(
        f"Their credentials were valid until then: they have expired, or were changed since ({mechanisms}: a "
        "delegation token, a token of OAUTHBEARER, a password that was rotated). Give these clients new ones, and "
        "restart those that keep the old ones in memory. Open connections keep working until they end: more clients "
        "fail then."
    )
    yield brokers(
        "When users and tokens expire or changed: kafka-delegation-tokens.sh "
        f"{observed.tool} --describe (delegation.token.expiry.time.ms, default a day), kafka-configs.sh "
        f"{observed.tool} --describe --entity-type users."
    )


def _before_login(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    users = sorted({client.principal for client in observed.clients if client.principal})
    as_whom = f" as {listed(users)}" if users else ""
    yield clients(
        f"No setting is missing: on other connections {clients_of(misuse)} authenticates{as_whom} and is served. "
        "Sending requests on a new connection before authentication is a bug of the client: update its library, or "
        "report it to its maintainers."
    )


def _authenticates_again(_misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    yield clients(
        "Upgrade these clients to a release that authenticates again as brokers ask for it (KIP-368), or set "
        "connections.max.reauth.ms of the brokers to 0."
    )


def _session_refused(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    if _are_wrong(observed):
        yield from _changed_meanwhile(misuse, observed)
        return
    yield clients(
        "User names and passwords are correct. A broker accepts only the same user again on an authenticated "
        "connection: a client whose user changes (accounts that a vault rotates, a token for another subject) has "
        "to close its connections before the session ends, or keep the user and change only the password or token. "
        "For OAUTHBEARER: fetch a new token before the old one expires (sasl.login.refresh.window.factor). Requests "
        "in flight fail each time and have to be sent again."
    )
    yield brokers(
        f'The log of {place_of(misuse)} says why ("Cannot change principals during re-authentication"). Sessions '
        "last for connections.max.reauth.ms; longer sessions only make it rarer."
    )


_ADVICE: dict[Cause, Callable[[Misuse, Observed], Iterable[Action]]] = {
    "http": _http,
    "proxy_header": _proxy_header,
    **dict.fromkeys(("needless_tls", "without_tls", "without_sasl", "needless_sasl"), _protocol),
    "tls_since": _tls_since,
    "without_name": _without_name,
    "before_login": _before_login,
    "mechanism": _mechanism,
    "mechanism_gone": _mechanism_gone,
    "credentials": _credentials,
    "left_login": _left_login,
    "closed_login": _credentials,
    "refused_at_times": _refused_at_times,
    "no_longer": _no_longer,
    "authenticates_again": _authenticates_again,
    "session_refused": _session_refused,
    "tls": _tls,
}
