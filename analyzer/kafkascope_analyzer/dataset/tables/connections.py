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
        i32(f"tls_{side}_key_bits", "size of that key in bits: 2048 of rsa, 256 of ec and ed25519"),
    )


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
        text("protocol", "what it speaks", "kafka", "tls", "http", "zookeeper", "other", "empty"),
        text("why", "what made us say so"),
        text("tls_version", "TLS version of the server's hello"),
        text("tls_sni", "server name in the client's hello"),
        text("tls_alpn", "application protocol chosen"),
        text("tls_suite", "cipher suite that the server chose, as TLS_AES_256_GCM_SHA384"),
        text("tls_group", "group of the key exchange, as x25519"),
        texts("tls_versions_offered", "TLS versions that the client offers, in its order"),
        texts("tls_suites_offered", "cipher suites that the client offers, in its order"),
        texts("tls_alpns_offered", "application protocols that the client offers, in its order"),
        texts("tls_server_extensions", "numbers of the extensions in the server's hello, in its order"),
        text("tls_ja4", "JA4 fingerprint of the client's hello: equal for equal libraries with equal settings"),
        text(
            "tls_claimed_library",
            "TLS library whose default the cipher suites of the client's hello are, by their order: claimed, never "
            "confirmed; null where they are no known one's",
            *TLS_LIBRARIES,
        ),
        flag("tls_resumed", "whether the handshake resumed a session; null where it does not show"),
        flag("tls_retried", "whether the server asked for a second hello (HelloRetryRequest)"),
        i64("tls_handshake_us", "from the client's hello to the end of the handshake, microseconds"),
        i64("tls_server_us", "of it, from the client's hello to the server's: what the server took, and the network"),
        i64(
            "tls_client_us",
            "of it, from the last record of the server's hello, certificate and key to the client's next: what the "
            "client took to check them, and the network",
        ),
        flag("tls_decrypted", "whether its TLS records were decrypted; null where it is no TLS"),
        i64(
            "claimed_requests",
            "requests that the lengths of its TLS records show (`requests.decoded_by` tls_lengths); null where they "
            "were decrypted, and where the server is not known to speak Kafka",
        ),
        text(
            "claimed_job",
            "what most of these seem to do, by lengths and times: claimed, never confirmed; null where nothing speaks "
            "for it",
            *CLAIMED_JOBS,
        ),
        text("claimed_job_why", "the measure that speaks for that job"),
        i64(
            "claimed_first_bytes",
            "bytes of the first of these requests, ApiVersions of most clients; null where it is not captured",
        ),
        text(
            "tls_client_alert",
            "first TLS alert of the client that says what is wrong, as unknown_ca; `encrypted` where it ended the "
            "handshake by one that is encrypted (TLS 1.3)",
        ),
        text(
            "tls_server_alert",
            "first TLS alert of the server that says what is wrong, as certificate_required, or `encrypted`",
        ),
        text(
            "tls_failure",
            "why TLS was given up, where an alert says so: expired, not_yet_valid, wrong_name, no_client_certificate, "
            "no_common_version or no_common_suite, where certificates and hellos show it, else the alert; null too "
            "where the server seems to speak another protocol than Kafka: by its port, or as the client offers ALPN",
        ),
        *_certificate("server"),
        text(
            "tls_client_certificate",
            "whether the client sent a certificate of its own; missing: it was asked for one and sent none, of TLS 1.3 "
            "by the length of its message; null where the handshake does not show it",
            "sent",
            "missing",
            "not_asked",
        ),
        *_certificate("client"),
        text("sasl_mechanism", "SASL mechanism asked for"),
        text(
            "principal",
            "user whom the broker let in: of the first SASL token, where PLAIN, SCRAM or a JWT of OAUTHBEARER shows "
            "one; else, where it answered, the subject of the client's certificate: on a decrypted connection without "
            "SASL; on others too, where TLS 1.2 shows it, though there may be SASL in what is encrypted",
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
            "api_versions_offered", "what the broker offers, as Api:min-max; null where no ApiVersions answer was seen"
        ),
        texts("api_versions_used", "what the client used, as Api:version"),
        i32("node_id", "node id of the server; null where the capture does not show it"),
        text("node_id_why", "how the node id was found; else why there is none"),
        text("advertised_host", "host by which the server is advertised"),
        i32("advertised_port", "port by which the server is advertised"),
        texts("roles", "roles of the connection, sorted", *ROLES),
        text("primary_role", "the role that most of its requests served", *ROLES),
        i64("n_requests", "requests seen"),
        i64("n_responses", "responses seen"),
        i64("n_errors", "non-zero error codes in its responses"),
        i32("max_in_flight", "most requests that waited for an answer at one time"),
        i64("client_bytes", "stream bytes from the client"),
        i64("server_bytes", "stream bytes from the server"),
        i64("client_segments", "segments from the client"),
        i64("server_segments", "segments from the server"),
        i64("retransmitted", "segments that carried nothing new, both ways"),
        i64("out_of_order", "segments that came before their turn, both ways"),
        i64("missing_bytes", "stream bytes that the capture lacks, both ways"),
        i64(
            "tls_bytes",
            "of undecoded_bytes, those of TLS around what was decrypted: headers, tags and padding of records, the "
            "handshake; null where nothing was decrypted",
        ),
        i64("undecoded_bytes", "stream bytes that are not decoded frames, both ways"),
        texts(
            "capture_points",
            "capture points that saw it; where two of them measured it, from the client's side to the server's; null "
            "without --capture-points",
        ),
        i64("n_segments_at_both", "segments that two capture points saw, both ways"),
        i64(
            "to_server_p50_ns",
            "median time from the capture point nearer to the client to the one nearer to the server, nanoseconds; "
            "wrong by the uncertainty of their clocks at most",
        ),
        i64("to_server_p99_ns", "99th percentile of the same"),
        i64("to_client_p50_ns", "median time from the point nearer to the server to the other, likewise"),
        i64("to_client_p99_ns", "99th percentile of the same"),
    ),
)

ROLE_ROWS = Table(
    "roles",
    "connection, role and subject",
    (
        CONN,
        CLUSTER,
        text("role", "the job", *ROLES),
        text("subject", "topic-partition, group or transactional id it is done for; null where the role has none"),
        i64("n_requests", "requests that asked for it"),
        i64("n_confirmed", "answers that proved it"),
        i64("n_refused", "answers that denied it"),
        *time("first", "first request of the role; where it is confirmed, of those that an answer proved"),
        *time("last", "last request of the role, likewise: a role that moves away ends here"),
        texts("evidence", "request ids that prove the verdict, the first three"),
        text("verdict", "how sure it is", "confirmed", "claimed", "refused"),
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
        text("side", "who sent it", *SIDES),
        text("event", "what happened", *TCP_EVENT_KINDS),
        i64("seq", "stream offset, from the first byte after the SYN"),
        i64("bytes", "payload bytes it is about"),
    ),
)

UNDECODED = Table(
    "undecoded",
    "stretch of stream bytes that is not a decoded frame",
    (
        CONN,
        *time("", "first byte of the stretch"),
        CAPTURE,
        PACKET,
        text("direction", "which way", "request", "response"),
        i64("stream_offset", "first byte, from the start of the stream"),
        i64("bytes", "length of the stretch"),
        text(
            "reason",
            "why; tls_overhead: what TLS adds to what was decrypted, all bytes of the direction in one row",
            *UNDECODED_REASONS,
        ),
        text("detail", "more about it: API, version, field path"),
        text(
            "head",
            "what names a foreign protocol at the start of a direction, as hex: the header of a TLS record, the first "
            "four letters of HTTP; nothing of other bytes",
        ),
    ),
)
