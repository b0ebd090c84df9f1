"""The chronology on a terminal. On a terminal the text of an entry is wrapped below itself; elsewhere each entry is one
line.
"""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.model.chronology import KINDS, Entry
from kafkascope_analyzer.report.terminal.findings import STYLE
from kafkascope_analyzer.report.terminal.layout import labelled, line

WIDE = 110
"""Width from which on the ids are shown that `kafkascope explain` takes, in columns."""
_GAP = 2


def render_chronology(entries: list[Entry], width: int | None) -> Iterator[RenderableType]:
    """Yields the entries in lines of that width, in columns; None: without wrapping."""
    if not entries:
        yield line("nothing of this is in the capture")
        return
    times = max(len(entry.at) for entry in entries)
    kinds = max(map(len, KINDS)) + _GAP
    with_ids = width is None or width >= WIDE
    ids = max(len(safe(entry.id or "")) for entry in entries) + _GAP if with_ids else 0
    for entry in entries:
        style = STYLE.get(entry.severity or "", "bold yellow" if entry.kind in ("stall", "broker") else "")
        head = Text.assemble((f"{entry.at:>{times}}  ", "dim"), (f"{entry.kind:<{kinds}}", style))
        if with_ids:
            head.append(f"{safe(entry.id or ''):<{ids}}", style="dim")
        yield head + Text(entry.text) if width is None else labelled(head, len(head), entry.text)
    if not with_ids:
        yield line((f"ids for kafkascope explain: {WIDE} columns or more, a pipe, or --format json", "dim"))
