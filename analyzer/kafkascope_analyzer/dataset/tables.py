"""The tables that ingest writes. Messages (`messages/<Api>/request|response`) take their types from Kafka's own
schemas and are not listed here.
"""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, flag, i16, i32, i64, required, text, texts, time

ROLES = (
    "bootstrap",
    "partition_leader",
    "follower_fetch",
    "group_coordinator",
    "share_coordinator",
    "transaction_coordinator",
    "controller",
    "inter_broker",
    "admin",
    "telemetry",
)
UNDECODED_REASONS = (
    "gap",
    "mid_stream_start",
    "not_kafka",
    "tls",
    "unknown_api",
    "unknown_version",
    "malformed_body",
    "oversize",
    "truncated_by_snaplen",
    "sasl_token",
    "orphan_response",
    "capture_end",
)
REQUEST_STATUSES = ("ok", "no_response_expected", "unanswered", "orphan_response", "undecoded")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CONTROLS = (
    "abort",
    "commit",
    "leader_change",
    "snapshot_header",
    "snapshot_footer",
    "kraft_version",
    "kraft_voters",
    "other",
)
COORDINATOR_TYPES = ("group", "transaction", "share")
SIDES = ("client", "server")

_CONN = text("conn_id", "connection: the same however the capture was cut or bucketed")
_CAPTURE = i32("capture_id", "input file, in the manifest's order")
_REQUEST = text("request_id", "conn_id and the number of the request on it")
_PACKET = i64("packet_no", "number of the packet in its file, from 1")
_ENDPOINTS = (
    text("client_ip", "address of the client"),
    i32("client_port", "port of the client"),
    text("server_ip", "address of the server"),
    i32("server_port", "port of the server"),
)

CAPTURES = Table(
    "captures",
    "input file",
    (
        _CAPTURE,
        text("path", "file name as given"),
        text("format", "file format", "pcap", "pcapng"),
        text("linktype", "link-layer types of its interfaces, comma separated"),
        i64("snaplen", "longest packet part kept, bytes; 0 is no limit"),
        i64("n_packets", "packets in the file"),
        i64("n_truncated", "packets cut by the snap length"),
        i64("n_dropped", "packets the capturing program says it dropped; null where it does not say"),
        i64("n_duplicates", "packets that the file shows once more: several interfaces, port mirroring; not counted"),
        i64("n_not_tcp", "sound packets without TCP"),
        i64("n_malformed", "packets whose headers are broken, or cut before the end of the TCP header"),
        i64("n_unsupported", "packets of a link type that is not read"),
        i64("n_incomplete", "IP packets in fragments that did not all come"),
        i64("size_bytes", "size of the file"),
        i64("cut_at_byte", "first byte of the unpacked file that could not be read; null where all could"),
        text("cut_why", "why it could not be read"),
        i64("unread_bytes", "bytes of the unpacked file that could not be read, there and further on"),
        *time("first", "time of the first packet"),
        *time("last", "time of the last packet"),
    ),
)

CONNECTIONS = Table(
    "connections",
    "TCP connection",
    (
        _CONN,
        _CAPTURE,
        *_ENDPOINTS,
        text("community_id", "Community ID flow hash, version 1, seed 0"),
        text("opened_by", "what told client from server", "syn", "first_request", "port"),
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
        text("protocol", "what it speaks", "kafka", "tls", "http", "other", "empty"),
        text("why", "what made us say so"),
        text("tls_version", "TLS version of the server's hello"),
        text("tls_sni", "server name in the client's hello"),
        text("tls_alpn", "application protocol chosen"),
        flag("tls_decrypted", "whether the TLS content could be read"),
        text("sasl_mechanism", "SASL mechanism asked for"),
        text("principal", "user name of the first SASL token, where PLAIN or SCRAM shows one"),
        i64("session_lifetime_ms", "lifetime of the SASL session that the broker set last, milliseconds"),
        texts("client_ids", "client ids of its requests, in order of appearance"),
        text("software_name", "client software of ApiVersions"),
        text("software_version", "version of the client software"),
        texts(
            "api_versions_offered", "what the broker offers, as Api:min-max; null where no ApiVersions answer was seen"
        ),
        texts("api_versions_used", "what the client used, as Api:version"),
        i32("node_id", "node id of the server; null where the capture does not tell"),
        text("node_id_why", "what told the node id"),
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
        i64("undecoded_bytes", "stream bytes that are not decoded frames, both ways"),
    ),
)

ROLE_ROWS = Table(
    "roles",
    "connection, role and subject",
    (
        _CONN,
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

REQUESTS = Table(
    "requests",
    "request with its response",
    (
        *required(_REQUEST, _CONN),
        *_ENDPOINTS,
        text("client_id", "client id of the request header"),
        i32("node_id", "node id of the server; null where the capture does not tell"),
        i16("api_key", "API key"),
        text("api_name", "API name"),
        i16("api_version", "version of the request"),
        i32("correlation_id", "correlation id"),
        *required(*time("", "first byte of the request (of the response, for an orphan)")),
        i64("request_last_ns", "last byte of the request, nanoseconds since the epoch"),
        i64("response_ns", "first byte of the response, nanoseconds since the epoch"),
        i64("response_last_ns", "last byte of the response, nanoseconds since the epoch"),
        i64("latency_us", "last byte of the request to first byte of the response, microseconds"),
        i64("request_bytes", "frame size of the request, with its 4 bytes of length"),
        i64("response_bytes", "frame size of the response, with its 4 bytes of length"),
        i32("in_flight", "requests of the connection waiting for an answer when it was sent, itself included"),
        i16(
            "error_code",
            "worst of the fields named error_code (other names are counted, and in errors); 0 is none",
        ),
        text("error_name", "name of the error code"),
        i32("n_errors", "non-zero error codes in the response, whatever their field is named"),
        i32("throttle_ms", "throttle time of the response, milliseconds"),
        text("group_id", "consumer, share or streams group of the request"),
        text("member_id", "member id of the request, or of the response where the request has none yet"),
        text("group_instance_id", "group.instance.id of the request"),
        i32("generation_or_epoch", "generation or member epoch of the request"),
        text("transactional_id", "transactional id of the request"),
        text("described", "first group or transactional id that a request about several describes or deletes"),
        i64("producer_id", "producer id of the request, or of the response of InitProducerId"),
        i16("producer_epoch", "producer epoch beside it"),
        i16("acks", "acks of Produce"),
        i32("max_wait_ms", "longest wait of Fetch, milliseconds"),
        i32("min_bytes", "least bytes of Fetch"),
        i32("fetch_session_id", "fetch session of the request"),
        i32("fetch_session_epoch", "fetch session epoch of the request"),
        i32("replica_id", "replica id of the request: -1 or null is a client"),
        text("coordinator_type", "key type of FindCoordinator", *COORDINATOR_TYPES),
        text("coordinator_key", "first key of FindCoordinator"),
        flag("committed", "whether EndTxn commits"),
        text("software_name", "client software of ApiVersions"),
        text("software_version", "version of the client software"),
        text("sasl_mechanism", "mechanism of SaslHandshake"),
        i32("n_partitions", "topic-partitions named in request and response, the larger of the two"),
        i64("n_records", "records in Produce, or in the response of Fetch and ShareFetch"),
        i64("record_bytes", "bytes of their record batches"),
        *required(text("status", "what became of it", *REQUEST_STATUSES), _CAPTURE),
        i64("request_packet_no", "packet of the request's first byte"),
        i64("response_packet_no", "packet of the response's first byte"),
    ),
)

PARTITIONS = Table(
    "partitions",
    "request and topic-partition that it or its response names",
    (
        *required(_REQUEST, _CONN, *time("", "first byte of the frame"), i16("api_key", "API key")),
        *required(text("direction", "which frame names it", "request", "response")),
        text("topic", "topic name, looked up by the topic id where the frame has only that"),
        text("topic_id", "topic id, 22 characters"),
        *required(i32("partition", "partition")),
        i64("offset", "offset asked for, committed or given"),
        i32("leader_epoch", "leader epoch of the frame"),
        i32("leader_id", "leader that Metadata names"),
        i32("current_leader_id", "leader of the KIP-951 hint"),
        i32("current_leader_epoch", "leader epoch of the hint, or that the client believes in"),
        i32("preferred_read_replica", "replica that Fetch sends the consumer to"),
        i64("high_watermark", "high watermark"),
        i64("last_stable_offset", "last stable offset"),
        i64("log_start_offset", "log start offset"),
        i16("error_code", "error code of the partition"),
        text("error_name", "its name"),
        i64("record_bytes", "bytes of its record batches"),
        i32("n_batches", "record batches"),
        i64("n_records", "records"),
    ),
)

RECORD_BATCHES = Table(
    "record_batches",
    "record batch in Produce, Fetch or ShareFetch, as its header says",
    (
        _REQUEST,
        _CONN,
        *time("", "first byte of the frame"),
        i16("api_key", "API key"),
        text("direction", "which frame carries it", "request", "response"),
        text("topic", "topic name, looked up by the topic id where the frame has only that"),
        text("topic_id", "topic id, 22 characters"),
        i32("partition", "partition"),
        i64("base_offset", "offset of the first record (of the last one, in a compressed message of magic 0 or 1)"),
        i64("n_records", "records; null for a compressed message of magic 0 or 1, which must be opened to count them"),
        i16("magic", "format: 0, 1 or 2"),
        text("codec", "compression; null for a number that Kafka does not have", *CODECS),
        i64("bytes", "size with its header"),
        flag("crc_ok", "whether the bytes have the checksum in the header (CRC-32C; CRC-32 below magic 2)"),
        text("timestamp_type", "who set the timestamps; null in magic 0, which has none", "create", "log_append"),
        i64("first_timestamp_ms", "timestamp of the first record, milliseconds since the epoch"),
        i64("max_timestamp_ms", "greatest timestamp, milliseconds since the epoch"),
        i64("producer_id", "producer id"),
        i16("producer_epoch", "producer epoch"),
        i32("base_sequence", "sequence of the first record"),
        i32("leader_epoch", "leader epoch that the broker wrote into it"),
        flag("transactional", "whether it is part of a transaction"),
        text("control", "what a control batch says; null for data", *CONTROLS),
    ),
)

RECORDS = Table(
    "records",
    "record in Produce, Fetch or ShareFetch; empty unless asked for with --records",
    (
        _REQUEST,
        _CONN,
        *time("", "first byte of the frame"),
        i16("api_key", "API key"),
        text("direction", "which frame carries it", "request", "response"),
        text("topic", "topic name, looked up by the topic id where the frame has only that"),
        text("topic_id", "topic id, 22 characters"),
        i32("partition", "partition"),
        i64("batch_offset", "base offset of its batch"),
        i64("offset", "its offset"),
        i64("timestamp_ms", "its timestamp, milliseconds since the epoch"),
        i32("key_length", "bytes of the key; null for a null key"),
        i32("value_length", "bytes of the value; null for a null value"),
        texts("header_names", "names of its headers, in order"),
        text("control", "what a control record says; null for data", *CONTROLS),
        text("problem", "why the batch could not be opened: then this row stands for its records"),
        Column("key", pa.binary(), "the key; null unless asked for with --payloads"),
        Column("value", pa.binary(), "the value; null unless asked for with --payloads"),
        Column("header_values", pa.list_(pa.binary()), "values of its headers; null unless asked for with --payloads"),
    ),
)

ERRORS = Table(
    "errors",
    "non-zero error code anywhere in a response",
    (
        _REQUEST,
        _CONN,
        *time("", "first byte of the response"),
        _CAPTURE,
        _PACKET,
        text("client_ip", "address of the client"),
        text("client_id", "client id of the request"),
        i32("node_id", "node id of the server; null where the capture does not tell"),
        i16("api_key", "API key"),
        text("api_name", "API name"),
        i16("api_version", "version"),
        text("where", "path of the field, as in responses[].partition_responses[].error_code"),
        text("topic", "topic it is about"),
        i32("partition", "partition it is about"),
        text("group_id", "group it is about"),
        text("transactional_id", "transactional id it is about"),
        text("resource", "what it is about: topic-partition, topic, group, transactional id or node"),
        i16("error_code", "error code"),
        text("error_name", "its name"),
        text("message", "error message beside it"),
        flag("retriable", "whether Kafka's clients may try again"),
    ),
)

TOPOLOGY = Table(
    "topology",
    "fact learned about the cluster",
    (
        *time("", "when it was learned"),
        text("kind", "what it is", "broker", "leader", "coordinator", "controller", "cluster", "topic"),
        i32("node_id", "the node it names"),
        text("host", "advertised host"),
        i32("port", "advertised port"),
        text("rack", "rack"),
        text("topic", "topic"),
        text("topic_id", "topic id"),
        i32("partition", "partition"),
        i32("leader_epoch", "leader epoch"),
        text("coordinator_key", "group or transactional id"),
        text("coordinator_type", "what is coordinated", *COORDINATOR_TYPES),
        text("cluster_id", "cluster id"),
        _REQUEST,
        _CONN,
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
)

TCP_EVENTS = Table(
    "tcp_events",
    "event of a TCP connection",
    (
        _CONN,
        *time("", "when"),
        _CAPTURE,
        _PACKET,
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
        _CONN,
        *time("", "first byte of the stretch"),
        _CAPTURE,
        _PACKET,
        text("direction", "which way", "request", "response"),
        i64("stream_offset", "first byte, from the start of the stream"),
        i64("bytes", "length of the stretch"),
        text("reason", "why", *UNDECODED_REASONS),
        text("detail", "more about it: API, version, field path"),
        text(
            "head", "first 16 bytes as hex, where they are a header or a foreign protocol's: never records or secrets"
        ),
    ),
)

DNS = Table(
    "dns",
    "question to a name server, with its answer",
    (
        *time("", "the question (the answer, where the capture lacks the question)"),
        *_ENDPOINTS,
        text("transport", "how it was carried", "udp", "tcp"),
        text("name", "name asked for: lower case, without the last dot, odd bytes as \\DDD"),
        text("type", "type asked for, as in A or AAAA"),
        text("rcode", "the answer's code, as in NOERROR or NXDOMAIN; null where there is no answer"),
        texts("addresses", "addresses of the answer, in its order"),
        texts("aliases", "names that the answer says the name stands for (CNAME), in its order"),
        i64("answer_ns", "the answer, nanoseconds since the epoch"),
        i64("latency_us", "from question to answer, microseconds"),
        _CAPTURE,
        _PACKET,
    ),
)

INGEST_TABLES: tuple[Table, ...] = (
    CAPTURES,
    CONNECTIONS,
    ROLE_ROWS,
    REQUESTS,
    PARTITIONS,
    RECORD_BATCHES,
    RECORDS,
    ERRORS,
    TOPOLOGY,
    TCP_EVENTS,
    DNS,
    UNDECODED,
)

MESSAGE_KEYS: tuple[Column, ...] = required(
    _REQUEST,
    _CONN,
    *time("", "first byte of the frame"),
    Column("api_version", pa.int16(), "version of the message"),
)
"""The columns that stand before Kafka's own fields in `messages/<Api>/request|response`."""
