"""Requests that a quota throttled.

Looks at throttle times in responses, and at THROTTLING_QUOTA_EXCEEDED. Could be confused with a slow broker, which
returns no throttle time. Proved by the throttle time in the response (KIP-219: the broker also reads nothing from the
connection during that time).
"""

import shlex
from collections.abc import Iterable

from kafkascope_parsers.error_facts import errors_about
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, MOST_COMMANDS
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    return f"A quota held back {failure.subject} {times.of(failure)}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    apis = held_back(failure)
    rates = ",".join(f"{quota}=RATE" for quota in dict.fromkeys(_QUOTAS[api] for api in apis if api in _QUOTAS))
    entities = sorted({entity for client in observed.clients if (entity := _quota_entity(client))})
    kinds = {"users" if client.principal else "clients" for client in observed.clients} or {"clients"}
    shown = (f"kafka-configs.sh {observed.tool} --describe --entity-type {kind}" for kind in sorted(kinds))
    yield brokers(f"What the quotas are, which each broker applies by itself: {'; '.join(shown)}.")
    if rates and entities:
        raised = (f"kafka-configs.sh {observed.tool} --alter {entity} --add-config {rates}" for entity in entities)
        yield brokers(f"To raise them: {'; '.join(list(raised)[:MOST_COMMANDS])}.")
    if not set(apis).isdisjoint(_BYTE_RATES):
        less = settings(("compression", "fetch_min"), observed.libraries)
        yield clients(f"Or let them ask for less: {less}." if less else "")
    if not set(apis).isdisjoint(_MUTATIONS):
        yield clients(
            "Or let them create and delete fewer topics and partitions at once: each partition counts (KIP-599), and a "
            "client that asks again before its throttle time is over is refused again."
        )


_BYTE_RATES = {"Produce": "producer_byte_rate", "Fetch": "consumer_byte_rate"}
_MUTATIONS = dict.fromkeys(("CreatePartitions", "CreateTopics", "DeleteTopics"), "controller_mutation_rate")
_QUOTAS = _BYTE_RATES | _MUTATIONS
"""The quota that throttles requests of an API; request_percentage may throttle all of them."""


def _quota_entity(client: AffectedClient) -> str:
    """Returns the options of kafka-configs.sh for the quotas of a client: those of its user, if the capture shows
    one."""
    if client.principal:
        return f"--entity-type users --entity-name {shlex.quote(client.principal.removeprefix('User:'))}"
    if client.client_id:
        return f"--entity-type clients --entity-name {shlex.quote(client.client_id)}"
    return ""


def held_back(failure: Failure) -> list[str]:
    """Returns the APIs whose requests a quota throttled."""
    return sorted(resource.removeprefix("quota: ") for resource in failure.resources)


def _complete(failure: Failure) -> None:
    """Sets the subject to the APIs whose requests were throttled."""
    failure.subject = f"{listed(held_back(failure))} requests"


QUOTA = Kind(
    "quota",
    "quota exceeded",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="principal",
    errors=errors_about("quota"),
    holds_back=True,
    complete=_complete,
)
