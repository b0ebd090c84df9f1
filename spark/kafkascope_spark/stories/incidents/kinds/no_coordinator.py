"""Groups and transactional ids whose coordinator nobody is: the broker that FindCoordinator names says that it is none.

Looks at NOT_COORDINATOR that goes on although clients asked FindCoordinator again. Could be confused with a coordinator
that moves: then another broker is named before long.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.texts import BY_ERRORS, resources
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    nodes = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries if row.old_node_id is not None}))
    who = f"{nodes[:1].upper()}{nodes[1:]}" if nodes else "A broker"
    return (
        f"{who} went on answering that it does not coordinate {resources(failure)} "
        f"({listed(sorted(failure.error_names))}) {times.of(failure)}, though clients asked FindCoordinator again"
    )


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        "The brokers disagree about who leads the partition of __consumer_offsets that the group belongs to "
        "(__transaction_state for a transactional id): see the log of the broker that was named, and who leads it: "
        f"kafka-topics.sh {observed.tool} --describe --topic __consumer_offsets. A restart of clients does not help."
    )


NO_COORDINATOR = Kind(
    "no_coordinator",
    "no coordinator",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="group",
)
