"""The report on a terminal: rich renderables from the model, at 80 columns or more.

All text that came from the wire goes through `safe` and into Text objects, never through markup. Colour only repeats
what a word says. Times are relative to the start of the capture, which is given once in full.
"""

from collections.abc import Iterator

from rich.console import RenderableType

from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.clients import render_clients
from kafkascope_analyzer.report.terminal.findings import render_findings
from kafkascope_analyzer.report.terminal.flow import render_flow
from kafkascope_analyzer.report.terminal.groups import render_rebalances, render_transactions
from kafkascope_analyzer.report.terminal.incidents import render_headline, render_incidents
from kafkascope_analyzer.report.terminal.layout import line
from kafkascope_analyzer.report.terminal.overview import render_head, render_traffic, render_unread
from kafkascope_analyzer.report.terminal.restarts import render_restarts
from kafkascope_analyzer.report.terminal.traffic import (
    render_client_traffic,
    render_latency,
    render_leaders,
    render_removed_versions,
)


def render(report: Report, *, routine: bool = False) -> Iterator[RenderableType]:
    """The report's parts, in order: what went wrong comes before the cluster's figures, these before single clients.
    routine: whether routine incidents are listed.
    """
    yield from render_head(report)
    why_not = report.stories.why_not or report.findings.why_not
    if why_not and why_not != report.headline.sentence:
        yield line((why_not, "yellow"))
    yield from render_headline(report)
    yield from render_incidents(report, routine=routine)
    yield from render_findings(report)
    yield from render_restarts(report.restarts)
    yield from render_rebalances(report)
    yield from render_transactions(report)
    yield from render_flow(report.flow)
    yield from render_traffic(report)
    for figures in (render_latency, render_leaders, render_client_traffic, render_removed_versions, render_clients):
        yield from figures(report)
    yield from render_unread(report)
