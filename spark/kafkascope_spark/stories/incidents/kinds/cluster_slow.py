"""Several brokers that responded late to all hosts, without a quicker broker to compare them with.

Looks at stalls that nothing else explains while most responses of these brokers were late. Could be confused with one
replica that all of them wait for (acks=all), with a network that delays everything, and with clients that send more
than the cluster can handle. If they were slow from the begin of the capture, their usual time is not known.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_TIMES, late, named


def _sentence(failure: Failure, times: Times) -> str:
    return f"{named(failure)} responded late {times.of(failure)}: {late(failure)}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the load of {failure.subject} for that time: processors, disks (iostat -x 1), request queues and "
        "handler threads (RequestQueueTimeMs, RequestHandlerAvgIdlePercent), and at the time that replicas take "
        "(RemoteTimeMs)."
    )


CLUSTER_SLOW = Kind(
    "cluster_slow",
    "cluster slow",
    plural="cluster slow",
    sentence=_sentence,
    advice=_advice,
    known=BY_TIMES,
    place="cluster",
)
