"""The part of the terminal report about topics: end-to-end latency and lag, for each group that reads them."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.model.flow import Flow
from kafkascope_analyzer.report.model.flow_figures import FLOW_FIGURES, FLOW_LEGEND, flow_figures
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more

MOST_TOPICS = 12


def render_flow(found: Flow) -> Iterator[RenderableType]:
    """Yields a line for each topic and reader, and below them the readers that fell behind."""
    if not found.n:
        return
    yield heading("Topics: latency from end to end, and lag")
    table = grid(("topic\n  read by", ""), *((name, "rn") for name in _paired(FLOW_FIGURES)))
    listed = found.listed[:MOST_TOPICS]
    for row in listed:
        table.add_row(Text(f"{safe(row.topic)}\n  {safe(row.reader)}"), *_paired(flow_figures(row)))
    yield table
    yield line((FLOW_LEGEND, "dim"))
    yield from more(found.n - len(listed), "topic and reader", "table partition_flow")
    for row in listed:
        if row.note:
            yield line(f"• {safe(row.reader)} on {safe(row.topic)}: {row.note}")


def _paired(cells: Sequence[str]) -> Iterator[str]:
    """Yields cells of a row of two lines: the records, then median above 99th percentile, and maximum above
    last value."""
    records, *pairs = cells
    yield records
    yield from (f"{above}\n{below}" for above, below in zip(pairs[::2], pairs[1::2], strict=True))
