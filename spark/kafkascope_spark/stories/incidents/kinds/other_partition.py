"""A broker that answered about a topic-partition for which the client had not asked.

Looks at errors for a topic-partition that no request with such an error named, while the client went on with the same
requests. Could be confused with a client with stale metadata (stale_client), whose requests name the topic-partition;
Fetch requests that continue a fetch session name only what changes, and prove nothing. Proved by the topic-partitions
of the request and of its response.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import resources


def _sentence(failure: Failure, times: Times) -> str:
    n = sum(row.n_errors for row in failure.recoveries)
    who = listed(sorted({row.who for row in failure.recoveries}))
    return (
        f"Node {failure.node_id} answered requests of {who} for {listed(sorted(failure.topic.named))} with "
        f"{counted(n, 'error')} ({listed(sorted(failure.error_names))}) about {resources(failure)} "
        f"{times.of(failure)}, for which {who} had not asked"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        "A response has to name the topic-partitions of its request: look at what answers at that address (its "
        "release, or a proxy or gateway in front of it), and report it there. Neither the client nor a leader that "
        "moved is the cause."
    )


OTHER_PARTITION = Kind(
    "other_partition",
    "response about another partition",
    plural="responses about another partition",
    sentence=_sentence,
    advice=_advice,
    known="the topic-partitions of requests and of their responses",
    place="broker",
)
