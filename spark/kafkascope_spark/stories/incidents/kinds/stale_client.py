"""A client that continued to send requests to the old leader of a topic-partition without refreshing its metadata.

Looks at errors of a node while another node led the partition, according to Metadata of any client or to requests that
it served; at FENCED_LEADER_EPOCH, which by itself shows that the client knows an older epoch of the leader; and at
REPLICA_NOT_AVAILABLE, with which a former replica answers consumers that were sent to it. Could be confused with a
topic that does not exist at that time, which Metadata does not know (missing_topic); and with a broker that reports the
old leader (stale_broker). Proved by other clients that the new leader served.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import lower, resources


def _sentence(failure: Failure, times: Times) -> str:
    old = listed(sorted({f"node {row.old_node_id}" for row in failure.recoveries}))
    n = sum(row.n_errors for row in failure.recoveries)
    return (
        f"{failure.subject} kept sending requests for {resources(failure)} to {old} {times.of(failure)}, "
        f"{_without_metadata(failure)}, and got {counted(n, 'error')} ({listed(sorted(failure.error_names))}): "
        f"{_what_had_moved(failure, times)}"
    )


def _what_had_moved(failure: Failure, times: Times) -> str:
    """Returns which node was the leader instead. After a change of the epoch alone, it may be the same broker."""
    if not failure.topic.moved_to and failure.error_names == {"REPLICA_NOT_AVAILABLE"}:
        return "it has no replica there any longer"
    if not failure.topic.moved_to:
        return "the leader has a later epoch than the client knows"
    first = min(failure.topic.moved_to.values(), key=lambda leader: leader.since_ns)
    how = "led it" if first.is_reported else "served it to others"
    if len(failure.topic.moved_to) > 1:
        how = how.replace("it", "the first of them", 1)
    return f"node {first.node_id} {how}, which shows at {times.at(first.since_ns)} at the latest"


def _without_metadata(failure: Failure) -> str:
    """Returns how the client did not refresh its metadata."""
    waited = [row.refreshed_ns - row.start_ns for row in failure.recoveries if row.refreshed_ns is not None]
    if len(waited) < len(failure.recoveries):
        return "without asking for Metadata"
    return f"asked for Metadata only {duration(max(waited))} later"


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    errors = listed(sorted(failure.error_names))
    yield clients(
        f"Nothing has to be created or moved: the partition exists. Clients have to ask for Metadata after {errors}, "
        f"and then ask the leader that it names. {failure.subject} did not: restart it now, and update its library, "
        "or report that to its maintainers."
    )
    if any(row.refreshed_ns is not None for row in failure.recoveries):
        yield from lower(("metadata_age",), observed, "learn of a new leader")


STALE_CLIENT = Kind(
    "stale_client",
    "client with stale metadata",
    plural="clients with stale metadata",
    sentence=_sentence,
    advice=_advice,
    known="error codes, and who led or served the topic-partition meanwhile",
    place="client",
)
