"""The report on a terminal: rich renderables from the model, at 80 columns or more, styled or plain.

All text that came from the wire goes through `safe` and into Text objects, never through markup. Colour only repeats
what a word says. Times are relative to the start of the capture, which is given once in full.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.report import Report, Traffic
from kafkascope_analyzer.report.model.unread import doubts
from kafkascope_analyzer.report.terminal.clients import render_clients
from kafkascope_analyzer.report.terminal.findings import render_findings
from kafkascope_analyzer.report.terminal.flow import render_flow
from kafkascope_analyzer.report.terminal.groups import render_rebalances, render_transactions
from kafkascope_analyzer.report.terminal.incidents import render_headline, render_incidents
from kafkascope_analyzer.report.terminal.pieces import grid, heading, line, more
from kafkascope_analyzer.report.terminal.restarts import render_restarts
from kafkascope_analyzer.report.terminal.traffic import (
    render_client_traffic,
    render_latency,
    render_leaders,
    render_removed_versions,
)
from kafkascope_analyzer.report.words import clock, count, list_of, node, percent, safe, size, span

WIDEST = 132
"""Columns that are used at most: longer lines are hard to follow."""
UNWRAPPED = 1_000_000
"""Columns of an output whose lines are not wrapped."""
MOST_APIS = 14
MOST_ERRORS = 8
MOST_FILES = 6
MOST_BROKERS = 16

_AND_MORE = re.compile(r"… and (?=\S+( \S+)*$)")
_ONE_COLUMN = str.maketrans({"→": ">", "·": "-", "…": "~", "µ": "u", "─": "-", "•": "*", "\u00a0": " "})


def render_to(model: Traffic, stream: TextIO, *, plain: bool, routine: bool = False) -> None:
    """Writes the report; plain is ASCII without styling, one character for one, so that columns stay put. routine:
    whether routine incidents are listed.
    """
    write_parts(render(model, routine=routine), stream, plain=plain)


def write_parts(parts: Iterable[RenderableType], stream: TextIO, *, plain: bool, wrap: bool = True) -> None:
    """Writes parts in the terminal's width: styled on a terminal, without blanks at line ends elsewhere. wrap: whether
    lines are wrapped at that width.
    """
    width = width_of(stream) if wrap else UNWRAPPED
    if not plain and stream.isatty():
        Console(file=stream, markup=False, highlight=False, emoji=False, width=width).print(*parts, sep="\n")
        return
    can_hold_signs = (stream.encoding or "").lower().replace("-", "") == "utf8"
    stream.write(page_of(parts, width, ascii_only=plain or not can_hold_signs))


def page_of(parts: Iterable[RenderableType], width: int, *, ascii_only: bool) -> str:
    """Parts as text without styling, each line without blanks at its end."""
    page = io.StringIO()
    console = Console(file=page, markup=False, highlight=False, emoji=False, color_system=None, width=width)
    console.print(*parts, sep="\n")
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    if ascii_only:
        lines = (_ascii(line) for line in lines)
    return "\n".join(lines) + "\n"


def _ascii(text: str) -> str:
    """A line in ASCII. Characters are replaced one for one, so that columns stay put; `… and 2 more`, where no column
    follows, becomes `and 2 more`.
    """
    shortened = _AND_MORE.sub("and ", text)
    return shortened.translate(_ONE_COLUMN).encode("ascii", "replace").decode("ascii")


def width_of(stream: TextIO) -> int:
    """Columns that a line on the stream may have."""
    return min(Console(file=stream).width, WIDEST)


def render(model: Traffic, *, routine: bool = False) -> Iterator[RenderableType]:
    """The report's parts, in order: what went wrong comes before the cluster's figures, these before single clients.
    `kafkascope info` has only the parts that come from the tables of `ingest`.
    """
    yield from _head(model)
    report = model if isinstance(model, Report) else None
    if report is not None:
        yield from render_headline(report)
        yield from render_incidents(report, routine=routine)
        yield from render_findings(report)
        yield from render_restarts(report.restarts)
        yield from render_rebalances(report)
        yield from render_transactions(report)
        yield from render_flow(report.flow)
    yield from _cluster(model.cluster)
    yield from _apis(model)
    yield from _errors(model)
    if report is not None:
        for figures in (render_latency, render_leaders, render_client_traffic, render_removed_versions, render_clients):
            yield from figures(report)
    yield from _unread(model)


def _head(model: Traffic) -> Iterator[RenderableType]:
    capture, ledger = model.capture, model.capture.ledger
    names = [safe(f.path) for f in capture.files]
    yield line(("kafkascope", "bold"), " · ", (list_of(names, MOST_FILES), "bold"))
    if capture.start_ns is None:
        yield line("no packets")
    else:
        yield line(f"{capture.start} · {span(capture.duration_us)} · {count(capture.n_packets, 'packet')}")
        yield line(("times below are mm:ss.mmm after that", "dim"))
    found = model.connections
    spoken = [f"{row.n:,} {row.protocol or 'unknown'}" for row in found.by_protocol]
    yield line(f"{count(found.n, 'TCP connection')}: {', '.join(spoken) or 'none'}")
    if ledger.stream_bytes:
        kafka_bytes = ledger.kafka_bytes
        share = percent(ledger.decoded_bytes, kafka_bytes)
        other = f"; {size(ledger.zookeeper_bytes)} of ZooKeeper's protocol" if ledger.zookeeper_bytes else ""
        missing = f"; {size(ledger.missing_bytes)} missing from the capture" if ledger.missing_bytes else ""
        yield line(f"{share} of {size(kafka_bytes)} of stream decoded as Kafka{other}{missing}")
    if isinstance(model, Report):
        why_not = model.stories.why_not or model.findings.why_not
        if why_not and why_not != model.headline.sentence:
            yield line((why_not, "yellow"))


def _cluster(cluster: Cluster) -> Iterator[RenderableType]:
    if not cluster.brokers and not cluster.servers_without_node_id:
        return
    yield heading("Cluster")
    if cluster.cluster_ids:
        yield line("cluster id " + ", ".join(safe(c) for c in cluster.cluster_ids))
    if cluster.sentence:
        yield line(cluster.sentence)
    if cluster.brokers:
        figures = (("conns", "rn"), ("requests", "rn"), ("errors", "rn"))
        table = grid(("broker", "n"), *figures, ("rack", ""), ("advertised as", ""))
        for broker in cluster.brokers[:MOST_BROKERS]:
            where = broker.address
            names = ["the same" if name == where else safe(name) for name in broker.advertised]
            table.add_row(
                Text(node(broker.node_id, where)),
                f"{broker.n_connections:,}",
                f"{broker.n_requests:,}",
                f"{broker.n_errors:,}",
                Text(safe(broker.rack or "")),
                Text(list_of(names, 3)),
            )
        yield table
        yield from more(cluster.n_brokers - MOST_BROKERS, "broker", "table topology")
    loose = [f"{safe(s.address)} ({count(s.n_connections, 'connection')})" for s in cluster.servers_without_node_id]
    if loose:
        yield line("node id not known: " + list_of(loose, 4))


def _apis(model: Traffic) -> Iterator[RenderableType]:
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


def _errors(model: Traffic) -> Iterator[RenderableType]:
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
    "orphan_response": "a response whose request is not in the capture",
    "capture_end": "a frame that the capture's end cut off",
    "connection_end": "a frame that the connection's end cut off",
    "sasl_token": "a SASL exchange, kept out on purpose",
}

_WITH_DETAILS = ("unknown_api", "unknown_version", "malformed_body", "trailing_zeros", "not_kafka", "oversize")


def _unread(model: Traffic) -> Iterator[RenderableType]:
    found, capture = model.unread, model.capture
    notes = list(doubts(found, capture))
    if not found.undecoded and not notes:
        return
    yield heading("What could not be read")
    table = grid(("bytes", "rn"), ("stretches", "rn"), ("why", ""), header=True)
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
