"""Writes renderables as text to a stream: in the terminal's width, styled or plain.

All text that came from the wire goes through `safe` and into Text objects, never through markup.
"""

import io
import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDEST = 132
"""Widest output in columns: longer lines are hard to read."""
UNWRAPPED = 1_000_000
"""Width of an output whose lines are not wrapped, in columns."""

_AND_MORE = re.compile(r"… and (?=\S+( \S+)*$)")
_ONE_COLUMN = str.maketrans({"→": ">", "·": "-", "…": "~", "µ": "u", "─": "-", "•": "*", "\u00a0": " "})


def write_parts(parts: Iterable[RenderableType], stream: TextIO, *, plain: bool, wrap: bool = True) -> None:
    """Writes parts in the terminal's width. They are styled on a terminal (FORCE_COLOR: everywhere; NO_COLOR: without
    colours); elsewhere they have no trailing blanks. wrap: whether lines are wrapped at that width.
    """
    width = width_of(stream) if wrap else UNWRAPPED
    if not plain and Console(file=stream).is_terminal:  # a terminal, or FORCE_COLOR is set
        Console(file=stream, markup=False, highlight=False, emoji=False, width=width).print(*parts, sep="\n")
        return
    can_hold_signs = (stream.encoding or "").lower().replace("-", "") == "utf8"
    stream.write(page_of(parts, width, ascii_only=plain or not can_hold_signs))


def write_aligned(rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    """Writes rows of cells in aligned columns: on a terminal they wrap at its width, elsewhere each row is a line."""
    if stream.isatty():
        table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
        for _ in rows[0]:
            table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        write_parts([table], stream, plain=False)
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        stream.write(line.rstrip() + "\n")


def page_of(parts: Iterable[RenderableType], width: int, *, ascii_only: bool) -> str:
    """Returns parts as text without styling and without trailing blanks."""
    page = io.StringIO()
    console = Console(file=page, markup=False, highlight=False, emoji=False, color_system=None, width=width)
    console.print(*parts, sep="\n")
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    if ascii_only:
        lines = (_ascii(line) for line in lines)
    return "\n".join(lines) + "\n"


def _ascii(text: str) -> str:
    """Returns a line in ASCII. Characters are replaced one for one, so that columns stay aligned; `… and 2 more`, where
    no column follows, becomes `and 2 more`.
    """
    shortened = _AND_MORE.sub("and ", text)
    return shortened.translate(_ONE_COLUMN).encode("ascii", "replace").decode("ascii")


def width_of(stream: TextIO) -> int:
    """Returns the width of a line on the stream, in columns."""
    return min(Console(file=stream).width, WIDEST)
