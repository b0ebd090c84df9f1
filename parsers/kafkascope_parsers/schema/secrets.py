"""The secret fields, and the conditions under which they are secret: only their length, never their content, may reach
a table, a log, a report or an error.

This is the only list of them. A field of type `records` is record data and needs no entry. Keys are message names as in
Kafka, and paths as in Node.path. Code that renders a message uses `secret_when` (also in Node.secret) and, for tags
that no version has, `hides_unknown_tags`.

Data without a field is secret, too: SASL tokens without a request around them, and bytes of undecoded messages
(exchanges.undecoded shows none of them).
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretWhen:
    """The condition under which the content of a field is secret, by other fields of the same or an enclosing struct.
    Without a condition it always is.

    sensitive   paths of bools: true
    names       paths of names of configurations: is_secret_name
    types       paths of types of configurations: PASSWORD
    is_report   the field is a text of a broker about a request: secret if it may repeat a secret value
    """

    sensitive: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    is_report: bool = False


ALWAYS, IN_REPORT = SecretWhen(), SecretWhen(is_report=True)
PASSWORD_TYPE = 9
"""org.apache.kafka.clients.admin.ConfigEntry.ConfigType.PASSWORD, as DescribeConfigs writes it."""


def _config(struct: str, name: str = "name", *, sensitive: bool = False, typed: bool = False) -> dict[str, SecretWhen]:
    """Returns the condition for the value of a configuration. name: field of its name; sensitive, typed: whether the
    struct has is_sensitive and config_type."""
    flags = (f"{struct}.is_sensitive",) if sensitive else ()
    types = (f"{struct}.config_type",) if typed else ()
    return {f"{struct}.value": SecretWhen(flags, (f"{struct}.{name}",), types)}


def _described_configs(struct: str) -> dict[str, SecretWhen]:
    """Returns the conditions for the value of a configuration in a DescribeConfigs response, and for its synonyms: a
    sensitive configuration has only sensitive synonyms."""
    of_config = _config(struct, sensitive=True, typed=True)
    when = of_config[f"{struct}.value"]
    synonyms = f"{struct}.synonyms[]"
    of_synonym = SecretWhen(when.sensitive, (*when.names, f"{synonyms}.name"), when.types)
    return of_config | {f"{synonyms}.value": of_synonym}


def _streams_configs(topology: str) -> dict[str, SecretWhen]:
    """Returns the conditions for configurations of the internal topics of a Streams application."""
    topics = ("state_changelog_topics", "repartition_source_topics")
    places = [f"{topology}.subtopologies[].{name}[].topic_configs[]" for name in topics]
    return {path: when for place in places for path, when in _config(place, "key").items()}


SECRETS: dict[str, dict[str, SecretWhen]] = {
    # SASL tokens: PLAIN contains the password, SCRAM its proofs, OAUTHBEARER the token.
    "SaslAuthenticateRequest": {"auth_bytes": ALWAYS},
    "SaslAuthenticateResponse": {"auth_bytes": ALWAYS},
    # The HMAC of a delegation token is its password.
    "CreateDelegationTokenResponse": {"hmac": ALWAYS},
    "RenewDelegationTokenRequest": {"hmac": ALWAYS},
    "ExpireDelegationTokenRequest": {"hmac": ALWAYS},
    "DescribeDelegationTokenResponse": {"tokens[].hmac": ALWAYS},
    "AlterUserScramCredentialsRequest": {"upsertions[].salt": ALWAYS, "upsertions[].salted_password": ALWAYS},
    # A client may set a configuration of a plugin, whose name does not show that it is a password.
    "AlterConfigsRequest": {"resources[].configs[].value": ALWAYS},
    "IncrementalAlterConfigsRequest": {"resources[].configs[].value": ALWAYS},
    "CreateTopicsRequest": _config("topics[].configs[]"),
    "CreateTopicsResponse": _config("topics[].configs[]", sensitive=True),
    "DescribeConfigsResponse": _described_configs("results[].configs[]"),
    "StreamsGroupHeartbeatRequest": _streams_configs("topology") | _config("client_tags[]", "key"),
    "StreamsGroupDescribeResponse": _streams_configs("groups[].topology")
    | _config("groups[].members[].client_tags[]", "key"),
    # A whole request or response of another API with all its contents, and its principal.
    "EnvelopeRequest": {"request_data": ALWAYS, "request_principal": ALWAYS},
    "EnvelopeResponse": {"response_data": ALWAYS},
}


def api_of(message: str) -> str:
    """Returns the API of a request or response."""
    return message.removesuffix("Request").removesuffix("Response")


APIS_WITH_SECRETS = frozenset(api_of(message) for message in SECRETS)
"""APIs with a secret field in either direction."""
APIS_ABOUT_SECRETS = APIS_WITH_SECRETS | {"SaslHandshake", "DescribeUserScramCredentials"}
"""APIs with secret fields, and APIs about credentials that have no secret field today: unknown fields of them may be
secret."""
APIS_WITH_RECORDS = frozenset({"Produce", "Fetch", "ShareFetch", "FetchSnapshot"})
"""APIs with record data (a field of type `records`)."""
_REPORTS = ("error_message", "status_detail")
"""Names of fields with a text of the broker about the request."""

_SECRET_ENDS = (
    "(password|passwd|passphrase|secret)",
    "(^|[._-])(key|token|credentials?)",
    "jaas[._-]config",
    "keystore[._-](location|certificate[._-]chain)",
    "truststore[._-]certificates",
    "auth[._-]user[._-]info",
)
SECRET_NAME = f"(?i)({'|'.join(_SECRET_ENDS)})[^A-Za-z0-9_]*$"
"""Names of configurations whose values are secret, by their end: a listener or a client may stand before them. Kafka
types as PASSWORD: *.password, sasl.jaas.config, ssl.keystore.key, ssl.keystore.certificate.chain,
ssl.truststore.certificates, delegation.token.master.key, delegation.token.secret.key, password.encoder.secret,
password.encoder.old.secret, and secrets and passphrases of OAuth (SslConfigs, SaslConfigs, BrokerSecurityConfigs).
The other words are those of registries and plugins. A pattern for Python's `re` and for RE2."""
_SECRET_NAME = re.compile(SECRET_NAME)


def is_secret_name(name: str) -> bool:
    """Whether the values of a configuration of this name are secret."""
    return _SECRET_NAME.search(name) is not None


def secret_when(message: str, path: str) -> SecretWhen | None:
    """Returns the condition under which the field at a path of a message is secret; None for never."""
    is_report = message.endswith("Response") and path.rpartition(".")[2] in _REPORTS
    if is_report and api_of(message) in APIS_WITH_SECRETS:
        return IN_REPORT
    return SECRETS.get(message, {}).get(path)


def hides_unknown_tags(message: str) -> bool:
    """Whether only the lengths of a message's unknown tags may be shown: newer versions of messages about secrets, or
    with record data, may have such data in them."""
    return api_of(message) in APIS_ABOUT_SECRETS | APIS_WITH_RECORDS
