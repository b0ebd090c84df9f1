"""The report on a terminal: rich renderables from the model, at 80 columns or more.

All text that came from the wire goes through `safe` and into Text objects, never through markup. Colour only repeats
information that is also in words. Times are relative to the start of the capture, which is given once in full.
"""

from collections.abc import Callable, Iterator

from rich.console import RenderableType

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.clients import render_clients
from kafkascope_analyzer.report.terminal.findings import render_findings
from kafkascope_analyzer.report.terminal.flow import render_flow
from kafkascope_analyzer.report.terminal.groups import render_rebalances, render_transactions
from kafkascope_analyzer.report.terminal.incidents import render_commands, render_headline, render_incidents
from kafkascope_analyzer.report.terminal.layout import line
from kafkascope_analyzer.report.terminal.overview import (
    render_apis,
    render_cluster,
    render_errors,
    render_head,
    render_unread,
)
from kafkascope_analyzer.report.terminal.restarts import render_restarts
from kafkascope_analyzer.report.terminal.service import render_racks, render_security, render_service_levels
from kafkascope_analyzer.report.terminal.traffic import (
    render_client_traffic,
    render_latency,
    render_leaders,
    render_removed_versions,
)


def render(
    report: Report, failed_parts: FailedParts | None = None, *, everything: bool = False
) -> Iterator[RenderableType]:
    """Yields the first screen: the input, what failed, which clients are affected, what to do. everything: the rest as
    well, the cluster's figures before single clients. failed_parts: collects parts that cannot be shown.
    """
    failed = FailedParts() if failed_parts is None else failed_parts
    for name, show in _parts(report, everything=everything).items():
        part = failed.part("section on the terminal", name)
        yield from part.rows(show)
        if part.has_failed:
            yield line((f"This section could not be shown because of a defect of kafkascope: {name}", "yellow"))


def _parts(report: Report, *, everything: bool) -> dict[str, Callable[[], Iterator[RenderableType]]]:
    """Returns the parts by name, in order."""
    first = {
        "head": lambda: render_head(report),
        "stories": lambda: _why_no_stories(report),
        "headline": lambda: render_headline(report),
        "incidents": lambda: render_incidents(report, everything=everything),
        "findings": lambda: render_findings(report, everything=everything),
        "restarts": lambda: render_restarts(report.restarts.alone),
        "cluster": lambda: render_cluster(report.cluster),
    }
    last = {
        "clients": lambda: render_clients(report, everything=everything),
        "unread": lambda: render_unread(report),
        "commands": lambda: render_commands(report.commands, everything=everything),
    }
    between = {
        "rebalances": lambda: render_rebalances(report),
        "transactions": lambda: render_transactions(report),
        "flow": lambda: render_flow(report.flow),
        "requests": lambda: render_apis(report),
        "errors": lambda: render_errors(report),
        "latency": lambda: render_latency(report),
        "leaders": lambda: render_leaders(report),
        "client_traffic": lambda: render_client_traffic(report),
        "removed_versions": lambda: render_removed_versions(report),
        "service_levels": lambda: render_service_levels(report.service_levels),
        "racks": lambda: render_racks(report.racks),
        "security": lambda: render_security(report.security),
    }
    return {**first, **(between if everything else {}), **last}


def _why_no_stories(report: Report) -> Iterator[RenderableType]:
    why_not = report.stories.why_not or report.findings.why_not
    if why_not and why_not != report.headline.sentence:
        yield line((why_not, "yellow"))
