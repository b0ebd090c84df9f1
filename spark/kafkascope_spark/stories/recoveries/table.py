"""The table `recoveries`: reactions of clients to errors, from the first error on a resource to the next success."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import I16, I32, NS, TIME, StoryRow, declares
from kafkascope_parsers.error_facts import SILENT
from kafkascope_spark.stories.clients.client_instance import CLIENT_INSTANCE

RESOURCE_KINDS = ("partition", "group", "transaction", "coordinator", "connection", "authentication")
RecoveryOutcome = Literal[
    "recovered", "served_elsewhere", "still_open", "gave_up", "client_ended", "fatal", "wrong_reaction"
]
NOT_RECOVERED = frozenset({"still_open", "gave_up", "fatal", "wrong_reaction"})
"""Outcomes in which the client did not get what it needed."""
RefreshTrigger = Literal["error", "hint", "age"]


@declares(
    "recoveries",
    "episode: from the first error on a resource to the next success",
    sorted_by=("start_ns", "recovery_id"),
    salted=("cause_id", "incident_id"),
)
@dataclass(slots=True)
class Recovery(StoryRow):
    """A row of stories/recoveries. cause_id and incident_id are set later, when the recoveries of all clients are
    known."""

    recovery_id: Annotated[str, "episode"]
    client_instance_id: Annotated[str, CLIENT_INSTANCE]
    client_id: Annotated[str | None, "client id"]
    cause_id: Annotated[str | None, "the same for all episodes of one cause"]
    resource_kind: Annotated[str, RESOURCE_KINDS, "kind of the resource"]
    resource: Annotated[str, "topic-partition, group, transactional id, coordinator key or address"]
    first_error_name: Annotated[str, "first error"]
    first_api_key: Annotated[int | None, I16, "API of the response with that error; null for a failed connection"]
    error_names: Annotated[tuple[str, ...], "all errors, in order of appearance"]
    n_errors: Annotated[int, "errors"]
    expected_reaction: Annotated[str, "next steps that such a client should take"]
    reaction: Annotated[str, "steps that it took"]
    outcome: Annotated[
        RecoveryOutcome,
        "outcome: recovered; served_elsewhere (the client did not need it again: other brokers served it, or, for "
        "a topic-partition, its group went on); still_open at the end of the capture; gave_up (the client did other "
        "work and did not retry); client_ended (the client ended first); fatal (a retry does not help); "
        "wrong_reaction",
    ]
    claimed: Annotated[
        bool,
        "whether the client's requests are known only from the lengths of TLS records: lost connections, and "
        "responses on later ones, are facts; that it waited for a response to Produce is guessed",
    ]
    wrong_why: Annotated[str | None, "step of the client that is not part of the expected reaction (wrong_reaction)"]
    storm: Annotated[bool, "more than 10 errors in a second, or more than 50"]
    start_ns: Annotated[int, TIME, "first error"]
    failing_ns: Annotated[
        int | None, NS, "request or SYN whose missing response was the first error; null where a response was"
    ]
    failing_api: Annotated[str | None, "for a failed connection, API of the request without a response"]
    idle_ms: Annotated[
        int | None,
        "time since the last response on that connection, milliseconds; null where there was none",
    ]
    refreshed_ns: Annotated[int | None, NS, "first Metadata response after it"]
    rediscovered_ns: Annotated[int | None, NS, "first FindCoordinator response after it"]
    reconnected_ns: Annotated[int | None, NS, "first new connection after it"]
    reauthenticated_ns: Annotated[int | None, NS, "first SASL exchange after it"]
    rejoined_ns: Annotated[int | None, NS, "first JoinGroup or group heartbeat that joined after it"]
    retried_ns: Annotated[int | None, NS, "first request on the resource after it"]
    recovered_ns: Annotated[int | None, NS, "first success on the resource after it"]
    time_to_recover_ms: Annotated[
        int | None,
        "first error to first success, milliseconds; null where no file covers a part of that time",
    ]
    refresh_trigger: Annotated[RefreshTrigger | None, "how the client learned of the new owner"]
    lost_broker_us: Annotated[int, "time of brokers: responses, elections, loading; microseconds"]
    lost_backoff_us: Annotated[int, "time that the client paused, microseconds"]
    lost_stale_us: Annotated[int, "time with outdated metadata, microseconds"]
    lost_connecting_us: Annotated[int, "time for connections, their handshake and authentication, microseconds"]
    n_wasted_requests: Annotated[int, "requests on the resource that failed"]
    n_stale_requests: Annotated[int, "requests after the first error that still went to the old node"]
    stale_us: Annotated[int | None, "from the first error to the last of these requests, microseconds"]
    old_node_id: Annotated[int | None, I32, "node that failed"]
    new_node_id: Annotated[int | None, I32, "node that responded"]
    incident_id: Annotated[str | None, "incident that it belongs to; null where it belongs to none"]
    evidence: Annotated[tuple[str, ...], "request ids or conn_ids that prove it"]

    @property
    def failing_since_ns(self) -> int:
        """Time of the request or SYN without a response, if that was the first error; else time of the first error."""
        return self.start_ns if self.failing_ns is None else self.failing_ns

    @property
    def affected_ns(self) -> int:
        """When the client was first affected: time of the first error, or of the request or SYN to which a silent
        broker did not respond."""
        return min(self.start_ns, self.failing_since_ns) if self.first_error_name in SILENT else self.start_ns

    @property
    def lost_us(self) -> dict[str, int]:
        """Lost time in microseconds by party: brokers, back-off, outdated metadata, connecting."""
        return {
            "broker": self.lost_broker_us,
            "backoff": self.lost_backoff_us,
            "stale": self.lost_stale_us,
            "connecting": self.lost_connecting_us,
        }

    @property
    def is_unwell(self) -> bool:
        """Whether the client did not get what it needed."""
        return self.outcome in NOT_RECOVERED

    @property
    def worst_first(self) -> tuple[bool, int]:
        """Sort key: recoveries that did not end well come first, then the longest ones."""
        return not self.is_unwell, -(self.time_to_recover_ms or 0)

    @property
    def cause_key(self) -> tuple[str, str]:
        """Key that a client's recoveries of one cause share."""
        return self.client_instance_id, self.cause_id or self.recovery_id


RECOVERIES = Recovery.TABLE
