"""Restarts of brokers on a terminal, for the report and `kafkascope topology`."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.model.restarts import Restarts
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more

MOST_ROWS = 30


def render_restarts(found: Restarts) -> Iterator[RenderableType]:
    """Yields the restarts by time; nothing where there is none."""
    if not found.n:
        return
    yield heading(f"Restarts of brokers ({found.n:,})")
    yield line(found.sentence)
    table = grid(("broker", ""), ("down at", "n"), ("for", "rn"), ("release", ""), ("who waited", ""))
    for row in found.listed[:MOST_ROWS]:
        broker = row.broker if row.node_id is None else f"node {row.node_id}"
        table.add_row(Text(broker), row.at, row.lasted, Text(row.release), Text(row.cost))
    yield table
    yield from more(found.n - min(MOST_ROWS, len(found.listed)), "restart", "--format json has all")
