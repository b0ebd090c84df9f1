"""A topic that was deleted and created again, while clients continued to use its old ID.

Looks at the IDs of the topic in Metadata (KIP-516) and at the errors of clients in between. Could be confused with a
topic that was missing for some time: if Metadata shows only one ID, the two look the same. Proved by the two IDs.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import duration, listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.missing_topic import RECORDS_GONE, is_about_id, which_partitions
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS


def _sentence(failure: Failure, times: Times) -> str:
    """Returns the IDs of the topic, and which clients used the ID of the deleted topic for how long."""
    first, *later = failure.topic.ids.items()
    ids = ", ".join(f"{new} (reported at {times.at(at_ns)})" for new, at_ns in later)
    stale = [row for row in failure.recoveries if is_about_id(row)]
    longest_ns = max((row.last_failed_ns - row.start_ns for row in stale), default=0)
    who, errors = listed(sorted({row.who for row in stale or failure.recoveries})), listed(sorted(failure.error_names))
    again = f"{which_partitions(failure)} was deleted and created again: its ID was {first[0]}, and is {ids}"
    refused = f": requests with the old ID failed for {duration(longest_ns)} at the longest" if longest_ns else ""
    return f"{again}. {who} got {errors} {times.of(failure)}{refused}"


def _advice(failure: Failure, _: Observed) -> Iterable[Action]:
    stale = listed(sorted({row.who for row in failure.recoveries if row.recovered_ns is None})) or "its clients"
    yield clients(f"Restart {stale}, or let the client refresh its metadata and take the new ID after such an error.")
    yield brokers(f"Find out who deleted the topic and created it again: {RECORDS_GONE}.")


RECREATED_TOPIC = Kind(
    "recreated_topic",
    "topic deleted and created again",
    plural="topics deleted and created again",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="topic",
    by_topic=True,
)
