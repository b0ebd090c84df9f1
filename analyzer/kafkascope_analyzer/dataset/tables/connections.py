"""TCP connections, their roles, and their TCP events."""

from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.contract import CLUSTER, Column, Table, flag, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE, CONN, ENDPOINTS, PACKET, SIDES
from kafkascope_parsers.tls.client_libraries import TLS_LIBRARIES

if TYPE_CHECKING:
    from kafkascope_parsers.schema.catalogue import Family

ROLE_FAMILIES: "dict[str, Family]" = {
    "bootstrap": "discovery",
    "partition_leader": "records",
    "follower_fetch": "records",
    "group_coordinator": "group",
    "share_coordinator": "group",
    "transaction_coordinator": "transaction",
    "controller": "broker",
    "inter_broker": "broker",
    "admin": "admin",
    "telemetry": "admin",
}
"""The roles of connections, each with the family of APIs as which it is shown."""
ROLES = tuple(ROLE_FAMILIES)

KEY_TYPES = ("rsa", "ec", "dsa", "ed25519", "ed448")
"""Key types of certificates."""

UNDECODED_REASONS = (
    "gap",
    "mid_stream_start",
    "not_kafka",
    "tls",
    "unknown_api",
    "unknown_version",
    "malformed_body",
    "trailing_zeros",
    "oversize",
    "truncated_by_snaplen",
    "sasl_token",
    "orphan_response",
    "capture_end",
    "connection_end",
    "zookeeper",
    "tls_overhead",
)

ENCRYPTED_ALERT = "encrypted"
"""Stands for an alert that could not be decrypted."""
LIST_SEPARATOR = "\n"
"""Joins the members of a list in a note of a connection (scan.connection_notes). No text of TLS contains it."""


def _certificate(side: str) -> tuple[Column, ...]:
    """Declares the columns about the certificate of a side, where its handshake showed it."""
    return (
        text(
            f"tls_{side}_subject",
            f"whom the {side}'s certificate names, as RFC 4514 writes it; null where none was seen, as in TLS 1.3",
        ),
        texts(f"tls_{side}_names", f"host names and addresses that the {side}'s certificate is for (subjectAltName)"),
        text(f"tls_{side}_issuer", f"who signed the {side}'s certificate"),
        *time(f"tls_{side}_not_before", f"since when the {side}'s certificate is valid"),
        *time(f"tls_{side}_not_after", f"until when the {side}'s certificate is valid; null after 2099"),
        text(f"tls_{side}_key_type", f"kind of the key in the {side}'s certificate", *KEY_TYPES),
        i32(f"tls_{side}_key_bits", "size of that key in bits, such as 2048 for rsa, 256 for ec and ed25519"),
    )


CLOSED_BY_CLIENT, CLOSED_BY_SERVER = ("fin_client", "rst_client"), ("fin_server", "rst_server")
"""Values of close_kind for connections that one side closed."""
COORDINATOR_JOB = "coordinator"
CLAIMED_JOBS = ("fetch", "produce", COORDINATOR_JOB)
"""Jobs that an encrypted connection may seem to have."""
CONSUMER_JOBS = frozenset({"fetch", COORDINATOR_JOB})
"""Jobs of a consumer's encrypted connections."""

CONNECTIONS = Table(
    "connections",
    "TCP connection",
    (
        CONN,
        CLUSTER,
        CAPTURE,
        *ENDPOINTS,
        text("community_id", "Community ID flow hash, version 1, seed 0"),
        text("opened_by", "how client and server were distinguished", "syn", "first_request", "port"),
        *time("syn", "first SYN"),
        *time("synack", "first SYN-ACK"),
        i64("handshake_us", "from SYN to SYN-ACK, microseconds"),
        *time("first", "first segment"),
        *time("last", "last segment"),
        text(
            "close_kind",
            "how it ended",
            "fin_client",
            "fin_server",
            "rst_client",
            "rst_server",
            "open",
            "refused",
            "unanswered",
        ),
        *time("close", "first FIN or RST"),
        i64("idle_before_close_ms", "from the last payload to the first FIN or RST, milliseconds"),
        text("protocol", "its protocol", "kafka", "tls", "http", "proxy", "zookeeper", "other", "empty"),
        text("why", "evidence for the protocol"),
        text("tls_version", "TLS version of the server's hello"),
        text("tls_sni", "server name in the client's hello"),
        text("tls_alpn", "application protocol that the server chose (ALPN)"),
        text("tls_suite", "cipher suite that the server chose, such as TLS_AES_256_GCM_SHA384"),
        text("tls_group", "group of the key exchange, such as x25519"),
        texts("tls_versions_offered", "TLS versions that the client offers, in its order"),
        texts("tls_suites_offered", "cipher suites that the client offers, in its order"),
        texts("tls_alpns_offered", "application protocols that the client offers, in its order"),
        texts("tls_server_extensions", "numbers of the extensions in the server's hello, in its order"),
        text("tls_ja4", "JA4 fingerprint of the client's hello: equal for equal libraries with equal settings"),
        text(
            "tls_claimed_library",
            "TLS library that by default offers these cipher suites in this order: claimed, never confirmed; "
            "null where no known library does",
            *TLS_LIBRARIES,
        ),
        flag("tls_resumed", "whether the handshake resumed a session; null where it does not show"),
        flag("tls_retried", "whether the server asked for a second hello (HelloRetryRequest)"),
        i64("tls_handshake_us", "from the client's hello to the end of the handshake, microseconds"),
        i64("tls_server_us", "part of it from the client's hello to the server's: time of the server and the network"),
        i64(
            "tls_client_us",
            "part of it from the last record of the server's hello, certificate and key to the client's next "
            "record: time of the client to check them, and of the network",
        ),
        flag("tls_decrypted", "whether its TLS records were decrypted; null without TLS"),
        i64(
            "claimed_requests",
            "requests that the lengths of its TLS records show (`requests.decoded_by` tls_lengths); null where they "
            "were decrypted, and where the server is not known to speak Kafka",
        ),
        text(
            "claimed_job",
            "job of the connection, inferred from the lengths and times of these requests: claimed, never "
            "confirmed; null where they indicate none",
            *CLAIMED_JOBS,
        ),
        text("claimed_job_why", "measure that indicates that job"),
        i64(
            "claimed_first_bytes",
            "bytes of the first of these requests, which is ApiVersions for most clients; null where it is "
            "not captured",
        ),
        text(
            "tls_client_alert",
            "first TLS alert of the client that reports an error, such as unknown_ca; `encrypted` where it "
            "ended the handshake with an encrypted alert (TLS 1.3)",
        ),
        text(
            "tls_server_alert",
            "first TLS alert of the server that reports an error, such as certificate_required, or `encrypted`",
        ),
        text(
            "tls_failure",
            "why TLS failed, where there is an alert: expired, not_yet_valid, wrong_name, "
            "no_client_certificate, no_common_version or no_common_suite, where certificates and hellos show "
            "it, else the alert; also null where the server seems to speak another protocol than Kafka, "
            "because of its port, or because the client offers ALPN",
        ),
        *_certificate("server"),
        text(
            "tls_client_certificate",
            "whether the client sent a certificate; missing: the server requested one and the client sent "
            "none (with TLS 1.3 inferred from the length of its message); null where the handshake does not "
            "show it",
            "sent",
            "missing",
            "not_asked",
        ),
        *_certificate("client"),
        text("sasl_mechanism", "SASL mechanism that the client requested"),
        text(
            "principal",
            "user whose login the broker accepted: from the first SASL token, where PLAIN, SCRAM or a JWT of "
            "OAUTHBEARER shows one; else, where the broker responded, the subject of the client's "
            "certificate: on a decrypted connection without SASL, and on others where TLS 1.2 shows it, "
            "although encrypted SASL is possible there",
        ),
        i64("session_lifetime_ms", "lifetime of the SASL session that the broker set last, milliseconds"),
        text("zookeeper_session", "ZooKeeper session that the server granted, as 0x and hex digits"),
        i64(
            "zookeeper_timeout_ms",
            "session timeout that ZooKeeper granted, milliseconds; 0 where the session had expired",
        ),
        flag("zookeeper_closed", "whether the client closed its ZooKeeper session; null where it did not"),
        texts("client_ids", "client ids of its requests, in order of appearance"),
        text("software_name", "client software of ApiVersions"),
        text("software_version", "version of the client software"),
        texts(
            "api_versions_offered",
            "versions that the broker offers, as Api:min-max; null where no ApiVersions response was seen",
        ),
        texts("api_versions_used", "versions that the client used, as Api:version"),
        i32("node_id", "node id of the server; null where the capture does not show it"),
        text("node_id_why", "how the node id was found, or why there is none"),
        text("advertised_host", "host as which the server is advertised"),
        i32("advertised_port", "port as which the server is advertised"),
        texts("roles", "roles of the connection, sorted", *ROLES),
        text("primary_role", "role with the most requests", *ROLES),
        i64("n_requests", "requests seen"),
        i64("n_responses", "responses seen"),
        i64("n_errors", "non-zero error codes in its responses"),
        i32("max_in_flight", "most requests in flight at one time"),
        i64("client_bytes", "stream bytes from the client"),
        i64("server_bytes", "stream bytes from the server"),
        i64("client_segments", "segments from the client"),
        i64("server_segments", "segments from the server"),
        i64("retransmitted", "segments without new bytes, both ways"),
        i64("out_of_order", "segments that arrived before earlier ones, both ways"),
        i64("missing_bytes", "stream bytes that the capture lacks, both ways"),
        i64(
            "tls_bytes",
            "part of undecoded_bytes that is TLS overhead of decrypted data: headers, tags and padding of "
            "records, the handshake; null where nothing was decrypted",
        ),
        i64("undecoded_bytes", "stream bytes that are not decoded frames, both ways"),
        texts(
            "capture_points",
            "capture points that saw it; where two of them measured network times, from the client's side to "
            "the server's; null without --capture-points",
        ),
        i64("n_segments_at_both", "segments that two capture points saw, both ways"),
        i64(
            "to_server_p50_ns",
            "median time from the capture point nearer to the client to the one nearer to the server, "
            "nanoseconds; its error is at most the uncertainty of their clocks",
        ),
        i64("to_server_p99_ns", "99th percentile of that time"),
        i64(
            "to_client_p50_ns",
            "median time from the point nearer to the server to the other, nanoseconds, with the same error",
        ),
        i64("to_client_p99_ns", "99th percentile of that time"),
    ),
)

ROLE_ROWS = Table(
    "roles",
    "connection, role and subject",
    (
        CONN,
        CLUSTER,
        text("role", "the job", *ROLES),
        text("subject", "topic-partition, group or transactional id of the role; null where the role has none"),
        i64("n_requests", "requests for the role"),
        i64("n_confirmed", "responses that proved the role"),
        i64("n_refused", "responses that denied the role"),
        *time("first", "first request of the role; of a confirmed role, the first that a response proved"),
        *time("last", "last request of the role, likewise: a role that moves to another broker ends here"),
        texts("evidence", "ids of the first three requests that prove the verdict"),
        text("verdict", "how certain the role is", "confirmed", "claimed", "refused"),
    ),
)

TCP_EVENT_KINDS = (
    "syn",
    "syn_retry",
    "syn_ack",
    "refused",
    "rst",
    "fin",
    "retransmit",
    "zero_window",
    "keepalive",
    "gap",
    "retransmit_differs",
    "buffer_limit",
    "dsack",
    "window_open",
)

TCP_EVENTS = Table(
    "tcp_events",
    "event of a TCP connection",
    (
        CONN,
        *time("", "when"),
        CAPTURE,
        PACKET,
        text("side", "side that sent it", *SIDES),
        text("event", "what happened", *TCP_EVENT_KINDS),
        i64("seq", "stream offset, from the first byte after the SYN"),
        i64("bytes", "payload bytes of the event"),
    ),
)

UNDECODED = Table(
    "undecoded",
    "range of stream bytes that is not a decoded frame",
    (
        CONN,
        *time("", "first byte of the range"),
        CAPTURE,
        PACKET,
        text("direction", "direction of the bytes", "request", "response"),
        i64("stream_offset", "first byte, from the start of the stream"),
        i64("bytes", "length of the range"),
        text(
            "reason",
            "reason; tls_overhead: bytes that TLS adds to decrypted data, in one row for each direction",
            *UNDECODED_REASONS,
        ),
        text("detail", "details: API, version, field path"),
        text(
            "head",
            "first bytes of another protocol at the start of a direction, as hex: the header of a TLS record,"
            " or the first four letters of HTTP; null for other bytes",
        ),
    ),
)
