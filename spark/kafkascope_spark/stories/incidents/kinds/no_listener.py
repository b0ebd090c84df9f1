"""Topic-partitions whose leader has no listener of the name that clients used.

Looks at LISTENER_NOT_FOUND in Metadata that lasted: a broker answers with the addresses of the listener on which it was
asked, and the leader advertises none of that name. Could be confused with a leader that moves (leader_move), and with a
broker that is down: then Metadata soon names another leader.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

LISTENER_NOT_FOUND = "LISTENER_NOT_FOUND"


def is_without_listener(recovery: ClientRecovery) -> bool:
    """Whether a client was never told an address of the leader."""
    return is_stuck(recovery) and recovery.first_error_name == LISTENER_NOT_FOUND


def _sentence(failure: Failure, times: Times) -> str:
    return (
        f"The leader of {resources(failure)} advertises no listener like the one on which "
        f"{listed(sorted({row.who for row in failure.recoveries}))} asked ({LISTENER_NOT_FOUND}) {times.of(failure)}: "
        "Metadata names no leader for it"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Find the leader (kafka-topics.sh {observed.tool} --describe --unavailable-partitions, better on the listener "
        "between brokers), and give it the same listener names as the other brokers: listeners, "
        "advertised.listeners and listener.security.protocol.map have to name the same listeners on all of them. "
        "Nothing is to be changed about the topic or the clients."
    )


NO_LISTENER = Kind(
    "no_listener",
    "leader without the clients' listener",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
)
