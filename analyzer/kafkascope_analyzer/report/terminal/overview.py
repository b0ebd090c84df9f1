"""The parts of the report that come from the tables of `ingest`: input, cluster, requests, errors.

Times are relative to the start of the capture, which is given once in full.
"""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import clock, count, list_of, node, percent, safe, size, span
from kafkascope_analyzer.report.model.cluster import Broker, Cluster
from kafkascope_analyzer.report.model.data_quality import doubts
from kafkascope_analyzer.report.model.traffic import Traffic
from kafkascope_analyzer.report.terminal.layout import MOST_BROKERS, grid, heading, line, more

MOST_APIS = 14
MOST_ERRORS = 8
MOST_FILES = 6
MOST_UNCOVERED = 6


def render_overview(model: Traffic) -> Iterator[RenderableType]:
    """Yields all parts, in order."""
    yield from render_head(model)
    yield from render_traffic(model)
    yield from render_unread(model)


def render_traffic(model: Traffic) -> Iterator[RenderableType]:
    """Yields the cluster, its requests and errors."""
    yield from render_cluster(model.cluster)
    yield from render_apis(model)
    yield from render_errors(model)


def render_head(model: Traffic) -> Iterator[RenderableType]:
    """Yields the input files, and how much of them is Kafka."""
    capture, ledger = model.capture, model.capture.ledger
    if capture.of_cluster:
        yield heading(f"Cluster {safe(capture.of_cluster.cluster)}, {capture.of_cluster.place}")
    names = [safe(f.path) for f in capture.files]
    yield line(("kafkascope", "bold"), " · ", (list_of(names, MOST_FILES), "bold"))
    if capture.start_ns is None:
        yield line("no packets")
        return
    yield line(f"{capture.start} · {span(capture.duration_us)} · {capture.packets}")
    yield from (line((time.text, "yellow")) for time in capture.uncovered[:MOST_UNCOVERED])
    yield line(("times below are mm:ss.mmm after that; times of day are UTC", "dim"))
    found = model.connections
    spoken = [f"{row.n:,} {row.protocol or 'unknown'}" for row in found.by_protocol]
    yield line(f"{count(found.n, 'TCP connection')}: {', '.join(spoken) or 'none'}")
    if ledger and ledger.stream_bytes:
        kafka_bytes = ledger.kafka_bytes
        share = percent(ledger.decoded_bytes, kafka_bytes)
        other = f"; {size(ledger.zookeeper_bytes)} of ZooKeeper's protocol" if ledger.zookeeper_bytes else ""
        missing = f"; {size(ledger.missing_bytes)} missing from the capture" if ledger.missing_bytes else ""
        yield line(f"{share} of {size(kafka_bytes)} of stream decoded as Kafka{other}{missing}")
    for sentence in model.capture_points.sentences:
        yield line("• " + sentence)


def render_cluster(cluster: Cluster) -> Iterator[RenderableType]:
    """Yields the brokers."""
    if not cluster.brokers and not cluster.servers_without_node_id:
        return
    yield heading("Cluster")
    if cluster.cluster_ids:
        yield line("cluster id " + ", ".join(safe(c) for c in cluster.cluster_ids))
    if cluster.sentence:
        yield line(cluster.sentence)
    if cluster.brokers:
        figures = (("conns", "rn"), ("requests", "rn"), ("errors", "rn"))
        table = grid(("broker", "n"), *figures, ("rack", ""))
        for broker in cluster.brokers[:MOST_BROKERS]:
            table.add_row(
                Text("\n".join([node(broker.node_id, broker.address), *_other_addresses(broker)])),
                f"{broker.n_connections:,}",
                _figure(broker.n_requests),
                _figure(broker.n_errors),
                Text(safe(broker.rack or "")),
            )
        yield table
        yield from more(cluster.n_brokers - MOST_BROKERS, "broker", "table topology")
    loose = [f"{safe(s.address)} ({count(s.n_connections, 'connection')})" for s in cluster.servers_without_node_id]
    if loose:
        yield line("node id not known: " + list_of(loose, 4))


def _figure(n: int | None) -> str:
    return "" if n is None else f"{n:,}"


def _other_addresses(broker: Broker) -> list[str]:
    """Returns the line with the addresses that the broker advertises besides the one in the table; empty
    without such."""
    names = [safe(name) for name in broker.advertised if name != broker.address]
    return [f"  advertised as {list_of(names, 2)}"] if names else []


def render_apis(model: Traffic) -> Iterator[RenderableType]:
    """Yields how often each API was requested, and how fast the responses were."""
    if not model.apis:
        return
    yield heading("Requests")
    figures = ("count", "p50", "p99", "errors", "no reply")
    table = grid(("API", "n"), ("versions", ""), *((name, "rn") for name in figures))
    for api in model.apis[:MOST_APIS]:
        unanswered = api.statuses.get("unanswered", 0)
        table.add_row(
            Text(safe(api.api_name)),
            _versions(api.versions),
            f"{api.n:,}",
            span(api.p50_us),
            span(api.p99_us),
            f"{api.n_with_errors:,}" if api.n_with_errors else "",
            f"{unanswered:,}" if unanswered else "",
        )
    yield table
    rest = model.apis[MOST_APIS:]
    if rest:
        names = list_of([safe(api.api_name) for api in rest], 6)
        yield line(
            (
                f"… and {count(sum(api.n for api in rest), 'request')} of {count(len(rest), 'other API')}: {names}",
                "dim",
            )
        )


def _versions(versions: Sequence[int]) -> str:
    return list_of([f"v{v}" for v in versions], 3) if len(versions) < 4 else f"v{versions[0]} to v{versions[-1]}"


def render_errors(model: Traffic) -> Iterator[RenderableType]:
    """Yields the error codes in the brokers' responses."""
    errors, start_ns = model.errors, model.capture.begin_ns
    if not errors.n:
        return
    yield heading("Errors in the brokers' answers")
    table = grid(("error", ""), ("API", ""), ("n", "rn"), ("first", "rn"), ("last", "rn"))
    for row in errors.kinds[:MOST_ERRORS]:
        times = clock(row.first_ns - start_ns), clock(row.last_ns - start_ns)
        table.add_row(Text(safe(row.error_name)), Text(safe(row.api_name)), f"{row.n:,}", *times)
    yield table
    yield from more(errors.n_kinds - min(MOST_ERRORS, len(errors.kinds)), "error kind", "table errors")


_WHY_UNREAD = {
    "gap": "missing from the capture",
    "mid_stream_start": "before the first whole frame of a connection that was there already",
    "not_kafka": "not Kafka",
    "tls": "encrypted",
    "unknown_api": "an API that is not known",
    "unknown_version": "a version that is not known",
    "malformed_body": "a message that does not decode",
    "trailing_zeros": "zeros behind a message, which brokers pass over",
    "zookeeper": "ZooKeeper's protocol",
    "oversize": "a frame too large to be one",
    "truncated_by_snaplen": "packets were cut by the snap length",
    "orphan_response": "a response for which no request of the capture waits",
    "capture_end": "a frame that the capture's end cut off",
    "connection_end": "a frame that the connection's end cut off",
    "tls_overhead": "TLS around what was decrypted: headers and tags of records, handshakes",
    "sasl_token": "a SASL exchange, kept out on purpose",
}

_WITH_DETAILS = ("tls", "unknown_api", "unknown_version", "malformed_body", "trailing_zeros", "not_kafka", "oversize")


def render_unread(model: Traffic) -> Iterator[RenderableType]:
    """Yields what could not be read, and why."""
    found, capture = model.unread, model.capture
    notes = list(doubts(found, capture))
    if not found.undecoded and not notes:
        return
    yield heading("What could not be read")
    table = grid(("bytes", "rn"), ("ranges", "rn"), ("why", ""), header=True)
    for row in found.undecoded:
        why = _WHY_UNREAD.get(row.reason, safe(row.reason))
        details = (
            f": {list_of([safe(d) for d in row.details], 2)}" if row.reason in _WITH_DETAILS and row.details else ""
        )
        table.add_row(size(row.bytes), f"{row.n:,}", Text(why + details))
    if found.undecoded:
        yield table
    for note in notes:
        yield line("• " + note)
