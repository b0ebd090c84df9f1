"""Idempotent producers whose sequence number, epoch or producer id brokers refuse.

Looks at errors about sequences, epochs and producer ids, and at other users of the transactional id. Could be confused
with another instance that took over the transactional id, which another client's InitProducerId shows; and with a
transaction that exceeded its timeout, which the coordinator aborted. Proved by the epochs in requests and responses.
"""

from collections.abc import Iterable

from kafkascope_parsers.error_facts import EPOCH_OVER
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind

_EXPIRY = "producer.id.expiration.ms (default 86400000; transactional.id.expiration.ms before Kafka 3.4)"
_NEW_EPOCH = clients(
    "Let the producer take a new epoch (InitProducerId) and begin with sequence 0: restart it, upgrade its library. "
    "Refused records are not in the log: write them again; expect duplicates where it is not known which arrived."
)


def _is_transactional(failure: Failure) -> bool:
    """Whether the producer has a transactional id, which another instance may use, too: without one, no other producer
    changes its epoch."""
    return any(row.resource_kind == "transaction" for row in failure.recoveries)


def _of_old_epoch(failure: Failure) -> str:
    if not _is_transactional(failure):
        return (
            "the broker knows a later epoch of this producer id. The producer has no transactional id, so that no "
            "other producer can have that epoch: it returned to an older epoch itself (as a library does that "
            "counts beyond the last one, 32767), or its batches arrive out of order. What it sends is refused for "
            "good"
        )
    return (
        "another instance with its transactional id has a newer epoch, or the coordinator has aborted its "
        "transaction and taken the epoch away: what it sends is refused for good"
    )


def _begin_anew(failure: Failure, _: Observed) -> Iterable[Action]:
    if not _is_transactional(failure):
        yield clients(
            "Restart the producer: it is given a new producer id, with epochs from 0. Update its library, and see "
            "what made it take new epochs so often. Refused records are not in the log: write them again."
        )
        return
    yield clients(
        "Close this producer and make a new one: it cannot go on. Give each running instance a "
        "transactional.id of its own; what it wrote in its open transaction is aborted: write it again."
    )


PRODUCER_REFUSED = refusal_kind(
    "producer_refused",
    "producer refused",
    "client",
    {
        "OUT_OF_ORDER_SEQUENCE_NUMBER": Refusal(
            "the sequence number of a batch does not follow the last one that the broker has of this producer: batches "
            "between them never arrived, or the broker has lost its state of the producer",
            advise(
                _NEW_EPOCH,
                brokers(
                    "If its leader had moved or restarted just before, or the producer had been idle for long, see "
                    f"unclean.leader.election.enable, and {_EXPIRY}."
                ),
            ),
        ),
        "UNKNOWN_PRODUCER_ID": Refusal(
            "the broker has no state of this producer any longer: the records that it had written are deleted, or it "
            "was idle for too long",
            advise(
                _NEW_EPOCH,
                brokers(f"Longer retention of the topic, or a longer {_EXPIRY}, keep that state."),
            ),
        ),
        **dict.fromkeys(
            EPOCH_OVER,
            Refusal(_of_old_epoch, _begin_anew),
        ),
        "INVALID_PRODUCER_ID_MAPPING": Refusal(
            "the coordinator does not have this producer id for the transactional id any longer",
            advise(
                clients("Restart the producer: it has to ask for a producer id again (InitProducerId)."),
                brokers("A longer transactional.id.expiration.ms (default 604800000) keeps ids of idle producers."),
            ),
        ),
    },
)
