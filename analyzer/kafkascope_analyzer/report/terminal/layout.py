"""Building blocks of the terminal report's pages: headings, lines, tables without borders, and the line about what is
left out.
"""

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kafkascope_analyzer.report.formatting import count

MOST_BROKERS = 16
"""Most brokers in a table; the report says how many more there are."""


def heading(title: str) -> RenderableType:
    """Returns a part's heading, with a line to the right edge."""
    return Group(Text(""), Rule(Text(title, style="bold"), align="left", style="dim"))


def line(*parts: str | tuple[str, str], indent: int = 0) -> RenderableType:
    """Returns one paragraph of text and (text, style) pairs; wrapped lines keep the indent."""
    return indented(Text.assemble(*parts, overflow="fold"), indent)


def indented(what: RenderableType, indent: int) -> RenderableType:
    """Returns the renderable indented, without trailing blanks."""
    return Padding(what, (0, 0, 0, indent), expand=False) if indent else what


def grid(*columns: tuple[str, str], header: bool = True) -> Table:
    """Returns a table without borders. A column is (title, options): `r` right-aligned, `n` never wrapped, `w` takes
    the remaining width.
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


def titled_grid(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Text, Sequence[Text]]]) -> RenderableType:
    """Returns a table like that of `grid`, in which each row has a title line as wide as the table above it. One column
    has `w`."""
    cells = [[Text(title) for title, _ in columns], *(cells for _, cells in rows)]
    widths = [max(_width(cell) for cell in column) for column in zip(*cells, strict=True)]

    def of_widths(*, header: bool) -> Table:
        table = grid(("", "n"), *columns)
        table.show_header, table.expand = header, True
        for column, (_, options), width in zip(table.columns[1:], columns, widths, strict=True):
            column.width = None if "w" in options else width
        return table

    parts: list[RenderableType] = [of_widths(header=True)]
    for title, cells_of_row in rows:
        row = of_widths(header=False)
        row.add_row("", *cells_of_row)
        parts += [title, row]
    return Group(*parts)


def _width(text: Text) -> int:
    """Returns the width of a text's longest line, in cells."""
    return max(cell_len(part) for part in text.plain.split("\n"))


def labelled(
    label: tuple[str, str] | Text, width: int, *parts: str | tuple[str, str], indent: int = 0
) -> RenderableType:
    """Returns a paragraph with a label of that width before its first line; wrapped lines stay beside the label."""
    table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=0)
    table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(label if isinstance(label, Text) else Text(*label), Text.assemble(*parts, overflow="fold"))
    return indented(table, indent)


def more(n_left: int, one: str, where: str, indent: int = 2) -> Iterator[RenderableType]:
    """Yields the line that says how many are not shown and where they are; nothing where all are shown. one: the
    singular noun."""
    if n_left > 0:
        yield line((f"… and {count(n_left, one)} more ({where})", "dim"), indent=indent)
