"""Requests that brokers refuse because of their contents or the client's settings.

Looks at errors about the request itself, and their messages. Could be confused with a broker of another release that
refuses requests which others accept: compare other clients' requests of the same kind and version.
"""

from dataclasses import replace

from kafkascope_spark.stories.findings.wording import duration
from kafkascope_spark.stories.incidents.actions import brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind

_LIBRARY = clients("This is a fault of the library: upgrade it, or report it to its maintainers with these packets.")

TIMED_OUT = "REQUEST_TIMED_OUT"


def _waits(failure: Failure) -> str:
    """For how long the requests let brokers wait for replicas."""
    longest = duration(failure.responses.longest_answer_ns)
    return (
        f"its requests let brokers wait for replicas for no longer than {longest} (the timeout of Produce), and "
        "brokers return this error after that; the records are written all the same"
    )


_REFUSALS = {
    "INVALID_TRANSACTION_TIMEOUT": Refusal(
        "its transaction timeout is longer than the brokers allow, so that the producer never starts",
        advise(
            clients(
                "Lower transaction.timeout.ms of the producer to at most transaction.max.timeout.ms of the brokers "
                "(default 900000; Flink's sink asks for 3600000 by default)."
            ),
            brokers(
                "Or raise transaction.max.timeout.ms on all brokers; what such a transaction leaves open holds "
                "back readers of committed records for as long."
            ),
        ),
    ),
    "OFFSET_METADATA_TOO_LARGE": Refusal(
        "the text that it commits beside the offset is longer than the brokers keep: no offset is committed",
        advise(
            clients("Commit less metadata beside offsets."),
            brokers("Or raise offset.metadata.max.bytes (default 4096)."),
        ),
    ),
    "INVALID_COMMIT_OFFSET_SIZE": Refusal(
        "a commit of so many offsets does not fit into one batch of __consumer_offsets",
        advise(
            clients("Commit fewer partitions or less metadata at once."),
            brokers("Or raise max.message.bytes of __consumer_offsets."),
        ),
    ),
    "INVALID_TXN_STATE": Refusal(
        "for the coordinator the transaction is over, or was never begun: it may have ended it by itself when its "
        "timeout was over",
        advise(
            clients(
                "Close this producer and make a new one (InitProducerId): the coordinator goes on refusing the same "
                "call. What the transaction wrote is aborted; write it again. Where transactions take longer than "
                "transaction.timeout.ms, raise that. A library that sends the same again has a bug: upgrade it, or "
                "report it to its maintainers with these packets."
            )
        ),
    ),
    "INVALID_REQUEST": Refusal("the broker finds the request malformed", advise(_LIBRARY)),
    "INVALID_FETCH_SIZE": Refusal("the fetch sizes of the request are not valid", advise(_LIBRARY)),
    "UNSUPPORTED_VERSION": Refusal(
        "the broker does not take this version of the request, or not with what it holds",
        advise(
            clients("Upgrade the library, or remove a fixed version of brokers (api.version) from its settings."),
            brokers(
                "Members with a group.instance.id are refused so while inter.broker.protocol.version is below 2.3: "
                "raise it, or leave group.instance.id out."
            ),
        ),
    ),
    "POLICY_VIOLATION": Refusal(
        "a policy of the brokers forbids it",
        advise(brokers("The policy is that of create.topic.policy.class.name or alter.config.policy.class.name.")),
    ),
    TIMED_OUT: Refusal(
        _waits,
        advise(
            clients(
                "Raise the timeout of Produce in these clients to the 30 s that is usual (request.timeout.ms of Java "
                "and librdkafka; the timeout for acknowledgments in other libraries). What they send again after this "
                "error is in the log twice, unless the producer is idempotent. No broker or topic is at fault."
            )
        ),
    ),
}
REQUEST_REFUSED = replace(
    refusal_kind("request_refused", "requests refused", "client", _REFUSALS), errors=frozenset(_REFUSALS) - {TIMED_OUT}
)
"""Requests that timed out are no requests that were refused where nothing else shows that: short_timeouts looks."""
