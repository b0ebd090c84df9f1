"""Records that brokers refused because of their properties: too large, damaged, without a key, or with a wrong
timestamp.

Looks at errors and their messages for batches of a producer. Could be confused with wrong settings of the topic or
broker, which cause the same errors: they are wrong if other producers are refused at the same topic, too.
"""

import shlex
from collections.abc import Iterable
from dataclasses import replace

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.fetch_refused import FETCH_ERRORS, FETCH_REFUSED
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind
from kafkascope_spark.stories.settings import settings

_AGAIN = clients("The records that were refused are not in the log: write them again when that is fixed.")


def _configs(failure: Failure, observed: Observed) -> str:
    """Returns the command that shows the settings of the topic."""
    topic = shlex.quote(failure.subject)
    return f"kafka-configs.sh {observed.tool} --entity-type topics --entity-name {topic} --describe --all"


def _too_large(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Raise max.message.bytes of {failure.subject} (message.max.bytes of the brokers where the topic has none) "
        f"above the size of these batches, if they are meant to be so large: {_configs(failure, observed)} shows it."
    )
    yield from _send_less(observed)


def _send_less(observed: Observed) -> Iterable[Action]:
    less = settings(("batch_size", "request_size"), observed.libraries, defaults=True)
    smaller = f" ({less})" if less else ""
    yield clients(f"Or send less at once{smaller}, or compress; the same batch is refused each time.")
    yield _AGAIN


def _segments(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield brokers(
        f"Raise segment.bytes of {failure.subject} (log.segment.bytes of the brokers where the topic has none) above "
        "its max.message.bytes, or lower max.message.bytes below it: producers then get MESSAGE_TOO_LARGE, at which "
        "most of them split a batch. A larger max.message.bytes changes nothing here: "
        f"{_configs(failure, observed)} shows both."
    )
    yield from _send_less(observed)


def _timestamps(failure: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        "Give records timestamps in milliseconds since 1970, near the present: seconds, microseconds or a wrong clock "
        "are refused."
    )
    yield brokers(
        f"Or widen message.timestamp.before.max.ms and message.timestamp.after.max.ms of {failure.subject} "
        "(message.timestamp.difference.max.ms before Kafka 3.6), or use message.timestamp.type=LogAppendTime: "
        f"{_configs(failure, observed)}"
    )
    yield _AGAIN


_NO_REASON = "one or more records have been rejected"
"""Message of brokers that list the reasons by record elsewhere in the response."""


def _is_about_keys(failure: Failure) -> bool:
    """Whether brokers said that records lack a key, or did not say what is wrong with them."""
    said = [text for message in failure.messages if (text := message.lower()).rstrip(".") != _NO_REASON]
    return not said or any("without key" in text or "compacted" in text for text in said)


def _invalid(failure: Failure, observed: Observed) -> Iterable[Action]:
    if not _is_about_keys(failure):
        yield clients(
            "Write records that pass the check which the broker names. Where that is a check of schemas (a validator "
            "or interceptor at the broker, a proxy that validates records), each key and value has to begin with the "
            "id of a schema that is registered for the topic: use a serializer of the schema registry, the same "
            "registry and subject names as the broker. Brokers, partitions and the network are not the cause."
        )
        yield brokers(f"What the topic asks for: {_configs(failure, observed)}")
        yield _AGAIN
        return
    yield clients(
        "Give each record a key where the topic is compacted (cleanup.policy=compact takes none without); the "
        "broker's message and log say what else is wrong with it."
    )
    yield brokers(f"Whether the topic is compacted, and what else it asks for: {_configs(failure, observed)}")
    yield _AGAIN


_REFUSALS = {
    "CORRUPT_MESSAGE": Refusal(
        "the checksum of a batch is not that of its bytes, or its format is wrong",
        advise(
            clients(
                "Look at what makes these batches: the client library and its compression (upgrade it, try "
                "compression off), or a proxy on the way that changes bytes. A broker older than 2.4 also says "
                "this of records without a key for a compacted topic."
            ),
            _AGAIN,
        ),
    ),
    "MESSAGE_TOO_LARGE": Refusal("a batch is larger than the topic accepts", _too_large),
    "RECORD_LIST_TOO_LARGE": Refusal(
        "a batch is larger than the log's segments, though not larger than the topic accepts", _segments
    ),
    "INVALID_TIMESTAMP": Refusal("the timestamps of records are too far from the broker's clock", _timestamps),
    "INVALID_RECORD": Refusal("the broker does not accept the records as they are", _invalid),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": Refusal(
        "the log's message format is too old for what the request asks",
        advise(
            brokers("Raise log.message.format.version (message.format.version of the topic), or remove it."),
            clients(
                "Or ask for nothing that it lacks until then: below 0.11 it has neither idempotence "
                "(enable.idempotence=false) nor transactions nor headers."
            ),
            _AGAIN,
        ),
    ),
    "UNSUPPORTED_COMPRESSION_TYPE": Refusal(
        "the codec needs a newer version of the request than this one, or a newer broker than this one",
        advise(
            clients(
                "Use another compression (lz4, snappy and gzip are older than zstd, which needs Produce v7), or "
                "upgrade the library where it sends an older version of Produce."
            ),
            brokers(
                "Where it sends Produce v7 or newer, the broker does not take the codec: one older than Kafka 2.1, an "
                "inter.broker.protocol.version or message format below 2.1, or a service that takes only some codecs."
            ),
            _AGAIN,
        ),
    ),
    "INVALID_REQUIRED_ACKS": Refusal(
        "acks is none of 0, 1 and -1 (all)", advise(clients("Set acks to all, 1 or 0."), _AGAIN)
    ),
}


def _complete(failure: Failure) -> None:
    """Changes the kind to fetch_refused if all errors came in responses to Fetch."""
    of_fetch = all(row.first_api_key == api_keys.FETCH for row in failure.recoveries)
    if of_fetch and failure.error_names <= FETCH_ERRORS:
        failure.kind = FETCH_REFUSED


RECORDS_REFUSED = replace(refusal_kind("records_refused", "records refused", "client", _REFUSALS), complete=_complete)
