"""The part of the terminal report about topics: latency from end to end and lag, for each group that reads them."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.model.flow import TopicFlow
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.pieces import grid, heading, line, more
from kafkascope_analyzer.report.words import safe, span

MOST_TOPICS = 12
FLOW_FIGURES = ("records", "acked p50", "p99", "fetched p50", "p99", "lag", "at end")
"""Titles of the columns, after topic and reader."""
FLOW_LEGEND = (
    "acked: from the creation of a record to its acknowledgment; fetched: from the acknowledgment to the first fetch; "
    "lag: records behind, at most and at the end"
)


def render_flow(model: Report) -> Iterator[RenderableType]:
    """A line for each topic and reader; below, who fell behind."""
    found = model.flow
    if not found.n:
        return
    yield heading("Topics: latency from end to end, and lag")
    table = grid(("topic\n  read by", ""), *((name.replace(" ", "\n"), "rn") for name in FLOW_FIGURES))
    listed = found.listed[:MOST_TOPICS]
    for row in listed:
        table.add_row(Text(f"{safe(row.topic)}\n  {safe(row.reader)}"), *flow_figures(row))
    yield table
    yield line((FLOW_LEGEND, "dim"))
    yield from more(found.n - len(listed), "topic and reader", "table partition_flow")
    for row in listed:
        if row.note:
            yield line(f"• {safe(row.reader)} on {safe(row.topic)}: {row.note}")


def flow_figures(row: TopicFlow) -> list[str]:
    """The figures of a topic and reader, in the order of FLOW_FIGURES."""
    times = [row.created_to_acked_p50_us, row.created_to_acked_p99_us]
    times += [row.acked_to_fetched_p50_us, row.acked_to_fetched_p99_us]
    lags = ("" if lag is None else f"{lag:,}" for lag in (row.lag_max, row.lag_last))
    return [f"{row.n_records:,}", *map(span, times), *lags]
