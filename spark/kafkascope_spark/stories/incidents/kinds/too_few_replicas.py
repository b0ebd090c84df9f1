"""Writes that wait for replicas, or are refused for lack of them, without a failed broker or path that explains it.

Looks at NOT_ENOUGH_REPLICAS and REQUEST_TIMED_OUT, and at the in-sync replicas in Metadata. Could be confused with a
failed follower outside of the capture; with a min.insync.replicas above the number of replicas, where all writes fail
from the begin; and with a transaction coordinator that did not respond, which the broker's message names. Proved by the
in-sync replicas before and after.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, refusal_kind

_UNDERLYING = "Underlying error"
"""Begin of the message of a leader that could not reach the transaction's coordinator (KIP-890)."""


def _too_few(failure: Failure, observed: Observed) -> Iterable[Action]:
    if failure.messages and all(_UNDERLYING in message for message in failure.messages):
        yield brokers(
            "The replicas are not the cause: the leaders could not ask the coordinator of the transaction. Look at it, "
            "and at the way to it from the leaders, for that time."
        )
        return
    yield brokers(
        "Bring back the brokers that have its replicas, and see why followers lag: kafka-topics.sh "
        f"{observed.tool} --describe --under-min-isr-partitions. A topic whose min.insync.replicas equals its number "
        "of replicas takes no writes while one broker is away: add a replica. A lower min.insync.replicas takes them, "
        "and loses what was acknowledged where the fewer replicas fail."
    )


TOO_FEW_REPLICAS = refusal_kind(
    "too_few_replicas",
    "too few replicas in sync",
    "topic",
    {
        "NOT_ENOUGH_REPLICAS": Refusal("fewer replicas than min.insync.replicas were in sync", _too_few),
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND": Refusal(
            "fewer replicas than min.insync.replicas were in sync, and the leader had written the batch all the same",
            _too_few,
        ),
        "REQUEST_TIMED_OUT": Refusal("the replicas in sync did not have the records in time", _too_few),
    },
    own_clients=False,
)
