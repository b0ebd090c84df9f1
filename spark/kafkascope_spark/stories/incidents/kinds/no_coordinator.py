"""Groups and transactional ids without a coordinator: FindCoordinator returns none during the whole time, or the broker
that it returns denies being the coordinator.

Looks at COORDINATOR_NOT_AVAILABLE in responses to FindCoordinator, and at NOT_COORDINATOR that lasts although clients
sent FindCoordinator again. Could be confused with a coordinator that moves: then FindCoordinator soon returns another
broker.
"""

from collections.abc import Iterable

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

_OF_GROUPS = "__consumer_offsets", "offsets.topic.replication.factor"
_OF_TRANSACTIONS = "__transaction_state", "transaction.state.log.replication.factor"
"""The topic whose partition leaders are the coordinators, and the broker setting that must fit for it to be created."""


def is_without_coordinator(recovery: ClientRecovery) -> bool:
    """Whether a client never learned of a working coordinator."""
    if not is_stuck(recovery):
        return False
    if recovery.first_error_name == "NOT_COORDINATOR":
        return recovery.rediscovered_ns is not None
    return _names_none(recovery)


def _names_none(recovery: ClientRecovery) -> bool:
    """Whether FindCoordinator itself returned no broker."""
    is_asked = recovery.first_api_key == api_keys.FIND_COORDINATOR
    return is_asked and recovery.first_error_name == "COORDINATOR_NOT_AVAILABLE"


def _sentence(failure: Failure, times: Times) -> str:
    if all(map(_names_none, failure.recoveries)):
        n = sum(row.n_errors for row in failure.recoveries)
        return (
            f"No broker coordinated {resources(failure)} {times.of(failure)}: FindCoordinator returned "
            f"{listed(sorted(failure.error_names))} {times_of(n)}"
        )
    nodes = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries if row.old_node_id is not None}))
    who = f"{nodes[:1].upper()}{nodes[1:]}" if nodes else "A broker"
    return (
        f"{who} kept answering that it does not coordinate {resources(failure)} "
        f"({listed(sorted(failure.error_names))}) {times.of(failure)}, although clients sent FindCoordinator again"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    if all(map(_names_none, failure.recoveries)):
        yield from _no_topic(observed)
        return
    yield brokers(
        "The brokers disagree about who leads the partition of __consumer_offsets that the group belongs to "
        "(__transaction_state for a transactional id): see the log of the broker that was named, and who leads it: "
        f"kafka-topics.sh {observed.tool} --describe --topic __consumer_offsets. A restart of clients does not help."
    )


def _no_topic(observed: Observed) -> Iterable[Action]:
    """Yields advice for the case that the topic of the coordinators does not exist or has no leader."""
    is_transactional = any(client.kind == "transactional_producer" for client in observed.clients)
    topic, factor = _OF_TRANSACTIONS if is_transactional else _OF_GROUPS
    yield brokers(
        f"See whether {topic} exists and has leaders: kafka-topics.sh {observed.tool} --describe --topic {topic}. "
        f"Brokers create it when it is first needed, with {factor} (default 3) replicas, and cannot while fewer "
        f"brokers are alive{_named(observed)}: start the others, or set it to the number of brokers that there are "
        "and restart them (with one replica, what a broker loses is lost). Where it exists without leaders, bring back "
        "the brokers that have its in-sync replicas. A restart of clients does not help."
    )


def _named(observed: Observed) -> str:
    """Returns how many brokers Metadata reported to the clients; empty if none."""
    named = {server for client in observed.clients for server in client.advertised}
    return f" (Metadata named {counted(len(named), 'broker')})" if named else ""


NO_COORDINATOR = Kind(
    "no_coordinator",
    "no coordinator",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="group",
)
