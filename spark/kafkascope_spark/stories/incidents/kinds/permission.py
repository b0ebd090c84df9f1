"""Access that brokers denied.

Looks at authorization errors, with their principal, operation and resource. The operation that an API needs is from
Kafka's documentation, "Operations and Resources on Protocols". Could be confused with a missing topic, as brokers also
deny access to missing topics if the principal may not describe them. Names come from the wire and are quoted for a
shell.
"""

import shlex
from collections.abc import Iterable

from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import PERMISSION_DENIED
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.failures.topics import topic_of
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, MOST_COMMANDS
from kafkascope_spark.stories.recoveries.table import Recovery

_OPERATION = {
    api_keys.PRODUCE: "Write",
    api_keys.FETCH: "Read",
    api_keys.SHARE_FETCH: "Read",
    api_keys.OFFSET_COMMIT: "Read",
    api_keys.JOIN_GROUP: "Read",
    api_keys.SYNC_GROUP: "Read",
    api_keys.HEARTBEAT: "Read",
    **dict.fromkeys(api_keys.GROUP_HEARTBEATS, "Read"),
    api_keys.INIT_PRODUCER_ID: "Write",
    api_keys.ADD_PARTITIONS_TO_TXN: "Write",
    api_keys.ADD_OFFSETS_TO_TXN: "Write",
    api_keys.END_TXN: "Write",
    api_keys.TXN_OFFSET_COMMIT: "Read",
}
_LEAST = "Describe"
"""Operation that all other APIs need."""


def _sentence(failure: Failure, times: Times) -> str:
    return f"Access to {_what(failure)} was denied ({listed(sorted(failure.error_names))}) {times.of(failure)}"


def _what(failure: Failure) -> str:
    """Returns the kind of the denied resource and its name, where all errors are about that resource."""
    kinds = {row.first_error_name.partition("_AUTHORIZATION")[0] for row in failure.recoveries}
    kind = kinds.pop().lower().replace("_", " ") if len(kinds) == 1 else ""
    return f"{kind} {failure.subject}" if kind in ("group", "topic", "transactional id") else failure.subject


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(f"Grant what was denied: {'; '.join(_grants(failure, observed))}")


def _grants(failure: Failure, observed: Observed) -> list[str]:
    """Returns the commands that grant the access, sorted; PRINCIPAL stands for a principal that the capture does not
    show."""
    denied = (row for row in failure.recoveries if row.first_error_name in PERMISSION_DENIED)
    return sorted({_grant(row, observed) for row in denied})[:MOST_COMMANDS]


def _grant(row: Recovery, observed: Observed) -> str:
    option, name = _resource(row)
    operation = _LEAST if row.first_api_key is None else _OPERATION.get(row.first_api_key, _LEAST)
    if option == "--group":
        operation = "Read"  # its members need that for all but looking it up
    if option == "--transactional-id":
        operation = "Write"  # likewise its producers
    if option == "--cluster" and row.first_api_key == api_keys.INIT_PRODUCER_ID:
        operation = "IdempotentWrite"
    resource = option if name is None else f"{option} {shlex.quote(name)}"
    client = observed.client(row.client_instance_id)
    user = (client and client.principal) or "PRINCIPAL"
    principal = shlex.quote(user if user.startswith("User:") else f"User:{user}")
    return f"kafka-acls.sh {observed.tool} --add --allow-principal {principal} --operation {operation} {resource}"


def _resource(row: Recovery) -> tuple[str, str | None]:
    """Returns the option of kafka-acls.sh for the denied resource, and the resource's name."""
    error, name = row.first_error_name, row.resource
    if error == "CLUSTER_AUTHORIZATION_FAILED":
        return "--cluster", None
    if error == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        return "--transactional-id", name
    if error == "GROUP_AUTHORIZATION_FAILED":
        return "--group", name
    return "--topic", topic_of(row) or "TOPIC"


PERMISSION = Kind(
    "permission",
    "permission denied",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="principal",
    errors=PERMISSION_DENIED,
    by_topic=True,
)
