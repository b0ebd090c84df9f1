"""The expected sequences of steps by which each kind of client starts. Where a library differs is a part of it.

A sequence is a line of steps in order. `step` is required; `step?` depends on versions, security or settings; a
step that is not in the line is extra. AFTER names the steps that must have succeeded before a step is first taken. Two
steps that AFTER does not relate may come in either order, because clients take them in parallel.

Sources: NetworkClient, ConsumerCoordinator, AbstractCoordinator, OffsetsRequestManager, TransactionManager and
Sender of the Java client (classic consumer; KIP-848, KIP-932 and KIP-1071 members: *HeartbeatRequestManager);
rd_kafka_cgrp_*, rd_kafka_idemp_* and rd_kafka_txn_* of librdkafka; traffic of franz-go 1.22, sarama 1.61, kafkajs
2.2, kafka-python 2.0 and 3.0, aiokafka 0.14 with Kafka 4.3.
"""

from dataclasses import dataclass
from functools import cache

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.kinds import Kind
from kafkascope_spark.stories.libraries import registry

_OPEN = "dns? tcp_connect tls_handshake? api_versions sasl_handshake? sasl_authenticate? metadata"
_READ = "list_offsets? offset_for_leader_epoch? first_fetch? first_records"
_CLASSIC = f"{_OPEN} find_coordinator_group join_group sync_group offset_fetch {_READ} first_heartbeat? first_commit?"

SEQUENCES = {
    "classic_consumer": _CLASSIC,
    "kip848_consumer": (f"{_OPEN} find_coordinator_group consumer_group_heartbeat offset_fetch {_READ} first_commit?"),
    "share_consumer": (
        f"{_OPEN} find_coordinator_group share_group_heartbeat find_coordinator_share? first_fetch? first_records"
    ),
    "standalone_consumer": f"{_OPEN} find_coordinator_group? offset_fetch? {_READ} first_commit?",
    "streams_classic": f"{_CLASSIC} init_producer_id? first_produce? first_produce_ack? admin_request?",
    "streams_kip1071": (
        f"{_OPEN} find_coordinator_group streams_group_heartbeat offset_fetch {_READ} first_commit? admin_request?"
    ),
    "plain_producer": f"{_OPEN} first_produce first_produce_ack",
    "producer_without_acks": f"{_OPEN} first_produce",
    "idempotent_producer": f"{_OPEN} init_producer_id first_produce first_produce_ack",
    "transactional_producer_v1": (
        f"{_OPEN} find_coordinator_txn init_producer_id add_partitions_to_txn first_produce first_produce_ack "
        "find_coordinator_group? first_commit?"
    ),
    "transactional_producer_v2": (
        f"{_OPEN} find_coordinator_txn init_producer_id first_produce first_produce_ack "
        "find_coordinator_group? first_commit?"
    ),
    "admin": (
        f"{_OPEN.replace('metadata', 'metadata?')} find_coordinator_group? find_coordinator_txn? "
        "find_coordinator_share? list_offsets? offset_fetch? init_producer_id? first_commit? admin_request?"
    ),
    "broker": (
        "dns? tcp_connect tls_handshake? api_versions? sasl_handshake? sasl_authenticate? metadata? list_offsets? "
        "offset_for_leader_epoch? first_fetch? first_records? add_partitions_to_txn? find_coordinator_group? "
        "find_coordinator_txn? find_coordinator_share? admin_request?"
    ),
    "encrypted_consumer": "dns? tcp_connect tls_handshake first_exchange first_fetch first_heartbeat?",
    "encrypted_producer": "dns? tcp_connect tls_handshake first_exchange first_produce first_produce_ack",
    "encrypted_client": "dns? tcp_connect tls_handshake first_exchange",
}

KEPT = frozenset(
    {
        "metadata",
        "find_coordinator_group",
        "find_coordinator_txn",
        "init_producer_id",
        "join_group",
        "sync_group",
        "consumer_group_heartbeat",
        "share_group_heartbeat",
        "streams_group_heartbeat",
        "offset_fetch",
        "add_partitions_to_txn",
        "api_versions",
    }
)
"""Steps whose result a client keeps when all its connections have ended: it need not take them when it connects
again."""

AFTER: dict[str, tuple[str, ...]] = {
    "sasl_authenticate": ("sasl_handshake",),
    "metadata": ("tcp_connect", "sasl_authenticate"),
    "find_coordinator_group": ("tcp_connect", "sasl_authenticate"),
    "find_coordinator_txn": ("tcp_connect", "sasl_authenticate"),
    "join_group": ("find_coordinator_group",),
    "sync_group": ("join_group",),
    "consumer_group_heartbeat": ("find_coordinator_group",),
    "share_group_heartbeat": ("find_coordinator_group",),
    "streams_group_heartbeat": ("find_coordinator_group",),
    "offset_fetch": ("find_coordinator_group", "sync_group", "consumer_group_heartbeat", "streams_group_heartbeat"),
    "list_offsets": ("metadata",),
    "first_fetch": ("metadata", "offset_fetch"),
    "first_records": ("metadata", "offset_fetch"),
    "init_producer_id": ("find_coordinator_txn",),
    "add_partitions_to_txn": ("init_producer_id",),
    "first_produce": ("metadata", "init_producer_id", "add_partitions_to_txn"),
    "first_heartbeat": ("join_group",),
    "first_commit": ("sync_group", "consumer_group_heartbeat", "streams_group_heartbeat"),
}
"""Step -> steps that must have succeeded before it is first taken, where they are part of the sequence."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """An expected sequence: its name, the required steps in order, and the steps that are usual."""

    name: str
    required: tuple[str, ...]
    usual: frozenset[str]
    taken_again: frozenset[str] = frozenset()
    """Steps that the library takes more than once without a failure."""

    is_first: bool = True
    """Whether it is the client's first start."""


def sequence_name(kind: Kind, apis: set[int], acks: bool = True) -> str:
    """The name of the sequence for a client of that kind that used these APIs.

    acks: whether its Produce requests expect a response (acks other than 0).
    """
    if kind.claimed:
        return {"consumer": "encrypted_consumer", "producer": "encrypted_producer"}.get(kind.kind, "encrypted_client")
    if kind.kind in ("broker", "admin", "unknown"):
        return "broker" if kind.kind == "broker" else "admin"
    if kind.kind == "transactional_producer":
        return f"transactional_producer_{'v2' if kind.transactions == 'v2' else 'v1'}"
    if kind.kind == "producer":
        if api_keys.INIT_PRODUCER_ID in apis:
            return "idempotent_producer"
        return "plain_producer" if acks else "producer_without_acks"
    if kind.kind == "share_consumer":
        return "share_consumer"
    if kind.kind == "streams":
        return "streams_kip1071" if kind.group_protocol == "streams" else "streams_classic"
    return {"classic": "classic_consumer", "consumer": "kip848_consumer"}.get(
        kind.group_protocol, "standalone_consumer"
    )


@cache
def sequence_of(name: str, library: str, *, is_first: bool = True) -> Sequence:
    """The sequence of that name for the library. is_first: whether the client has not started before."""
    of_library = registry.library(library)
    named = [f"{word}?" if word in of_library.optional_steps else word for word in SEQUENCES[name].split()]
    required = [w for w in named if not w.endswith("?") and (is_first or w not in KEPT)]
    usual = frozenset(w.removesuffix("?") for w in named)
    return Sequence(f"{name}/{library}", tuple(required), usual, of_library.repeated_steps, is_first)
