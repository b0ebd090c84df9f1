"""A consumer that fetched some of its topic-partitions and left others out, in which records waited.

Looks at records that waited although no Fetch asked for them, while the same client sent Fetch requests all the time.
Could be confused with a consumer that polls too rarely (slow_consumer), which sends no Fetch at all meanwhile, and with
a slow broker, which leaves requests unanswered. The capture does not show why the client left them out.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_TIMES


def _partitions(failure: Failure) -> str:
    return listed(sorted({f"{stall.topic}-{stall.partition}" for stall in failure.stalls if stall.topic is not None}))


def _sentence(failure: Failure, times: Times) -> str:
    others = (
        f": it sent {counted(failure.n_other_fetches, 'Fetch request')} for other topic-partitions meanwhile, which "
        "brokers answered"
        if failure.n_other_fetches
        else ""
    )
    left = f"{failure.subject} did not fetch {_partitions(failure)} {times.of(failure)}"
    return f"{left}, although records waited there{others}{_since(failure, times)}"


def _since(failure: Failure, times: Times) -> str:
    """Returns which error the client got before it left the topic-partition out."""
    left_at = failure.topic.left_at
    if left_at is None or left_at.refreshed_ns is None:
        return ""
    return (
        f". Before that it got {left_at.first_error_name} for {left_at.resource} at {times.at(left_at.start_ns)}, as "
        f"the leader had moved, and asked for Metadata, which was answered at {times.at(left_at.refreshed_ns)}: it "
        "knew the new leader"
    )


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    if failure.topic.left_at is not None:
        yield clients(
            f"Restart {failure.subject}, and update its library: after a leader has moved, a client may ask "
            "OffsetForLeaderEpoch whether its position is still valid, and has to fetch from the new leader then. The "
            "brokers are not the cause, and its position is not lost: no offset has to be set."
        )
        return
    yield clients(
        f"See why {failure.subject} left these topic-partitions out: its application had paused them (pause() and "
        "resume(), or back-pressure of the framework that it uses), or still had records of them to handle, so that "
        "its library fetched no more of them. Records that take long to handle, or a partition with many more "
        "records than others, are the usual reasons; a paused partition waits until it is resumed. The brokers "
        "answered what was asked."
    )


NOT_FETCHED = Kind(
    "not_fetched",
    "partitions not fetched",
    plural="times when partitions were not fetched",
    sentence=_sentence,
    advice=_advice,
    known=BY_TIMES,
    place="client",
    of_clients=True,
)
