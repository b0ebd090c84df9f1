"""Topic-partitions for which brokers named no leader, for as long as clients asked.

Looks at LEADER_NOT_AVAILABLE. Could be confused with a leader that moves: then brokers name the next one before long.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failure import Failure, Kind
from kafkascope_spark.stories.incidents.kinds.texts import BY_ERRORS, resources
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.times import Times


def _sentence(failure: Failure, times: Times) -> str:
    return f"{resources(failure)} had no leader {times.of(failure)} ({listed(sorted(failure.error_names))})"


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        "Bring back the brokers that have its in-sync replicas: another leader would lose records (an unclean "
        f"election). Which ones: kafka-topics.sh {observed.tool} --describe --unavailable-partitions"
    )


NO_LEADER = Kind(
    "no_leader",
    "no leader",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
)
