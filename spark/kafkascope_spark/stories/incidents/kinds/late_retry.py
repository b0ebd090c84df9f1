"""A client that was refused for a moment, and sent the same again only much later.

Looks at stalls that nothing else explains, and at errors that are over after a moment (CONCURRENT_TRANSACTIONS while
the transaction before is completed), after which the client paused for at least half of its stall. Could be confused
with a broker that refuses again and again, which is an incident of that error. Proved by the request that succeeded as
soon as it was sent again.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration, listed, times
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import lower, resources


def _sentence(failure: Failure, when: Times) -> str:
    n = sum(row.n_errors for row in failure.recoveries)
    paused_ns = max(((row.retried_ns or 0) - row.last_failed_ns for row in failure.recoveries), default=0)
    return (
        f"{failure.subject} got {listed(sorted(failure.error_names))} {times(n)} for {resources(failure)} "
        f"{when.of(failure)}, and sent the same again up to {duration(paused_ns)} later, which succeeded"
    )


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield clients("Such an error is over after a moment: a client has to try again soon.")
    yield from lower(("resend_wait",), observed, "send the same again")


LATE_RETRY = Kind(
    "late_retry",
    "client tried again late",
    plural="clients tried again late",
    sentence=_sentence,
    advice=_advice,
    known="error codes, and the time of the request that succeeded",
    place="client",
)
