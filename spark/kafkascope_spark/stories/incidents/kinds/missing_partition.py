"""Partitions that a topic does not have, although it has others.

Looks at UNKNOWN_TOPIC_OR_PARTITION that lasted for partitions which Metadata never named, of a topic of which it named
others. Could be confused with a topic that is missing as a whole (missing_topic); with one that was deleted and created
again (recreated_topic); and with a partition that moved to another broker (stale_client).
"""

import shlex
from collections.abc import Iterable

from kafkascope_parsers.api_keys import METADATA
from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.failures.topics import partitions_of
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS


def lacking(failure: Failure) -> list[int]:
    """Returns the partitions that clients asked for and that the topic does not have; empty where the topic itself was
    missing: Metadata names it without a partition, and a deletion takes all of them."""
    rows = failure.recoveries
    asked = set(partitions_of(rows))
    is_of_partitions = bool(asked) and all(row.first_api_key != METADATA for row in rows)
    if not is_of_partitions or failure.topic.deletion is not None or not failure.topic.known_partitions:
        return []
    return [] if asked & failure.topic.known_partitions else sorted(asked)


def _sentence(failure: Failure, times: Times) -> str:
    who = listed(sorted({row.who for row in failure.recoveries}))
    return (
        f"{failure.subject} has {counted(len(failure.topic.known_partitions), 'partition')}, and {who} asked for "
        f"partition {listed([str(number) for number in lacking(failure)])} ({listed(sorted(failure.error_names))}) "
        f"{times.of(failure)}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"The topic is there: let these clients use the {counted(len(failure.topic.known_partitions), 'partition')} "
        "that Metadata names. A partition that a partitioner computes or a setting names has to be below that number; "
        "after a topic was created again with fewer partitions, restart clients that know the former ones."
    )
    yield brokers(
        "Or add partitions, if so many are meant; keys are then given to other partitions than before: kafka-topics.sh "
        f"{observed.tool} --alter --topic {shlex.quote(failure.subject)} --partitions "
        f"{max(partitions_of(failure.recoveries), default=0) + 1}"
    )


MISSING_PARTITION = Kind(
    "missing_partition",
    "partition missing",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
    by_topic=True,
)
