"""The report on a terminal: rich renderables from the model, at 80 columns or more.

All text that came from the wire goes through `safe` and into Text objects, never through markup. Colour only repeats
what a word says. Times are relative to the start of the capture, which is given once in full.
"""

from collections.abc import Iterator

from rich.console import RenderableType

from kafkascope_analyzer.dataset.failed_parts import FailedParts
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


def render(
    report: Report, failed_parts: FailedParts | None = None, *, routine: bool = False
) -> Iterator[RenderableType]:
    """The report's parts, in order: what went wrong comes before the cluster's figures, these before single clients.
    failed_parts: takes parts that cannot be shown; routine: whether routine incidents are listed.
    """
    failed = FailedParts() if failed_parts is None else failed_parts
    parts = {
        "head": lambda: render_head(report),
        "stories": lambda: _why_no_stories(report),
        "headline": lambda: render_headline(report),
        "incidents": lambda: render_incidents(report, routine=routine),
        "findings": lambda: render_findings(report),
        "restarts": lambda: render_restarts(report.restarts),
        "rebalances": lambda: render_rebalances(report),
        "transactions": lambda: render_transactions(report),
        "flow": lambda: render_flow(report.flow),
        "traffic": lambda: render_traffic(report),
        "latency": lambda: render_latency(report),
        "leaders": lambda: render_leaders(report),
        "client_traffic": lambda: render_client_traffic(report),
        "removed_versions": lambda: render_removed_versions(report),
        "clients": lambda: render_clients(report),
        "unread": lambda: render_unread(report),
    }
    for name, show in parts.items():
        part = failed.part("section on the terminal", name)
        yield from part.rows(show)
        if part.has_failed:
            yield line((f"This section could not be shown because of a defect of kafkascope: {name}", "yellow"))


def _why_no_stories(report: Report) -> Iterator[RenderableType]:
    why_not = report.stories.why_not or report.findings.why_not
    if why_not and why_not != report.headline.sentence:
        yield line((why_not, "yellow"))
