"""A broker whose kernel acknowledged data while its process sent nothing: the kernel shows that the path works.

Looks at requests that were acknowledged and not answered, on all connections of all hosts that used it. Could be
confused with broker_slow, where some responses come; with long polls, which are answered when their time is over; and
with a broker that waits for its replicas (acks=all), which answers other requests. Proved by the acknowledgments, and
by other brokers that answered the same hosts meanwhile.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import (
    BY_STATES,
    faster,
    hosts_waiting,
    named,
    reaction,
    sooner,
    sooner_fenced,
)


def _sentence(failure: Failure, times: Times) -> str:
    return (
        f"{named(failure)} was frozen {times.of(failure)}: its kernel acknowledged data, and its process sent "
        f"nothing while {hosts_waiting(failure)}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the process of {failure.subject} for that time: a long garbage collection (-Xlog:gc*), a disk that "
        "does not respond (iostat -x 1), swapping, a stopped container or virtual machine."
    )
    if failure.course and failure.end_ns is not None and not _was_replaced(failure):
        return
    yield from sooner(failure, [sooner_fenced(failure)] if reaction(failure) is not None else [], faster(observed))


def _was_replaced(failure: Failure) -> bool:
    """Whether another broker took over. Where none did, clients that notice the broker sooner are not served sooner."""
    return any(each.step in ("detected", "failed_over") for each in failure.course)


BROKER_FROZEN = Kind(
    "broker_frozen",
    "broker frozen",
    sentence=_sentence,
    advice=_advice,
    known=BY_STATES,
    place="broker",
    states=frozenset({"frozen"}),
    of_broker=True,
    cuts_clients=True,
)
