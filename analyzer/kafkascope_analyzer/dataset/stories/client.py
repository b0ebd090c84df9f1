"""The story tables of each client by itself: who it is, its starts, its recoveries, its loops."""

from kafkascope_analyzer.dataset.contract import Column, Table, flag, i16, i32, i64, text, texts, time

CLIENT_KINDS = (
    "consumer",
    "producer",
    "transactional_producer",
    "share_consumer",
    "streams",
    "admin",
    "connect",
    "broker",
    "unknown",
)
PHASES = ("bootstrap", "discovery", "direct", "group", "transaction", "steady")
STARTUP_STEPS = (
    "dns",
    "tcp_connect",
    "tls_handshake",
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


CLIENTS = Table(
    "clients",
    "running client object",
    (
        _INSTANCE,
        text("client_id", "client id"),
        text("client_ip", "address"),
        text("principal", "principal, where the capture shows one"),
        text("software_name", "client software"),
        text("software_version", "its version"),
        text(
            "software_from",
            "what shows the software: ApiVersions, or behaviour that fits one library only",
            "api_versions",
            "behaviour",
        ),
        text("kind", "what it does", *CLIENT_KINDS),
        text("group_protocol", "group protocol", "classic", "consumer", "share", "streams", "none"),
        text("transactions", "transaction protocol", "v1", "v2", "none"),
        text("group_id", "group"),
        texts("member_ids", "member ids it had, in order"),
        text("group_instance_id", "static member id"),
        text("transactional_id", "transactional id"),
        text("identity", "whether these connections are one client object for sure", "sole", "shared"),
        text("identity_why", "how it was distinguished from others of the same name"),
        texts("conn_ids", "its connections, by time"),
        *time("first", "first segment of its connections"),
        *time("last", "last segment of its connections"),
        i64("n_requests", "requests"),
        i64("n_errors", "non-zero error codes in the answers"),
        text("end_state", "how it ended", "closed", "died", "evicted", "open"),
    ),
)

RECOVERY_OUTCOMES = (
    "recovered",
    "served_elsewhere",
    "still_open",
    "gave_up",
    "client_ended",
    "fatal",
    "wrong_reaction",
)

STARTUPS = Table(
    "startups",
    "start of a client instance",
    (
        text("startup_id", "client_instance_id and the number of the start"),
        _INSTANCE,
        i32("start_no", "1 for the first start"),
        *time("start", "first SYN or first request; a name looked up before it is a step, no part of the total"),
        *time("ready", "first records, first produce acknowledged, or first answer (admin); null unless ready"),
        i64("total_ms", "from start to ready, milliseconds"),
        i64("total_us", "the same, microseconds: durations and waits of the critical path add up to it"),
        text("outcome", "how it went", "ready", "failed", "gave_up", "cut"),
        text("failed_step", "step at which it failed", *STARTUP_STEPS),
        text("failed_subject", "address, group, transactional id or mechanism at which it failed"),
        text("error_name", "error at that step"),
        texts("critical_path", "steps that made the total, in order"),
        text("expected_sequence", "what such a client is expected to do: kind of client / library"),
        texts("expected_steps", "steps that it cannot do without, in order"),
        texts("missing_steps", "of them, those that it did not take"),
        texts("extra_steps", "steps that such a client does not take"),
        texts("repeated_steps", "steps taken again on one subject, or after a failure"),
        texts("out_of_order_steps", "steps first taken before those that they depend on had succeeded"),
        i32("n_connections", "connections of the start"),
        text("incident_id", "incident that a failed start belongs to; null where it belongs to none"),
        texts("evidence", "request ids that prove outcome and time"),
    ),
)

STARTUP_STEP_ROWS = Table(
    "startup_steps",
    "step of a start",
    (
        text("startup_id", "the start"),
        i32("seq", "order within the start, from 1"),
        text("phase", "phase of the start", *PHASES),
        text("step", "step", *STARTUP_STEPS),
        text("subject", "what it is about: address, group, topic-partition, mechanism"),
        text("conn_id", "connection"),
        i32("node_id", "node"),
        _ns("start_ns", "when it began"),
        _ns("end_ns", "when it ended"),
        i64("duration_us", "from begin to end, microseconds"),
        i64(
            "broker_us",
            "last byte of the request, or of the answer before it on the connection, to first byte of the answer, "
            "microseconds",
        ),
        text("broker_why", "what the broker did in it", "work", "rebalance", "long_poll"),
        i64("network_us", "rest of the duration: bytes on the way, the TCP and TLS handshakes; microseconds"),
        i64(
            "wait_us",
            "time before it with nothing in flight (critical path: since the step before), microseconds",
        ),
        text("wait_why", "what the client waited for", "client", "backoff", "no_records"),
        i32("attempt", "1, and one more after each try of this step on this subject that failed"),
        text("outcome", "how it ended", "ok", "error", "unanswered", "cut"),
        text("error_name", "error of the answer"),
        flag("on_critical_path", "whether it made the total"),
        texts("request_ids", "requests that prove it"),
    ),
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
