"""Reports of several clusters on a terminal: the list of clusters, then the report of each."""

from collections.abc import Iterator

from rich.console import RenderableType

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.report.formatting import count, list_of, safe
from kafkascope_analyzer.report.model.clusters import ClusterOverview, ClusterReports, SharedClient
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.layout import grid, heading, line
from kafkascope_analyzer.report.terminal.report import render

MOST_SERVERS = 3
MOST_IDS = 4


def render_all(
    model: Report | ClusterReports, failed_parts: FailedParts | None = None, *, everything: bool = False
) -> Iterator[RenderableType]:
    """Yields the parts of the report, or of the reports of all clusters, in order. Arguments as in `render`."""
    if isinstance(model, Report):
        yield from render(model, failed_parts, everything=everything)
        return
    yield heading(count(len(model.clusters), "cluster"))
    yield _table(model.clusters)
    yield from (line(f"• {_shared(client)}") for client in model.shared_clients)
    for report in model.reports:
        yield from render(report, failed_parts, everything=everything)


def _table(clusters: tuple[ClusterOverview, ...]) -> RenderableType:
    figures = (("clients", "r"), ("verdict", ""), ("incidents", "r"), ("findings", "r"))
    table = grid(("cluster", "w"), ("servers", ""), *figures)
    for each in clusters:
        servers = list_of([safe(server) for server in each.servers], MOST_SERVERS)
        counts = (f"{each.n_clients:,}", each.verdict, f"{each.n_incidents:,}", f"{each.n_findings:,}")
        table.add_row(safe(each.cluster), servers, *counts)
    return table


def _shared(client: SharedClient) -> str:
    clusters = list_of([safe(name) for name in client.clusters], MOST_IDS)
    names = list_of([safe(name) for name in client.client_ids], MOST_IDS)
    return f"{safe(client.client_ip)} talks to {clusters}: {client.what}{f' ({names})' if names else ''}"
