"""The chronology on a terminal: a line each, which ends with `…` where the terminal is too narrow for it."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kafkascope_analyzer.report.chronology import KINDS, Entry
from kafkascope_analyzer.report.pieces import line
from kafkascope_analyzer.report.terminal_findings import STYLE
from kafkascope_analyzer.report.words import safe

WIDE = 110
"""Columns from which on the ids are shown, which `kafkascope explain` takes."""


def render_chronology(entries: list[Entry], width: int) -> Iterator[RenderableType]:
    """The entries in lines of so many columns."""
    if not entries:
        yield line("nothing of this is in the capture")
        return
    table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, justify="right", min_width=max(len(entry.at) for entry in entries))
    table.add_column(no_wrap=True, min_width=max(map(len, KINDS)))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    if width >= WIDE:
        table.add_column(no_wrap=True, min_width=max(len(safe(entry.id or "")) for entry in entries))
    for entry in entries:
        style = STYLE.get(entry.severity or "", "bold yellow" if entry.kind in ("stall", "broker") else "")
        cells = [Text(entry.at, style="dim"), Text(entry.kind, style=style), Text(entry.text)]
        table.add_row(*cells, *([Text(safe(entry.id or ""), style="dim")] if width >= WIDE else []))
    yield table
