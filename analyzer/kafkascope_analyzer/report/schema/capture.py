"""The shapes of what the tables of `ingest` tell: capture, connections, cluster, APIs, errors, latency, traffic."""

from kafkascope_analyzer.connections.broker_release import KRAFT_MODE, ZOOKEEPER_MODE
from kafkascope_analyzer.dataset.tables import CAPTURES, UNDECODED_REASONS
from kafkascope_analyzer.report.model.broker_releases import MIGRATION
from kafkascope_analyzer.report.model.request_rates import RequestRates
from kafkascope_analyzer.report.schema.shapes import (
    Shape,
    columns_of,
    counts,
    fields,
    flag,
    listed,
    number,
    shape_of,
    text,
    texts,
    whole,
)

_FILE: tuple[str, ...] = ("path", "format", "linktype", "snaplen", "n_packets", "n_truncated", "n_dropped")
_FILE += ("n_duplicates", "size_bytes", "cut_at_byte", "cut_why", "unread_bytes", "first_ns", "last_ns")


def capture() -> Shape:
    """Key `capture`."""
    of_file = {name: shape for name, shape in columns_of(CAPTURES).items() if name in _FILE}
    ledger = {
        "stream_bytes": whole("bytes of all TCP directions: decoded_bytes + undecoded_bytes"),
        "decoded_bytes": whole("bytes in decoded frames"),
        "undecoded_bytes": whole("bytes that did not decode; `unread` says why"),
        "zookeeper_bytes": whole("bytes of ZooKeeper's protocol, which are among undecoded_bytes"),
        "missing_bytes": whole("bytes that the capture lacks"),
    }
    keys = {
        "files": listed("the files read, in order", fields("a file", of_file)),
        "start_ns": whole("first packet", null=True),
        "end_ns": whole("last packet", null=True),
        "start": text("first packet, for people (UTC)", null=True),
        "duration_us": whole("first to last packet", null=True),
        "n_packets": whole("packets"),
        "n_truncated": whole("packets that the snap length cut"),
        "n_duplicates": whole("packets that show another once more"),
        "n_dropped": whole("packets that the capturing program dropped; null where no file tells", null=True),
        "ledger": fields("where the bytes of the streams went", ledger),
    }
    return fields("what was read", keys)


def _by(name: str, doc: str) -> Shape:
    return listed(doc, fields("one of them", {name: text(doc, null=True), "n": whole("how many")}))


def connections() -> Shape:
    """Key `connections`."""
    keys = {
        "n": whole("TCP connections"),
        "by_protocol": _by("protocol", "what they speak"),
        "by_close": _by("close_kind", "how they ended"),
        "by_opening": _by("opened_by", "what told client from server"),
    }
    return fields("how many TCP connections, what they speak, how they began and ended", keys)


def cluster() -> Shape:
    """Key `cluster`."""
    broker = {
        "node_id": whole("node id"),
        "addresses": texts("addresses at which it answered, the commonest first"),
        "advertised": texts("what it advertises"),
        "rack": text("rack", null=True),
        "releases": listed(
            "releases of Kafka that it ran, by time",
            fields(
                "one of them",
                {
                    "release": text("the releases that offer such versions of APIs, or `unknown`"),
                    "first_ns": whole("first connection that was told so"),
                    "last_ns": whole("last one"),
                },
            ),
        ),
        "n_connections": whole("connections to it"),
        "n_requests": whole("requests on them"),
        "n_errors": whole("non-zero error codes in its answers"),
    }
    loose = {"address": text("address"), "n_connections": whole("connections to it")}
    keys = {
        "cluster_ids": texts("cluster ids"),
        "controllers": listed("node ids that were named as controller", {"type": "integer"}),
        "mode": text("how it keeps its metadata", ZOOKEEPER_MODE, KRAFT_MODE, MIGRATION, null=True),
        "sentence": text("mode and releases for people", null=True),
        "n_brokers": whole("brokers"),
        "brokers": listed("brokers by node id, at most 200", fields("a broker", broker)),
        "servers_without_node_id": listed("servers of Kafka whose node id is not known", fields("a server", loose)),
    }
    return fields("the brokers", keys)


def apis() -> Shape:
    """Key `apis`."""
    api = {
        "api_name": text("API"),
        "n": whole("requests"),
        "versions": listed("versions of the requests", {"type": "integer"}),
        "p50_us": whole("median latency (at most 0.8 % low), as all percentiles here", null=True),
        "p99_us": whole("99th percentile", null=True),
        "max_us": whole("longest", null=True),
        "n_with_errors": whole("answers with an error code"),
        "statuses": counts("what became of the requests"),
        "request_bytes": whole("bytes of the requests"),
        "response_bytes": whole("bytes of the answers"),
    }
    return listed("each API that was asked for, the most frequent first", fields("an API", api))


def errors() -> Shape:
    """Key `errors`."""
    kind = {
        "error_name": text("error"),
        "api_name": text("API that answered it"),
        "n": whole("times"),
        "first_ns": whole("first time"),
        "last_ns": whole("last time"),
    }
    keys = {
        "n": whole("non-zero error codes"),
        "n_kinds": whole("pairs of error and API"),
        "kinds": listed("pairs, the most frequent first, at most 40", fields("an error of an API", kind)),
    }
    return fields("error codes in the brokers' answers", keys)


def unread() -> Shape:
    """Key `unread`."""
    stretch = {
        "reason": text("why", *UNDECODED_REASONS, "unknown"),
        "n": whole("stretches"),
        "bytes": whole("their bytes"),
        "n_details": whole("different details"),
        "details": texts("the commonest details"),
    }
    event = {"event": text("event of table tcp_events"), "n": whole("times")}
    keys = {
        "undecoded": listed("stream bytes that are no decoded frame, by reason", fields("a reason", stretch)),
        "n_connections": whole("connections"),
        "n_without_start": whole("connections whose SYN is not in the capture"),
        "n_still_open": whole("connections that were open at its end"),
        "n_with_gaps": whole("connections of which bytes are missing"),
        "missing_bytes": whole("bytes that are missing"),
        "n_one_direction": whole("connections of which one direction is there"),
        "n_encrypted": whole("connections that speak TLS"),
        "tcp_events": listed("TCP events that hint at trouble", fields("an event", event)),
        "limits_hit": counts("what was left out at each limit"),
    }
    return fields("what the capture could not show", keys)


def _server() -> dict[str, Shape]:
    return {
        "node_id": whole("node id of the broker", null=True),
        "address": text("its address, where the node id is not known", null=True),
    }


def request_rates() -> Shape:
    """Key `request_rates`."""
    return shape_of(RequestRates, "requests a second and their latency over the capture, by family of APIs")


def latency() -> Shape:
    """Key `latency`."""
    trip = {
        **_server(),
        "n_handshakes": whole("handshakes seen"),
        "round_trip_p50_us": whole("SYN to SYN-ACK, median", null=True),
        "round_trip_p99_us": whole("99th percentile", null=True),
    }
    pair = {
        "api_name": text("API"),
        **_server(),
        "n": whole("answered requests"),
        "broker_p50_us": whole("last byte of the request to first byte of the answer, median", null=True),
        "broker_p99_us": whole("99th percentile", null=True),
        "network_p50_us": whole("first to last byte of the request and of the answer, median", null=True),
        "network_p99_us": whole("99th percentile", null=True),
        "max_us": whole("longest time at the broker", null=True),
    }
    keys = {
        "brokers": listed("round trips as the capture saw them: part of the broker's time", fields("a broker", trip)),
        "n": whole("pairs of API and broker"),
        "listed": listed("pairs, those with most requests first, at most 500", fields("a pair", pair)),
    }
    return fields("how fast each broker answered each API", keys)


def leaders() -> Shape:
    """Key `leaders`."""
    leader = {
        "node_id": whole("node id"),
        "n_partitions": whole("partitions that it was seen to lead; null where there are too many", null=True),
        "n_produce": whole("Produce requests"),
        "produce_bytes": whole("bytes of record batches in them"),
        "produce_records": whole("records in them"),
        "n_fetch": whole("clients' Fetch requests"),
        "fetch_bytes": whole("bytes of record batches in the answers"),
        "fetch_records": whole("records in them"),
    }
    keys = {
        "n": whole("brokers that clients wrote to or read from"),
        "skew": number("the most loaded one's bytes over an even share: 1.0 is even", null=True),
        "listed": listed("brokers by node id, at most 200", fields("a broker", leader)),
    }
    return fields("how evenly partition leaders share the load", keys)


def client_traffic() -> Shape:
    """Key `client_traffic`."""
    figures = {
        "n": whole("requests"),
        "n_records": whole("records"),
        "record_bytes": whole("bytes of record batches"),
        "records_a_request": number("records a request", null=True),
        "bytes_a_request": whole("bytes of record batches a request", null=True),
    }
    produce = {
        **figures,
        "bytes_a_batch": whole("bytes a batch: one a partition and request", null=True),
        "acks": counts("requests by acks"),
        "codecs": counts("batches by compression"),
    }
    fetch = {
        **figures,
        "n_empty": whole("answers without records"),
        "max_wait_ms": whole("commonest max_wait_ms", null=True),
        "min_bytes": whole("commonest min_bytes", null=True),
    }
    client = {
        "client_ip": text("address", null=True),
        "client_id": text("client id", null=True),
        "n_requests": whole("requests of all APIs"),
        "produce": fields("its Produce requests; null without any", produce, null=True),
        "fetch": fields("its Fetch and ShareFetch requests; null without any", fetch, null=True),
        "requests_a_record": number("requests of all APIs a record: much above 1 is chatty", null=True),
    }
    keys = {
        "codecs_known": flag("whether compression was read (--record-batches)"),
        "n": whole("clients that sent or fetched"),
        "listed": listed("clients, those that moved most first, at most 200", fields("a client", client)),
    }
    return fields("how each client (address and client id) sends and fetches", keys)


def removed_versions() -> Shape:
    """Key `removed_versions`."""
    use = {
        "client_ip": text("address", null=True),
        "client_id": text("client id", null=True),
        "api_key": whole("API key"),
        "api_name": text("API", null=True),
        "api_version": whole("version"),
        "n": whole("requests"),
        "first_ns": whole("first request"),
        "last_ns": whole("last request"),
        "software_name": text("client software, where ApiVersions told", null=True),
        "software_version": text("its version", null=True),
        "lowest_in_4_0": whole("lowest version that 4.0 has; null where the API is gone", null=True),
    }
    keys = {
        "n": whole("uses: client, API, version"),
        "n_requests": whole("requests"),
        "listed": listed("uses, the most frequent first, at most 200", fields("a use", use)),
    }
    return fields("who uses API versions that Kafka 4.0 removed (KIP-896)", keys)
