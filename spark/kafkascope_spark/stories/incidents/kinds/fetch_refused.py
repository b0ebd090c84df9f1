"""Records that brokers do not return to consumers: the request's version does not support their codec or format, or
they are damaged in the log.

Looks at errors about records (records_refused) that came only in responses to Fetch. Could be confused with
records_refused, where producers get the same error.
"""

import shlex
from collections.abc import Iterable
from dataclasses import replace

from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind
from kafkascope_spark.stories.settings import settings


def _codec(failure: Failure, observed: Observed) -> Iterable[Action]:
    topic = shlex.quote(failure.subject)
    yield clients(
        "Upgrade the library of these consumers to a release whose Fetch can carry the codec (zstd needs Fetch v10). "
        "Until then they read nothing of the topic; no other setting of theirs helps."
    )
    yield brokers(
        f"Or write another codec from now on: compression.type of {failure.subject} (kafka-configs.sh {observed.tool} "
        f"--entity-type topics --entity-name {topic} --describe --all), or of its producers where that is producer; "
        "records that are there stay as they are until retention deletes them."
    )


def _too_large(_: Failure, observed: Observed) -> Iterable[Action]:
    yield clients(
        f"Raise {settings(('fetch_max',), observed.libraries)} above the largest batch of the topic, "
        "or upgrade the library: since Fetch v3 brokers give at least one batch, however large."
    )


_REFUSALS = {
    "UNSUPPORTED_COMPRESSION_TYPE": Refusal(
        "the topic's records have a codec that this version of Fetch cannot carry", _codec
    ),
    "CORRUPT_MESSAGE": Refusal(
        "the broker found records damaged in its log",
        advise(
            brokers(
                "Look at the log and the disk of the leader; where another replica is sound, move the leader there. "
                "Do not delete segments before that: what no replica has is lost."
            )
        ),
    ),
    "MESSAGE_TOO_LARGE": Refusal("a batch is larger than the consumer takes", _too_large),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": Refusal(
        "the log's message format has not what the request asks for",
        advise(brokers("Raise log.message.format.version (message.format.version of the topic), or remove it.")),
    ),
}
FETCH_ERRORS = frozenset(_REFUSALS)
"""Errors about records in responses to Fetch."""
FETCH_REFUSED = replace(
    refusal_kind("fetch_refused", "records not given to consumers", "client", _REFUSALS), errors=frozenset()
)
"""Has no errors of its own: records_refused changes to this kind if all its errors are responses to Fetch."""
