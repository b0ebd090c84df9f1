"""Brokers that could not carry out correct requests: an exception, or too few brokers.

Looks at UNKNOWN_SERVER_ERROR and similar errors, and at their messages. Could be confused with a request that the
broker should have refused with another error: old brokers return this one for requests that they do not know. The
capture does not prove it: the broker's log has the exception.
"""

from collections.abc import Iterable

from kafkascope_parsers.api_keys import PRODUCE, SYNC_GROUP
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, refusal_kind


def _nodes(failure: Failure) -> str:
    """Returns the brokers that returned the errors, in words."""
    nodes = sorted({row.old_node_id for row in failure.recoveries if row.old_node_id is not None})
    return listed([f"node {node}" for node in nodes]) or "the broker"


def _exception(failure: Failure, _: Observed) -> Iterable[Action]:
    yield brokers(
        f"Look at the log of {_nodes(failure)} for that time: the exception behind this error stands there alone."
    )
    if all(row.first_api_key == SYNC_GROUP for row in failure.recoveries):
        yield brokers(
            "In response to SyncGroup it is mostly one about the size of what the coordinator has to store of the "
            "group (members, their subscriptions and assignments): max.message.bytes of __consumer_offsets limits "
            "that. Shorter lists of topics, fewer partitions or members make it smaller."
        )


def _unavailable(failure: Failure, _: Observed) -> Iterable[Action]:
    writes = all(row.first_api_key == PRODUCE for row in failure.recoveries)
    disk = (
        " Some servers refuse all writes with this error while their disk is nearly full, and go on serving reads "
        "(Redpanda: storage_min_free_bytes): look at the free space of their disks first."
    )
    yield brokers(
        f"Look at the log of {_nodes(failure)} for that time: what answers so is up, and says itself that it cannot do "
        f"this.{disk if writes else ''}"
    )
    yield clients("Nothing has to change: they try again, and go on when the broker takes their requests.")


def _replicas(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Let brokers create topics with as many replicas as there are brokers (default.replication.factor, "
        f"num.partitions), add brokers, or create {failure.subject} by hand: kafka-topics.sh {observed.tool} --create."
    )


BROKER_ERROR = refusal_kind(
    "broker_error",
    "broker fails to do what it is asked",
    "broker",
    {
        "UNKNOWN_SERVER_ERROR": Refusal("the broker met an exception for which it has no error code", _exception),
        "BROKER_NOT_AVAILABLE": Refusal(
            "the broker answers, and says that it, or another one that it needs, is not available", _unavailable
        ),
        "INVALID_REPLICATION_FACTOR": Refusal(
            "a topic that is created when it is first asked for would need more replicas than there are brokers",
            _replicas,
        ),
    },
    own_clients=False,
)
