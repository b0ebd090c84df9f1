"""Events about what a client asked and got: requests, errors, and the topic-partitions that recovered.

Among events of the same time, requests come before errors, and these before topic-partitions, as the state machines
need it.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent, event_kind
from kafkascope_analyzer.dataset.tables.requests import ERRORS, PARTITIONS, REQUESTS

LONG_THROTTLE_MS = 1_000
"""Shortest throttle time that counts as a failure: to the client it looks like an outage."""
OVERDUE_NS = 5_000_000_000
"""A response that is later than this plus the wait that the request allows is overdue: clients wait 10 s (connection
set-up) to 60 s (librdkafka)."""


@event_kind(
    "request",
    "a request that matters for a story by itself (control plane, failed, slow, unanswered, part of a"
    " start), or the first success on its connection after a failure of the same call; for an error "
    "run with n above 1, the first of its requests",
    key_kind="client",
)
@dataclass(slots=True)
class Request(ClientEvent):
    """A request with its response, if there is one."""

    request_id: Annotated[str, REQUESTS]
    node_id: Annotated[int | None, REQUESTS]
    client_id: Annotated[str | None, REQUESTS]
    api_key: Annotated[int, REQUESTS]
    api_name: Annotated[str, REQUESTS]
    api_version: Annotated[int, REQUESTS]
    correlation_id: Annotated[int, REQUESTS]
    ts_ns: Annotated[int, REQUESTS]
    request_last_ns: Annotated[int, REQUESTS]
    response_ns: Annotated[int | None, REQUESTS]
    response_last_ns: Annotated[int | None, REQUESTS]
    latency_us: Annotated[int | None, REQUESTS]
    broker_us: Annotated[int | None, REQUESTS]
    error_code: Annotated[int | None, REQUESTS]
    error_name: Annotated[str | None, REQUESTS]
    status: Annotated[str, REQUESTS]
    group_id: Annotated[str | None, REQUESTS]
    member_id: Annotated[str | None, REQUESTS]
    group_instance_id: Annotated[str | None, REQUESTS]
    generation_or_epoch: Annotated[int | None, REQUESTS]
    transactional_id: Annotated[str | None, REQUESTS]
    max_wait_ms: Annotated[int | None, REQUESTS]
    coordinator_type: Annotated[str | None, REQUESTS]
    coordinator_key: Annotated[str | None, REQUESTS]
    sasl_mechanism: Annotated[str | None, REQUESTS]
    n_records: Annotated[int | None, REQUESTS]
    throttle_ms: Annotated[int | None, REQUESTS]
    in_flight: Annotated[int | None, REQUESTS]
    n_errors: Annotated[int | None, REQUESTS]
    n_partitions: Annotated[int | None, REQUESTS]

    def __post_init__(self) -> None:
        """Treats a response without a request, or one that could not be read, as missing."""
        if self.status != "ok":
            self.response_ns = None

    @property
    def answered_ns(self) -> int | None:
        """Last byte of the response (the first where the last is not known); None without a response."""
        if self.response_ns is None or self.response_last_ns is None:
            return self.response_ns
        return max(self.response_ns, self.response_last_ns)

    @property
    def ok(self) -> bool:
        """Whether it was answered without an error, or needed no response."""
        return not self.error_code and self.status in ("ok", "no_response_expected")

    @property
    def partly_ok(self) -> bool:
        """Whether it was answered with errors for some of its topic-partitions and without for others."""
        return self.status == "ok" and 0 < (self.n_errors or 0) < (self.n_partitions or 0)


@event_kind(
    "error_run",
    "an error code in the response to one request (n is 1), or in the responses to n consecutive "
    "requests with the same errors, without the first and the last of the run, which have events of "
    "their own; for n above 1, `request` has the first of them",
    key_kind="client",
)
@dataclass(slots=True)
class ErrorRun(ClientEvent):
    """A non-zero error code in the responses to n consecutive requests of a connection; n is mostly 1. Its time is the
    first byte of the first response."""

    request_id: Annotated[str, ERRORS, "the first of the requests"]
    last_request_id: Annotated[str, "the last of the requests"]
    api_key: Annotated[int, ERRORS]
    error_name: Annotated[str, ERRORS, "name of the error"]
    topic: Annotated[str | None, ERRORS]
    partition: Annotated[int | None, ERRORS]
    group_id: Annotated[str | None, ERRORS]
    transactional_id: Annotated[str | None, ERRORS]
    resource: Annotated[str | None, ERRORS]
    n: Annotated[int, "number of requests"]
    last_ns: Annotated[int, "first byte of the last response"]
    last_sent_ns: Annotated[int, "first byte of the last request"]
    waited_us: Annotated[
        int | None, "sum of the times from the first byte of a request to the first byte of its response, microseconds"
    ]
    leader_id: Annotated[int | None, I32, "leader that all the responses name (KIP-951)"]
    request: Request | None = None
    """The first of several requests; None for a single request, which is an event of its own."""


@event_kind(
    "partition",
    "a topic-partition in a message without an error, after an error on it: the first ones in each "
    "message on each connection",
    key_kind="client",
)
@dataclass(slots=True)
class PartitionAccess(ClientEvent):
    """A topic-partition in a request, or in a response without an error."""

    request_id: Annotated[str, PARTITIONS]
    api_key: Annotated[int, PARTITIONS]
    answered: Annotated[bool, "whether it is in the response"]
    topic: Annotated[str, PARTITIONS]
    partition: Annotated[int | None, PARTITIONS]
    leader_id: Annotated[int | None, I32, "leader according to Metadata, or to the hint of an error (KIP-951)"]
    hints: Annotated[bool, "whether it is such a hint"]
    unanswered: Annotated[bool, "whether the request was never answered because its connection ended"]
