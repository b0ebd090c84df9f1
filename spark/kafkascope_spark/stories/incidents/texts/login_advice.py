"""Advice for clients that a listener did not let in, or not again: credentials, tokens, and authentication that a
client does at the wrong time."""

import shlex
from collections.abc import Iterable

from kafkascope_parsers.broker_clients import is_broker
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.signals.misuse import Misuse, clients_of, place_of
from kafkascope_spark.stories.incidents.texts.texts import MOST_COMMANDS
from kafkascope_spark.stories.settings import setting, settings

_IAM = "AWS_MSK_IAM"
"""The mechanism of Amazon MSK: a signed request in place of a password."""
_WRONG = ("invalid credentials", "invalid username or password")
"""Parts of the messages of brokers that do not know the user, or got another password (SCRAM, PLAIN)."""


def credentials(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if brokers did not accept credentials, by what they have to be compared with."""
    if _IAM in misuse.tried_mechanisms:
        yield clients(
            "Compare what the broker said with the IAM policies of the role that these clients have: it has to "
            "allow kafka-cluster:Connect on this cluster (and the actions on topics and groups that they need). "
            "There is no password to correct; a role of another account, or of the host instead of the pod, causes "
            "the same error."
        )
    elif misuse.let_in_at:
        yield brokers(
            f"{listed(misuse.let_in_at)} let the same hosts in with the same mechanism: compare {place_of(misuse)} "
            "with that. It may lack users that the others have (a JAAS file of its own, sasl.jaas.config of its "
            "listener), not have read the latest metadata, or reach another service for identities. The clients are "
            "not to be changed for it."
        )
    elif all(is_broker(use.client_id) for use in misuse.uses):
        yield brokers(
            "These are brokers or controllers that log in at each other: sasl.mechanism.inter.broker.protocol, "
            "sasl.mechanism.controller.protocol and the sasl.jaas.config of the listener "
            "(listener.name.NAME.MECHANISM) have to name a user that all of them know. Users of SCRAM are part of "
            "the cluster's metadata: those of controllers have to be there before the first start (kafka-storage.sh "
            "format --add-scram)."
        )
    elif misuse.tried_mechanisms == ["OAUTHBEARER"]:
        yield clients(
            "Compare the token that these clients send (its issuer, audience, scope and expiry) with what the listener "
            "expects: sasl.oauthbearer.expected.issuer, sasl.oauthbearer.expected.audience and the keys at "
            "sasl.oauthbearer.jwks.endpoint.url; then see whether clients and brokers use the same token endpoint, and "
            "whether their clocks agree. The log of the broker says what it does not accept."
        )
    else:
        yield from _passwords(misuse, observed)


def _passwords(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice about user names and passwords."""
    users = _users(observed)
    who = f" of {listed(users)}" if users else ""
    if misuse.cause == "closed_login":
        yield clients(
            "After SaslHandshake v0 a broker that refuses the token has no error for that, and closes the connection."
        )
    yield clients(
        f"Correct user name and password{who} in these clients: {setting('credentials', observed.libraries)}; or add "
        f"them to the brokers (mechanism {listed(misuse.tried_mechanisms)})."
    )
    scram = [mechanism for mechanism in misuse.tried_mechanisms if mechanism.startswith("SCRAM")]
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
    if commands:
        yield clients(f"To set a password: {'; '.join(commands[:MOST_COMMANDS])}")


def _users(observed: Observed) -> list[str]:
    return sorted({client.principal for client in observed.clients if client.principal})


def left_login(misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    """Returns the advice if clients closed their connections during login."""
    mechanisms = misuse.tried_mechanisms
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
    users = _users(observed)
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


def refused_at_times(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if brokers refused credentials that they accepted at another time."""
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


def no_longer(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if brokers no longer accept credentials that they had accepted."""
    mechanisms = listed(misuse.tried_mechanisms)
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


def before_login(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if clients send requests before they have authenticated."""
    users = _users(observed)
    as_whom = f" as {listed(users)}" if users else ""
    yield clients(
        f"No setting is missing: on other connections {clients_of(misuse)} authenticates{as_whom} and is served. "
        "Sending requests on a new connection before authentication is a bug of the client: update its library, or "
        "report it to its maintainers."
    )


def authenticates_again(_misuse: Misuse, _observed: Observed) -> Iterable[Action]:
    """Returns the advice if clients authenticate again in a way that brokers do not support."""
    yield clients(
        "Upgrade these clients to a release that authenticates again as brokers ask for it (KIP-368), or set "
        "connections.max.reauth.ms of the brokers to 0."
    )


def session_refused(misuse: Misuse, observed: Observed) -> Iterable[Action]:
    """Returns the advice if brokers refused clients that authenticated again on an open connection."""
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
