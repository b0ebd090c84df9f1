"""The chronology on a terminal: a line each, which ends with `…` where the terminal is too narrow for it."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.chronology import KINDS, Entry
from kafkascope_analyzer.report.pieces import line
from kafkascope_analyzer.report.terminal_findings import STYLE
from kafkascope_analyzer.report.words import safe

WIDE = 110
"""Columns from which on the ids are shown, which `kafkascope explain` takes."""
_GAP = 2


def render_chronology(entries: list[Entry], width: int) -> Iterator[RenderableType]:
    """The entries in lines of so many columns."""
    if not entries:
        yield line("nothing of this is in the capture")
        return
    times = max(len(entry.at) for entry in entries)
    kinds = max(map(len, KINDS)) + _GAP
    ids = max(len(safe(entry.id or "")) for entry in entries) + _GAP if width >= WIDE else 0
    room = width - times - _GAP - kinds - ids
    for entry in entries:
        style = STYLE.get(entry.severity or "", "bold yellow" if entry.kind in ("stall", "broker") else "")
        text = Text(entry.text)
        text.truncate(room, overflow="ellipsis", pad=ids > 0)
        head = Text.assemble((f"{entry.at:>{times}}  ", "dim"), (f"{entry.kind:<{kinds}}", style), text)
        yield head.append(f"  {safe(entry.id or '')}", style="dim") if ids else head
