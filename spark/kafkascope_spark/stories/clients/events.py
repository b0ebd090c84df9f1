"""Events that are facts about a connection as a whole (dataset.tables.events, section 0), as the machines over clients
take them. Fields have the names of the kind's struct."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkascope_spark.stories.model import PartitionAccess, Silence


@dataclass(slots=True)
class ConnectionEvent:
    """The connection itself."""

    conn_id: str
    client_port: int | None
    server_ip: str
    server_port: int
    node_id: int | None
    protocol: str | None
    first_ns: int | None
    last_ns: int | None
    syn_ns: int | None
    synack_ns: int | None
    close_kind: str | None
    close_ns: int | None
    idle_before_close_ms: int | None
    tls_version: str | None
    sasl_mechanism: str | None
    principal: str | None
    session_lifetime_ms: int | None
    software_name: str | None
    software_version: str | None
    n_requests: int | None
    n_responses: int | None
    n_errors: int | None
    server_bytes: int | None
    advertised_host: str | None
    advertised_port: int | None
    zookeeper_session: str | None
    zookeeper_timeout_ms: int | None
    zookeeper_closed: bool | None
    near_idle_ms: int | None
    refused_after: int | None


@dataclass(slots=True)
class Usage:
    """Requests of one kind on a connection."""

    conn_id: str
    ts_ns: int
    client_id: str | None
    api_key: int
    api_name: str
    api_version: int
    group_id: str | None
    member_id: str | None
    group_instance_id: str | None
    transactional_id: str | None
    coordinator_type: str | None
    coordinator_key: str | None
    software_name: str | None
    software_version: str | None
    status: str
    is_replica: bool
    failed: bool | None
    first_number: int
    last_ns: int
    last_answered_ns: int | None
    max_wait_ms: int | None
    last_correlation_id: int | None
    producer_id: int | None
    total_record_bytes: int | None
    node_id: int | None
    correlation_id: int | None
    request_last_ns: int | None
    response_ns: int | None
    response_last_ns: int | None
    latency_us: int | None
    broker_us: int | None
    generation_or_epoch: int | None
    n_records: int | None


@dataclass(slots=True)
class Samples:
    """Times and correlation ids of some requests; of_answers: of responses whose requests the capture lacks."""

    conn_id: str
    times: Sequence[int]
    correlation_ids: Sequence[int]
    of_answers: bool | None


@dataclass(slots=True)
class Learned:
    """What the messages of the connection say."""

    conn_id: str
    servers: Sequence[str] | None
    producer_ids: Sequence[int] | None
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    heartbeat_interval_ms: int | None


CLIENT_EVENTS: Mapping[str, type[Any]] = {
    "connection": ConnectionEvent,
    "usage": Usage,
    "samples": Samples,
    "learned": Learned,
    "silence": Silence,
    "partition": PartitionAccess,
}
"""Kind -> class, where fields have the names of the struct's."""
