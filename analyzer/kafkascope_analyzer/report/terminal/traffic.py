"""The part of the terminal report with figures: latency by API and broker, load of the leaders, traffic of the clients,
and clients that will stop working with Kafka 4.0.
"""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import count, list_of, percent, safe, size, span
from kafkascope_analyzer.report.model.broker_latency import LatencyPair, RoundTrip
from kafkascope_analyzer.report.model.client_texts import client_name, software_text
from kafkascope_analyzer.report.model.client_traffic import FetchTraffic, ProduceTraffic
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.layout import MOST_BROKERS, grid, heading, line, more

MOST_PAIRS = 15
MOST_CLIENTS = 16
MOST_USES = 16


def render_latency(model: Report) -> Iterator[RenderableType]:
    """Yields the APIs with the most requests at each broker, and the round trip time to the broker."""
    found = model.latency
    if not found.n:
        return
    yield heading("Latency by API and broker")
    figures = ("count", "broker p50", "p99", "queued p99", "network p50", "p99")
    table = grid(("API", ""), ("broker", ""), *((name, "rn") for name in figures))
    last = None
    for row in _by_api(found.listed[:MOST_PAIRS]):
        times = [span(row.broker_p50_us), span(row.broker_p99_us)]
        times += [span(us) if us else "" for us in (row.queued_p99_us, row.network_p50_us, row.network_p99_us)]
        name = safe(row.api_name) if row.api_name != last else ""
        table.add_row(Text(name), Text(_broker(row)), f"{row.n:,}", *times)
        last = row.api_name
    yield table
    yield from more(found.n - min(MOST_PAIRS, len(found.listed)), "pair", "report.json, latency")
    trips = [f"{_broker(row)} {span(row.round_trip_p50_us)}" for row in found.brokers if row.n_handshakes]
    if trips:
        yield line((f"round trip from where the capture was taken (median handshake): {list_of(trips, 6)}", "dim"))


def _by_api(listed: Sequence[LatencyPair]) -> list[LatencyPair]:
    """Returns rows of one API together, the API with the most requests first."""
    first: dict[str, int] = {}
    for place, row in enumerate(listed):
        first.setdefault(row.api_name, place)
    return sorted(listed, key=lambda row: (first[row.api_name], row.node_id is None, row.node_id or 0))


def _broker(row: LatencyPair | RoundTrip) -> str:
    return f"node {row.node_id}" if row.node_id is not None else safe(row.address or "unknown")


def render_leaders(model: Report) -> Iterator[RenderableType]:
    """Yields bytes and requests that clients wrote to and read from each leader; nothing where there is only one."""
    found = model.leaders
    if found.n < 2:
        return
    yield heading("What the leaders carry")
    total = sum(row.n_bytes for row in found.listed)
    figures = ("partitions", "written", "records", "read", "records", "share")
    table = grid(("broker", ""), *((name, "rn") for name in figures))
    for row in found.listed[:MOST_BROKERS]:
        table.add_row(
            Text(f"node {row.node_id}"),
            f"{row.n_partitions:,}",
            size(row.produce_bytes),
            f"{row.produce_records:,}",
            size(row.fetch_bytes),
            f"{row.fetch_records:,}",
            percent(row.n_bytes, total),
        )
    yield table
    yield from more(found.n - min(MOST_BROKERS, len(found.listed)), "broker", "report.json, leaders")
    if found.skew is not None:
        yield line((f"the most loaded one carries {found.skew:.2f} times an even share", "dim"))


def render_client_traffic(model: Report) -> Iterator[RenderableType]:
    """Yields producers and consumers, those that moved most bytes first."""
    found = model.client_traffic
    producers = [(client_name(row.client_id, row.client_ip), row.produce) for row in found.listed if row.produce]
    consumers = [(client_name(row.client_id, row.client_ip), row.fetch) for row in found.listed if row.fetch]
    if not producers and not consumers:
        return
    yield heading("How clients send and fetch")
    if producers:
        yield from _producers(producers, codecs=found.codecs_known)
    if producers and consumers:
        yield line("")
    if consumers:
        yield from _consumers(consumers)


def _producers(rows: Sequence[tuple[str, ProduceTraffic]], *, codecs: bool) -> Iterator[RenderableType]:
    figures = ("requests", "records", "a request", "batch")
    table = grid(("producer", ""), *((name, "rn") for name in figures), ("acks", "n"), ("compression", ""))
    for name, sent in rows[:MOST_CLIENTS]:
        table.add_row(
            Text(name),
            f"{sent.n:,}",
            f"{sent.n_records:,}",
            _ratio(sent.records_a_request),
            "" if sent.bytes_a_batch is None else size(sent.bytes_a_batch),
            ", ".join("all" if acks == "-1" else acks for acks in sent.acks),
            Text(", ".join(sent.codecs)) if codecs else Text("not read", style="dim"),
        )
    yield table
    yield from more(len(rows) - MOST_CLIENTS, "producer", "report.json, client_traffic")


def _consumers(rows: Sequence[tuple[str, FetchTraffic]]) -> Iterator[RenderableType]:
    figures = ("fetches", "empty", "records", "a fetch", "bytes", "min bytes", "max wait")
    table = grid(("consumer", ""), *((name, "rn") for name in figures))
    for name, got in rows[:MOST_CLIENTS]:
        table.add_row(
            Text(name),
            f"{got.n:,}",
            percent(got.n_empty, got.n),
            f"{got.n_records:,}",
            _ratio(got.records_a_request),
            "" if got.bytes_a_request is None else size(got.bytes_a_request),
            "" if got.min_bytes is None else size(got.min_bytes),
            "" if got.max_wait_ms is None else span(1000 * got.max_wait_ms),
        )
    yield table
    yield from more(len(rows) - MOST_CLIENTS, "consumer", "report.json, client_traffic")


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def render_removed_versions(model: Report) -> Iterator[RenderableType]:
    """Yields clients that use versions that Kafka 4.0 does not support; nothing where there are none."""
    found = model.removed_versions
    if not found.n:
        return
    yield heading(f"What Kafka 4.0 would refuse ({count(found.n_requests, 'request')})")
    table = grid(
        ("client", ""), ("software", ""), ("API", ""), ("version", "rn"), ("4.0 from", "rn"), ("requests", "rn")
    )
    for row in found.listed[:MOST_USES]:
        table.add_row(
            Text(f"{client_name(row.client_id)} {safe(row.client_ip or '')}"),
            Text(software_text(row) or "unknown"),
            Text(safe(row.api_name or "")),
            f"v{row.api_version}",
            "gone" if row.lowest_in_4_0 is None else f"v{row.lowest_in_4_0}",
            f"{row.n:,}",
        )
    yield table
    yield from more(found.n - min(MOST_USES, len(found.listed)), "use", "table requests")
