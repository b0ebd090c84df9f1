"""The story tables of each client by itself: who it is, its starts, its recoveries, its loops."""

from kafkascope_analyzer.dataset.contract import Column, Table, flag, i16, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.stories.clients import CLIENTS
from kafkascope_analyzer.dataset.stories.startups import STARTUP_STEP_ROWS, STARTUPS

RECOVERY_STEPS = (
    "error",
    "backoff",
    "hint",
    "metadata",
    "find_coordinator",
    "reconnect",
    "api_versions",
    "authenticate",
    "join_group",
    "sync_group",
    "heartbeat",
    "init_producer_id",
    "list_offsets",
    "offset_for_leader_epoch",
    "end_txn",
    "retry",
    "success",
)
RESOURCE_KINDS = ("partition", "group", "transaction", "coordinator", "connection", "authentication")

_INSTANCE = text("client_instance_id", "client instance: the same whatever the buckets, partitions or machine")


def _ns(name: str, doc: str) -> Column:
    return i64(name, f"{doc} (nanoseconds since the epoch)")


RECOVERY_OUTCOMES = (
    "recovered",
    "served_elsewhere",
    "still_open",
    "gave_up",
    "client_ended",
    "fatal",
    "wrong_reaction",
)

RECOVERIES = Table(
    "recoveries",
    "episode: from the first error on a resource to the next success",
    (
        text("recovery_id", "episode"),
        _INSTANCE,
        text("client_id", "client id"),
        text("cause_id", "the same for all episodes of one cause"),
        text("resource_kind", "what broke", *RESOURCE_KINDS),
        text("resource", "topic-partition, group, transactional id, coordinator key or address"),
        text("first_error_name", "first error"),
        i16("first_api_key", "API that it answered; null for a connection's failure"),
        texts("error_names", "all errors, in order of appearance"),
        i64("n_errors", "errors"),
        text("expected_reaction", "what such a client should do next"),
        text("reaction", "what it did"),
        text(
            "outcome",
            "how it ended: recovered; served_elsewhere (the client did not need it again: other brokers served it, or, "
            "of a topic-partition, its group went on); still_open at the end of the capture; gave_up (the client did "
            "other work and did not try again); client_ended (the client ended first); fatal (trying again does not "
            "help); wrong_reaction",
            *RECOVERY_OUTCOMES,
        ),
        text("wrong_why", "what the client did that the expected reaction does not have (wrong_reaction)"),
        flag("storm", "more than 10 errors in a second, or more than 50"),
        *time("start", "first error"),
        _ns("failing_ns", "request or SYN that the first error left without an answer; null where it was an answer"),
        text("failing_api", "of a connection that failed, API of the request that it left without an answer"),
        i64(
            "idle_ms",
            "how long before that the connection had carried no answer, milliseconds; null where it had carried none",
        ),
        _ns("refreshed_ns", "first Metadata answer after it"),
        _ns("rediscovered_ns", "first FindCoordinator answer after it"),
        _ns("reconnected_ns", "first new connection after it"),
        _ns("reauthenticated_ns", "first SASL exchange after it"),
        _ns("rejoined_ns", "first JoinGroup or group heartbeat that joined after it"),
        _ns("retried_ns", "first request on the resource after it"),
        _ns("recovered_ns", "first success on the resource after it"),
        i64(
            "time_to_recover_ms",
            "first error to first success, milliseconds; null where no file covers a part of that time",
        ),
        text("refresh_trigger", "what made the client learn of the new owner", "error", "hint", "age"),
        i64("lost_broker_us", "time that brokers had: answers, elections, loading; microseconds"),
        i64("lost_backoff_us", "time that the client paused, microseconds"),
        i64("lost_stale_us", "time until the client knew better than its metadata, microseconds"),
        i64("lost_connecting_us", "time for connections, their greeting and authentication, microseconds"),
        i64("n_wasted_requests", "requests on the resource that failed"),
        i64("n_stale_requests", "of those sent after the first error, the ones that still went to the old node"),
        i64("stale_us", "from the first error to the last of them, microseconds"),
        i32("old_node_id", "node that failed"),
        i32("new_node_id", "node that answered"),
        text("incident_id", "incident that it belongs to; null where it belongs to none"),
        texts("evidence", "request ids or conn_ids that prove it"),
    ),
)

RECOVERY_STEP_ROWS = Table(
    "recovery_steps",
    "step of an episode",
    (
        text("recovery_id", "the episode"),
        i32("seq", "order within the episode, from 1"),
        text("step", "step", *RECOVERY_STEPS),
        text("conn_id", "connection"),
        i32("node_id", "node"),
        *time("", "when"),
        i64("duration_us", "how long it took, microseconds"),
        text("request_id", "request that proves it"),
        text("error_name", "error"),
    ),
)

CADENCE_NAMES = (
    "heartbeat",
    "fetch",
    "commit",
    "metadata_refresh",
    "poll_gap",
    "idle_before_close",
    "in_flight",
    "reauthentication",
)

CADENCES = Table(
    "cadences",
    "loop of a client on a connection",
    (
        _INSTANCE,
        text("conn_id", "connection; null for metadata_refresh, which runs over all of them"),
        text("cadence", "the loop", *CADENCE_NAMES),
        i64("n", "times between two rounds that were measured"),
        i64("p50_ms", "half of them are not longer, milliseconds (in_flight: requests)"),
        i64("p99_ms", "99 % of them are not longer, milliseconds (in_flight: requests)"),
        i64("max_ms", "the longest, milliseconds (in_flight: requests)"),
        i64("expected_ms", "what it should be, milliseconds (in_flight: requests); null where nothing says"),
        text(
            "expected_from",
            "what says so",
            "default",
            "join_group",
            "heartbeat_response",
            "fetch_request",
            "sasl_authenticate",
            "user",
        ),
        text("verdict", "how it compares", "as_expected", "late", "fast", "unknown"),
    ),
)

CLIENT_TABLES: tuple[Table, ...] = (CLIENTS, STARTUPS, STARTUP_STEP_ROWS, RECOVERIES, RECOVERY_STEP_ROWS, CADENCES)
"""The tables that the state machine over one address's events fills, in one go."""
