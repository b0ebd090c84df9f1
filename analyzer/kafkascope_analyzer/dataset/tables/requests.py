"""Requests with their responses, their partitions, and their errors."""

from kafkascope_analyzer.dataset.contract import CLUSTER, Table, flag, i16, i32, i64, required, text, time
from kafkascope_analyzer.dataset.tables.columns import (
    CAPTURE,
    CODECS,
    CONN,
    COORDINATOR_TYPES,
    ENDPOINTS,
    PACKET,
    REQUEST,
)

REQUEST_STATUSES = ("ok", "no_response_expected", "unanswered", "orphan_response", "undecoded", "not_captured")

PLAIN, TLS_KEYS, TLS_LENGTHS = "plain", "tls_keys", "tls_lengths"
"""Values of decoded_by: the way in which a request was read, or that only record lengths are known."""

REQUESTS = Table(
    "requests",
    "request with its response",
    (
        *required(REQUEST, CONN, CLUSTER),
        *ENDPOINTS,
        text("client_id", "client id of the request header"),
        i32("node_id", "node id of the server; null where the capture does not show it"),
        i16("api_key", "API key"),
        text("api_name", "API name"),
        i16(
            "claimed_api_key",
            "API to which an encrypted request seems to belong, by its lengths and times and the claimed_job "
            "of its connection: claimed, never confirmed; null where they indicate none",
        ),
        i16("api_version", "version of the request"),
        i32("correlation_id", "correlation id"),
        *required(*time("", "first byte of the request (of the response, for an orphan)")),
        i64("request_last_ns", "last byte of the request, nanoseconds since the epoch"),
        i64("response_ns", "first byte of the response, nanoseconds since the epoch"),
        i64("response_last_ns", "last byte of the response, nanoseconds since the epoch"),
        i64("latency_us", "last byte of the request to first byte of the response, microseconds"),
        i64(
            "queued_us",
            "part of latency_us until the last byte of the previous response on the connection, and until the throttle "
            "time in that response was over (KIP-219), microseconds: a broker serves the requests of a connection one "
            "after the other, so that a request after a long poll waits for that first",
        ),
        i64(
            "broker_us",
            "rest of latency_us, microseconds: the broker's own time for the request (including its long "
            "poll), and for previous requests that expect no response",
        ),
        i64("request_bytes", "frame size of the request, with its 4 bytes of length"),
        i64("response_bytes", "frame size of the response, with its 4 bytes of length"),
        i32("in_flight", "requests in flight on the connection when it was sent, including itself"),
        i16(
            "error_code",
            "worst error in fields named error_code (fields with other names count in n_errors, and are in "
            "table errors); 0: none",
        ),
        text("error_name", "name of the error code"),
        i32("n_errors", "non-zero error codes in the response, whatever their field is named"),
        i32("throttle_ms", "throttle time of the response, milliseconds"),
        text("group_id", "consumer, share or streams group of the request"),
        text("member_id", "member id of the request, or of the response where the request has none yet"),
        text("group_instance_id", "group.instance.id of the request"),
        i32("generation_or_epoch", "generation or member epoch of the request"),
        text("transactional_id", "transactional id of the request"),
        text("described", "first of the groups or transactional ids that a request describes or deletes"),
        i64("producer_id", "producer id of the request, or of the response of InitProducerId"),
        i16("producer_epoch", "producer epoch of that producer id"),
        i16("acks", "acks of Produce"),
        i32(
            "max_wait_ms", "max_wait_ms of Fetch: longest time for which the broker may wait for records, milliseconds"
        ),
        i32("min_bytes", "min_bytes of Fetch: bytes for which the broker waits"),
        i16("isolation_level", "isolation level of Fetch or ListOffsets: 0 reads uncommitted, 1 committed records"),
        i32(
            "fetch_session_id",
            "fetch session of the request, or of its response where the request has none; 0: neither has one",
        ),
        i32("fetch_session_epoch", "fetch session epoch of the request"),
        i32("replica_id", "replica id of the request; -1 or null: a client"),
        text("coordinator_type", "key type of FindCoordinator", *COORDINATOR_TYPES),
        text("coordinator_key", "first key of FindCoordinator"),
        flag("committed", "whether EndTxn commits"),
        text("software_name", "client software of ApiVersions"),
        text("software_version", "version of the client software"),
        text("sasl_mechanism", "mechanism of SaslHandshake"),
        i32("n_partitions", "topic-partitions in request and response, the larger of the two numbers"),
        i64("n_records", "records in Produce, or in the response of Fetch and ShareFetch"),
        i64("record_bytes", "bytes of their record batches"),
        *required(
            text(
                "status",
                "whether it was answered; not_captured: the broker responded, because it responded to later "
                "requests of the connection, or missing bytes of the connection may have contained the response",
                *REQUEST_STATUSES,
            ),
            CAPTURE,
        ),
        text(
            "decoded_by",
            "how its bytes were read: plain: as they were on the wire; tls_keys: decrypted with a key log; "
            "tls_lengths: they were not: the request, its times and sizes are inferred from the lengths of "
            "TLS records, and its other columns are claimed, not confirmed",
            PLAIN,
            TLS_KEYS,
            TLS_LENGTHS,
        ),
        i64("request_packet_no", "packet of the request's first byte"),
        i64("response_packet_no", "packet of the response's first byte"),
        flag(
            "out_of_order",
            "whether the response came after the response to a later request of the connection, which "
            "violates Kafka's protocol; null without a response",
        ),
    ),
)

PARTITIONS = Table(
    "partitions",
    "request, and topic-partition in it or its response",
    (
        *required(REQUEST, CONN, CLUSTER, *time("", "first byte of the frame"), i16("api_key", "API key")),
        *required(text("direction", "frame that has the topic-partition", "request", "response")),
        text("topic", "topic name, looked up by the topic id where the frame has only that"),
        text("topic_id", "topic id, 22 characters"),
        *required(i32("partition", "partition")),
        i64("partition_offset", "offset that is requested, committed or returned"),
        i32("leader_epoch", "leader epoch of the frame"),
        i32("leader_id", "leader according to Metadata"),
        i32("current_leader_id", "leader of the KIP-951 hint"),
        i32("current_leader_epoch", "leader epoch of the hint, or the one that the client assumes"),
        i32("preferred_read_replica", "replica to which Fetch sends the consumer"),
        i64("high_watermark", "high watermark"),
        i64("last_stable_offset", "last stable offset"),
        i64("log_start_offset", "log start offset"),
        i16("error_code", "error code of the partition"),
        text("error_name", "its name"),
        i64("record_bytes", "bytes of its record batches"),
        i32("n_batches", "record batches"),
        i64("n_records", "records"),
        i64("first_offset", "offset of the first record in Fetch"),
        i64("last_offset", "last offset of the batches in Fetch, including transaction markers"),
        i64("first_timestamp_ms", "when the first record was created (or appended), milliseconds since the epoch"),
        i64("max_timestamp_ms", "latest time of a record, milliseconds since the epoch"),
        text("codec", "compression of the first record batch; null without one", *CODECS),
        i64("producer_id", "producer id of the first record batch that Produce sends; null without one"),
    ),
)

ERRORS = Table(
    "errors",
    "non-zero error code anywhere in a response",
    (
        REQUEST,
        CONN,
        CLUSTER,
        *time("", "first byte of the response"),
        CAPTURE,
        PACKET,
        text("client_ip", "address of the client"),
        text("client_id", "client id of the request"),
        i32("node_id", "node id of the server; null where the capture does not show it"),
        i16("api_key", "API key"),
        text("api_name", "API name"),
        i16("api_version", "version"),
        text("field_path", "path of the field, such as responses[].partition_responses[].error_code"),
        text("topic", "topic of the error"),
        i32("partition", "partition of the error"),
        text("group_id", "group of the error"),
        text("transactional_id", "transactional id of the error"),
        text("resource", "subject of the error: topic-partition, topic, group, transactional id or node"),
        i16("error_code", "error code"),
        text("error_name", "its name"),
        text("message", "error message of the response"),
        flag("retriable", "whether Kafka's clients may retry"),
    ),
)
