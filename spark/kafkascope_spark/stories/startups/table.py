"""The tables `startups` and `startup_steps`: the starts of clients and their steps."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import I32, NS, TIME, StoryRow, declares
from kafkascope_spark.stories.clients.client_instance import CLIENT_INSTANCE

Phase = Literal["bootstrap", "discovery", "direct", "group", "transaction", "steady"]
StartOutcome = Literal["ready", "done", "failed", "gave_up", "cut"]
StepOutcome = Literal["ok", "error", "unanswered", "cut"]
BrokerWhy = Literal["work", "rebalance", "long_poll"]
WaitWhy = Literal["client", "backoff", "no_records"]
STARTUP_STEPS = (
    "dns",
    "tcp_connect",
    "tls_handshake",
    "first_exchange",
    "api_versions",
    "sasl_handshake",
    "sasl_authenticate",
    "metadata",
    "find_coordinator_group",
    "find_coordinator_txn",
    "find_coordinator_share",
    "init_producer_id",
    "join_group",
    "sync_group",
    "consumer_group_heartbeat",
    "share_group_heartbeat",
    "streams_group_heartbeat",
    "offset_fetch",
    "offset_for_leader_epoch",
    "list_offsets",
    "first_fetch",
    "first_records",
    "add_partitions_to_txn",
    "first_produce",
    "first_produce_ack",
    "first_heartbeat",
    "first_commit",
    "admin_request",
)
NOT_READY: frozenset[StartOutcome] = frozenset({"failed", "gave_up"})
"""Outcomes of starts that did not become ready."""


@declares("startups", "start of a client instance", sorted_by=("start_ns", "startup_id"), salted=("incident_id",))
@dataclass(slots=True)
class StartupRow(StoryRow):
    """A row of stories/startups."""

    startup_id: Annotated[str, "client_instance_id and the number of the start"]
    client_instance_id: Annotated[str, CLIENT_INSTANCE]
    start_no: Annotated[int, I32, "1 for the first start"]
    start_ns: Annotated[
        int, TIME, "first SYN or first request; a DNS look-up before it is a step, but not part of the total"
    ]
    ready_ns: Annotated[
        int | None, TIME, "first records, first produce acknowledged, or first answer (admin); null unless ready"
    ]
    total_ms: Annotated[int | None, "from start to ready, milliseconds"]
    total_us: Annotated[int | None, "the same in microseconds: durations and waits of the critical path add up to it"]
    outcome: Annotated[
        StartOutcome,
        "outcome: ready (it did what such a client is for), done (it ended with all its requests served: only "
        "metadata, as of tools; a consumer that fetched without records being available, whose first Fetch may still "
        "have waited for some, or that was only a group member; a producer that got an id and sent nothing), failed "
        "(a step failed for good, or the last ones), gave_up (it left before it was ready), cut (the capture does not "
        "have all of it)",
    ]
    claimed: Annotated[
        bool,
        "whether its steps after the TLS handshake are guessed from the lengths of TLS records: its first exchange, "
        "and its first Fetch, with which it counts as ready, or Produce; it may be several clients of one address; "
        "without either it is done with its first exchange",
    ]
    failed_step: Annotated[str | None, STARTUP_STEPS, "step at which it failed"]
    failed_subject: Annotated[str | None, "address, group, transactional id or mechanism at which it failed"]
    error_name: Annotated[str | None, "error at that step"]
    critical_path: Annotated[tuple[str, ...], "steps that made the total, in order"]
    expected_sequence: Annotated[str, "expected sequence of steps: kind of client / library"]
    expected_steps: Annotated[tuple[str, ...], "steps that it requires, in order"]
    missing_steps: Annotated[tuple[str, ...], "required steps that it did not take"]
    extra_steps: Annotated[tuple[str, ...], "steps that such a client does not take"]
    repeated_steps: Annotated[tuple[str, ...], "steps taken again on one subject, or after a failure"]
    out_of_order_steps: Annotated[tuple[str, ...], "steps first taken before those that they depend on had succeeded"]
    n_connections: Annotated[int, I32, "connections of the start"]
    incident_id: Annotated[str | None, "incident that a failed start belongs to; null where it belongs to none"]
    evidence: Annotated[tuple[str, ...], "request ids that prove outcome and time"]

    @property
    def is_repeated(self) -> bool:
        """Whether the client had started before."""
        return self.start_no > 1

    @property
    def took_us(self) -> int | None:
        """Microseconds from its begin until it was ready; None if it did not become ready."""
        return None if self.ready_ns is None else (self.ready_ns - self.start_ns) // 1000

    @property
    def failed_words(self) -> str:
        """The step at which it failed, as ` at join group`; empty if it did not fail."""
        return f" at {self.failed_step.replace('_', ' ')}" if self.failed_step else ""

    @property
    def differences(self) -> dict[str, list[str]]:
        """The steps that differ from the expected sequence, by kind of difference, in words; only kinds that occur."""
        ways = {"missing": self.missing_steps, "extra": self.extra_steps, "repeated": self.repeated_steps}
        ways["out of order"] = self.out_of_order_steps
        return {way: [step.replace("_", " ") for step in steps] for way, steps in ways.items() if steps}


@declares("startup_steps", "step of a start", sorted_by=("startup_id", "seq"))
@dataclass(slots=True)
class StartupStepRow(StoryRow):
    """A row of startup_steps. Hundreds of thousands of them are made, so it has slots, is not frozen and is filled by
    position."""

    startup_id: Annotated[str, "the start"]
    seq: Annotated[int, I32, "order within the start, from 1"]
    phase: Annotated[Phase, "phase of the start"]
    step: Annotated[str, STARTUP_STEPS, "step"]
    subject: Annotated[str | None, "subject of the step: address, group, topic-partition, mechanism"]
    conn_id: Annotated[str, "connection"]
    node_id: Annotated[int | None, I32, "node"]
    start_ns: Annotated[int, NS, "when it began"]
    end_ns: Annotated[int, NS, "when it ended"]
    duration_us: Annotated[int, "from begin to end, microseconds"]
    broker_us: Annotated[
        int | None,
        "last byte of the request, or of the answer before it on the connection, to first byte of the answer, "
        "microseconds",
    ]
    broker_why: Annotated[BrokerWhy | None, "what the broker did in it"]
    network_us: Annotated[int, "rest of the duration: bytes on the way, the TCP and TLS handshakes; microseconds"]
    wait_us: Annotated[
        int, "time before it with nothing in flight (critical path: since the step before), microseconds"
    ]
    wait_why: Annotated[WaitWhy | None, "what the client waited for"]
    attempt: Annotated[int, I32, "1, and one more after each try of this step on this subject that failed"]
    outcome: Annotated[StepOutcome, "how it ended"]
    error_name: Annotated[str | None, "error of the answer"]
    on_critical_path: Annotated[bool, "whether it made the total"]
    request_ids: Annotated[tuple[str, ...], "requests that prove it"]

    @property
    def is_repeated(self) -> bool:
        """Whether it was tried before."""
        return self.attempt > 1

    @property
    def words(self) -> str:
        """The step in words."""
        return self.step.replace("_", " ")


STARTUPS, STARTUP_STEP_ROWS = StartupRow.TABLE, StartupStepRow.TABLE
