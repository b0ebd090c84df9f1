"""`recoveries`: what clients did about errors, from the first on a resource to the next success."""

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
"""Outcomes after which the client went on without what it needed."""
RefreshTrigger = Literal["error", "hint", "age"]


@declares(
    "recoveries",
    "episode: from the first error on a resource to the next success",
    sorted_by=("start_ns", "recovery_id"),
    salted=("cause_id", "incident_id"),
)
@dataclass(slots=True)
class Recovery(StoryRow):
    """A row of stories/recoveries. The episode does not know its cause, nor its incident: those are found for all
    clients together."""

    recovery_id: Annotated[str, "episode"]
    client_instance_id: Annotated[str, CLIENT_INSTANCE]
    client_id: Annotated[str | None, "client id"]
    cause_id: Annotated[str | None, "the same for all episodes of one cause"]
    resource_kind: Annotated[str, RESOURCE_KINDS, "what broke"]
    resource: Annotated[str, "topic-partition, group, transactional id, coordinator key or address"]
    first_error_name: Annotated[str, "first error"]
    first_api_key: Annotated[int | None, I16, "API that it answered; null for a connection's failure"]
    error_names: Annotated[tuple[str, ...], "all errors, in order of appearance"]
    n_errors: Annotated[int, "errors"]
    expected_reaction: Annotated[str, "what such a client should do next"]
    reaction: Annotated[str, "what it did"]
    outcome: Annotated[
        RecoveryOutcome,
        "how it ended: recovered; served_elsewhere (the client did not need it again: other brokers served it, or, "
        "of a topic-partition, its group went on); still_open at the end of the capture; gave_up (the client did "
        "other work and did not try again); client_ended (the client ended first); fatal (trying again does not "
        "help); wrong_reaction",
    ]
    claimed: Annotated[
        bool,
        "whether the client's requests are known by the lengths of TLS records alone: that it lost a connection, and "
        "was answered on a later one, is known; that it waited for a response to Produce, is claimed",
    ]
    wrong_why: Annotated[str | None, "what the client did that the expected reaction does not have (wrong_reaction)"]
    storm: Annotated[bool, "more than 10 errors in a second, or more than 50"]
    start_ns: Annotated[int, TIME, "first error"]
    failing_ns: Annotated[
        int | None, NS, "request or SYN that the first error left without an answer; null where it was an answer"
    ]
    failing_api: Annotated[str | None, "of a connection that failed, API of the request that it left without an answer"]
    idle_ms: Annotated[
        int | None,
        "how long before that the connection had carried no answer, milliseconds; null where it had carried none",
    ]
    refreshed_ns: Annotated[int | None, NS, "first Metadata answer after it"]
    rediscovered_ns: Annotated[int | None, NS, "first FindCoordinator answer after it"]
    reconnected_ns: Annotated[int | None, NS, "first new connection after it"]
    reauthenticated_ns: Annotated[int | None, NS, "first SASL exchange after it"]
    rejoined_ns: Annotated[int | None, NS, "first JoinGroup or group heartbeat that joined after it"]
    retried_ns: Annotated[int | None, NS, "first request on the resource after it"]
    recovered_ns: Annotated[int | None, NS, "first success on the resource after it"]
    time_to_recover_ms: Annotated[
        int | None,
        "first error to first success, milliseconds; null where no file covers a part of that time",
    ]
    refresh_trigger: Annotated[RefreshTrigger | None, "what made the client learn of the new owner"]
    lost_broker_us: Annotated[int, "time that brokers had: answers, elections, loading; microseconds"]
    lost_backoff_us: Annotated[int, "time that the client paused, microseconds"]
    lost_stale_us: Annotated[int, "time until the client knew better than its metadata, microseconds"]
    lost_connecting_us: Annotated[int, "time for connections, their greeting and authentication, microseconds"]
    n_wasted_requests: Annotated[int, "requests on the resource that failed"]
    n_stale_requests: Annotated[int, "of those sent after the first error, the ones that still went to the old node"]
    stale_us: Annotated[int | None, "from the first error to the last of them, microseconds"]
    old_node_id: Annotated[int | None, I32, "node that failed"]
    new_node_id: Annotated[int | None, I32, "node that answered"]
    incident_id: Annotated[str | None, "incident that it belongs to; null where it belongs to none"]
    evidence: Annotated[tuple[str, ...], "request ids or conn_ids that prove it"]

    @property
    def failing_since_ns(self) -> int:
        """The request or SYN that the first error left without an answer; else the first error."""
        return self.start_ns if self.failing_ns is None else self.failing_ns

    @property
    def affected_ns(self) -> int:
        """Since when the client was affected: the first error, or the request or SYN to which a silent broker did not
        respond."""
        return min(self.start_ns, self.failing_since_ns) if self.first_error_name in SILENT else self.start_ns

    @property
    def lost_us(self) -> dict[str, int]:
        """Whose the time was, microseconds: brokers', back-off, stale metadata, connecting."""
        return {
            "broker": self.lost_broker_us,
            "backoff": self.lost_backoff_us,
            "stale": self.lost_stale_us,
            "connecting": self.lost_connecting_us,
        }

    @property
    def is_unwell(self) -> bool:
        """Whether the client went on without what it needed."""
        return self.outcome in NOT_RECOVERED

    @property
    def worst_first(self) -> tuple[bool, int]:
        """To sort by: what did not end well comes first, then what took longest."""
        return not self.is_unwell, -(self.time_to_recover_ms or 0)

    @property
    def cause_key(self) -> tuple[str, str]:
        """What is the same for a client's recoveries of one cause."""
        return self.client_instance_id, self.cause_id or self.recovery_id


RECOVERIES = Recovery.TABLE
