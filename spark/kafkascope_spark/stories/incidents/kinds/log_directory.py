"""A broker lost one of its log directories: the disk is full, read-only or broken.

Looks at KAFKA_STORAGE_ERROR, which a broker returns for the replicas of a directory that it has taken offline. The
broker continues with its other directories. The controller moves the leaders in the directory to other brokers; leaders
of partitions that the broker followed wait for it with acks=all until it is removed from the in-sync replicas. Could be
confused with a broker that shuts down, which returns that it is no longer the leader; proved by the error alone, which
has no other cause.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import BY_ERRORS, named, under_replicated

STORAGE_ERROR = "KAFKA_STORAGE_ERROR"


def _sentence(failure: Failure, times: Times) -> str:
    rows = [row for row in failure.recoveries if row.first_error_name == STORAGE_ERROR]
    n = sum(row.n_errors for row in rows)
    return (
        f"{named(failure)} could not use a log directory {times.of(failure)}: it returned {STORAGE_ERROR} "
        f"{times_of(n)}, for {listed(sorted({row.resource for row in rows}))}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the disks and log.dirs of {failure.subject} (full, read-only, failed): a log directory that failed "
        "stays offline until the broker is started again. What has no other replica has no leader until then: "
        f"{under_replicated(observed)}."
    )
    yield brokers(
        "Records with acks=all wait for its offline replicas until leaders drop these: a lower replica.lag.time.max.ms "
        "of the brokers (default 30000) makes that sooner."
    )


def name_broker(failure: Failure) -> None:
    """Sets the subject to the brokers that returned the errors, and node_id if it was only one."""
    nodes = sorted({row.old_node_id for row in failure.recoveries if row.old_node_id is not None})
    failure.subject = listed([f"node {node}" for node in nodes]) or "a broker"
    failure.node_id = nodes[0] if len(nodes) == 1 else None


LOG_DIRECTORY = Kind(
    "log_directory",
    "log directory failed",
    plural="log directories failed",
    sentence=_sentence,
    advice=_advice,
    known=BY_ERRORS,
    place="broker",
    errors=frozenset({STORAGE_ERROR}),
    complete=name_broker,
    serves_on=True,
    holds_replicas=True,
)
