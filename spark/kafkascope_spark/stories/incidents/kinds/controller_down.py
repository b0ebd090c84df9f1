"""A KRaft controller that is not a broker was lost: while no controller is active, no leader is elected and no broker
registers.

Looks at the states of a server to which brokers have connections of controllers, and clients have none. Could be
confused with a broker that no client of the capture uses, from which followers fetch; and, if only one broker lost it,
with the path between the two. Proved by several brokers that lost it at the same time, or by its connections, which end
together.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES

_HOW = {
    "down": "its connections ended together, and new ones were refused",
    "refusing": "new connections were refused",
    "silent": "no packet came from it",
    "frozen": "its kernel acknowledged data, and its process sent nothing",
}


def controller_sentence(failure: Failure, times: Times) -> str:
    """Returns from when to when the controller was unavailable, how packets show that, and what it means."""
    states = {row.state for row in failure.states}
    how = " and ".join(text for state, text in _HOW.items() if state in states)
    meaning = (
        "Without an active controller no leader is elected and no broker registers; partitions that have a leader "
        "are still served"
    )
    return f"Controller {failure.subject.removeprefix('node ')} was unavailable {times.of(failure)}: {how}. {meaning}"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the log of {failure.subject} and at its host for that time. Run three controllers or more, so that "
        f"another one takes over: kafka-metadata-quorum.sh {observed.tool} describe --status"
    )


CONTROLLER_DOWN = Kind(
    "controller_down",
    "controller unavailable",
    plural="controllers unavailable",
    sentence=controller_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    of_broker=True,
    restarts=True,
)
