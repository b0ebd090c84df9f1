"""Renderables as text on a stream: in the terminal's width, styled or plain.

All text that came from the wire goes through `safe` and into Text objects, never through markup.
"""

import io
import re
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType

WIDEST = 132
"""Columns that are used at most: longer lines are hard to follow."""
UNWRAPPED = 1_000_000
"""Columns of an output whose lines are not wrapped."""

_AND_MORE = re.compile(r"… and (?=\S+( \S+)*$)")
_ONE_COLUMN = str.maketrans({"→": ">", "·": "-", "…": "~", "µ": "u", "─": "-", "•": "*", "\u00a0": " "})


def write_parts(parts: Iterable[RenderableType], stream: TextIO, *, plain: bool, wrap: bool = True) -> None:
    """Writes parts in the terminal's width: styled on a terminal, without blanks at line ends elsewhere. wrap: whether
    lines are wrapped at that width.
    """
    width = width_of(stream) if wrap else UNWRAPPED
    if not plain and stream.isatty():
        Console(file=stream, markup=False, highlight=False, emoji=False, width=width).print(*parts, sep="\n")
        return
    can_hold_signs = (stream.encoding or "").lower().replace("-", "") == "utf8"
    stream.write(page_of(parts, width, ascii_only=plain or not can_hold_signs))


def page_of(parts: Iterable[RenderableType], width: int, *, ascii_only: bool) -> str:
    """Parts as text without styling, each line without blanks at its end."""
    page = io.StringIO()
    console = Console(file=page, markup=False, highlight=False, emoji=False, color_system=None, width=width)
    console.print(*parts, sep="\n")
    lines = (line.rstrip() for line in page.getvalue().splitlines())
    if ascii_only:
        lines = (_ascii(line) for line in lines)
    return "\n".join(lines) + "\n"


def _ascii(text: str) -> str:
    """A line in ASCII. Characters are replaced one for one, so that columns stay put; `… and 2 more`, where no column
    follows, becomes `and 2 more`.
    """
    shortened = _AND_MORE.sub("and ", text)
    return shortened.translate(_ONE_COLUMN).encode("ascii", "replace").decode("ascii")


def width_of(stream: TextIO) -> int:
    """Columns that a line on the stream may have."""
    return min(Console(file=stream).width, WIDEST)
