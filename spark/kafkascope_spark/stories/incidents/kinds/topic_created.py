"""Topics that were being created while clients asked for them: they have no leaders for a moment, and none moved.

Looks at LEADER_NOT_AVAILABLE for a topic in Metadata without any of its partitions: so a broker responds that has just
created the topic because the request named it. Could be confused with partitions without a leader (no_leader), which
Metadata names one by one. Proved by the response that names leaders afterwards.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, resources
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery


def is_of_new_topic(recovery: ClientRecovery) -> bool:
    """Whether a client asked for a topic that the broker created because of that, and had its leaders later."""
    return recovery.of_topic and recovery.first_error_name == "LEADER_NOT_AVAILABLE" and not is_stuck(recovery)


def _sentence(failure: Failure, times: Times) -> str:
    who = listed(sorted({row.who for row in failure.recoveries}))
    return f"{resources(failure)} had no leaders yet, as the request of {who} had just created it, {times.of(failure)}"


def _advice(_: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Create topics before clients need them (kafka-topics.sh {observed.tool} --create), with the partitions and "
        "replicas that they are to have: one that a request creates has the brokers' defaults. "
        "auto.create.topics.enable=false of the brokers makes clients create none; they fail then where a topic is "
        "missing."
    )


TOPIC_CREATED = Kind(
    "topic_created",
    "topic being created",
    plural="topics being created",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
    by_topic=True,
)
