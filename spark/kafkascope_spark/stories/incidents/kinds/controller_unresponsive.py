"""A KRaft controller that is not a broker did not respond, although its connections did not end: it was silent or
frozen.

Looks at the same states as controller_down, where the connections end. Could be confused with the same failures.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.controller_down import controller_sentence
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the process, the host and the network of {failure.subject} for that time: a long garbage collection, "
        "a disk that does not respond, a stopped virtual machine, a link. With three controllers or more another one "
        "takes over."
    )


CONTROLLER_UNRESPONSIVE = Kind(
    "controller_unresponsive",
    "controller unresponsive",
    plural="controllers unresponsive",
    sentence=controller_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    of_broker=True,
)
