"""What the pages of the terminal report are made of: headings, lines, tables without borders, and the line that
says what is left out.
"""

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kafkascope_analyzer.report.formatting import count


def heading(title: str) -> RenderableType:
    """A part's heading, with a line to the right edge."""
    return Group(Text(""), Rule(Text(title, style="bold"), align="left", style="dim"))


def line(*parts: str | tuple[str, str], indent: int = 0) -> RenderableType:
    """One paragraph of text and (text, style) pairs; where it wraps, it stays behind its indent."""
    return indented(Text.assemble(*parts, overflow="fold"), indent)


def indented(what: RenderableType, indent: int) -> RenderableType:
    """The same, moved to the right, without blanks after it."""
    return Padding(what, (0, 0, 0, indent), expand=False) if indent else what


def grid(*columns: tuple[str, str], header: bool = True) -> Table:
    """A table without borders; a column is (title, options): `r` right-aligned, `n` never wrapped, `w` takes what
    width is left.
    """
    table = Table(
        box=box.SIMPLE_HEAD if header else None,
        show_header=header,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.collapse_padding = True
    for title, options in columns:
        table.add_column(
            Text(title, style="bold"),
            justify="right" if "r" in options else "left",
            no_wrap="n" in options,
            overflow="fold",
            ratio=1 if "w" in options else None,
        )
    return table


def labelled(
    label: tuple[str, str] | Text, width: int, *parts: str | tuple[str, str], indent: int = 0
) -> RenderableType:
    """A paragraph with a label of that width before its first line; where it wraps, it stays beside the label."""
    table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=0)
    table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(label if isinstance(label, Text) else Text(*label), Text.assemble(*parts, overflow="fold"))
    return indented(table, indent)


def more(n_left: int, one: str, where: str, indent: int = 2) -> Iterator[RenderableType]:
    """The line that says how many are not shown and where they are (one: the noun for one); nothing where all is."""
    if n_left > 0:
        yield line((f"… and {count(n_left, one)} more ({where})", "dim"), indent=indent)
