"""Clients whose requests waited behind their own earlier ones on the connection.

Looks at stalls that nothing else explains, in which most responses were late, and the broker itself took less than half
a second for each of them: it serves the requests of a connection one after the other. Could be confused with a slow
broker, which takes long for single requests too. Proved by the times of the responses before them on the connection.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_TIMES, late
from kafkascope_spark.stories.settings import settings


def _sentence(failure: Failure, times: Times) -> str:
    own = duration(failure.responses.latencies.total().longest_own_ns)
    return (
        f"Requests of {failure.subject} waited behind earlier ones of the same connection {times.of(failure)}: "
        f"{late(failure)}, while the broker itself took at most {own} for one"
    )


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    larger = settings(("batch_size", "linger", "compression"), observed.libraries)
    how = f" ({larger})" if larger else ""
    yield clients(
        "A broker answers the requests of a connection one after the other, and the client sent more than that: "
        f"let it send fewer and larger requests{how}, or fewer records."
    )


QUEUED_REQUESTS = Kind(
    "queued_requests",
    "requests queued in the client",
    plural="times requests queued in clients",
    sentence=_sentence,
    advice=_advice,
    known=BY_TIMES,
    place="client",
)
