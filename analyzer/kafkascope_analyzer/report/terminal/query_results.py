"""Formats rows of a query: a table for people, CSV, JSON, JSON lines, a Markdown table; and a Parquet file.

JSON has exactly the values of the query (ASCII, other characters escaped). In the other text formats characters without
a glyph are escapes, and lists and structs are JSON. Times are ISO 8601, UTC; bytes are hexadecimal.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import count, safe, visible
from kafkascope_analyzer.report.markdown.text import code
from kafkascope_analyzer.report.terminal.layout import grid, line

Rows = Iterable[tuple[Any, ...]]

MOST_SHOWN = 1_000
"""Most rows of a table for people: its columns are as wide as their widest row, so all rows have to be known."""
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""First characters of a spreadsheet formula, also in full width. (Tabs and line ends are already escapes here.)"""
GAP = 2
"""Blanks between two columns."""
LEAST_CUT = 12
"""Narrowest width to which a column is cut: a time of day, an address, or the beginning of a name."""
MOST_WRAPPED = 3
"""Most columns that may wrap: with more of them, the table becomes unreadable."""


def as_table(names: list[str], rows: Rows, width: int) -> list[RenderableType]:
    """Returns a table without borders. Where its columns do not fit into width, their names are wrapped, and then the
    texts of several rows are cut. A single row, or a table whose columns do not fit even then, is a block of lines. A
    last line says what is left out and how to see it.
    """
    source = iter(rows)
    shown = list(islice(source, MOST_SHOWN))
    cells = [[safe(_text(value)) for value in row] for row in shown]
    heads = [safe(name) for name in names]
    columns = list(zip(*cells, strict=True)) or [()] * len(heads)
    widest = [max(map(len, [head, *column])) for head, column in zip(heads, columns, strict=True)]
    wide = sum(widest) + GAP * (len(widest) - 1) > width and len(names) > MOST_WRAPPED
    narrow = [max(map(len, [*_words(head), *column])) for head, column in zip(heads, columns, strict=True)]
    room = _fitted(narrow, width) if wide and len(shown) > 1 else None
    if wide and room is None:
        parts = _blocks(heads, cells)
    else:
        broken = [_broken(head, n) for head, n in zip(heads, room or widest, strict=True)]
        parts = [_columns(broken, [_cut(row, room or widest) for row in cells], shown)]
    if room is not None and room != narrow:
        parts.append(line((f"cut to {width} columns (--format csv or json has everything)", "dim")))
    left = sum(1 for _ in source)
    if left:
        parts.append(line((f"… and {count(left, 'row')} more (--format csv or json has them)", "dim")))
    return parts


def _fitted(widest: list[int], width: int) -> list[int] | None:
    """Returns column widths that fit, with the widest ones made narrower; None where they would become too narrow."""
    room = list(widest)
    over = sum(room) + GAP * (len(room) - 1) - width
    while over > 0:
        most = max(room)
        if most <= LEAST_CUT:
            return None
        room[room.index(most)] -= 1
        over -= 1
    return room


def _cut(row: list[str], room: list[int]) -> list[str]:
    return [cell if len(cell) <= n else f"{cell[: n - 1]}…" for cell, n in zip(row, room, strict=True)]


def _words(head: str) -> list[str]:
    """Returns the words of a column's name, each with the underscore after it."""
    return re.findall("[^_]*_+|[^_]+", head) or [head]


def _broken(head: str, room: int) -> str:
    """Returns the name of a column, split after underscores where it is wider than the column."""
    lines = [""]
    for part in _words(head):
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _columns(heads: list[str], cells: list[list[str]], shown: list[tuple[Any, ...]]) -> RenderableType:
    numbers = [
        bool(shown) and all(isinstance(row[i], int | float | Decimal | None) for row in shown)
        for i in range(len(heads))
    ]
    table = grid(*((head, "r" if number else "") for head, number in zip(heads, numbers, strict=True)))
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _blocks(heads: list[str], cells: list[list[str]]) -> list[RenderableType]:
    """Returns the rows one after the other, each column on a line of its own."""
    longest = max(map(len, heads))
    parts: list[RenderableType] = []
    for number, row in enumerate(cells, 1):
        parts.append(line((f"row {number}", "bold")))
        parts += [
            line((f"  {head.ljust(longest)}  ", "dim"), cell) for head, cell in zip(heads, row, strict=True) if cell
        ]
    return parts


def as_csv(names: list[str], rows: Rows) -> Iterator[str]:
    """Yields RFC 4180 with a header, but with a line feed as line end. Null is an empty field. A text that a
    spreadsheet would take for a formula gets an apostrophe in front; numbers stay numbers."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([_no_formula(visible(name)) for name in names])
    for row in rows:
        writer.writerow(["" if value is None else _csv_cell(value) for value in row])
        if page.tell() > 1 << 16:
            yield page.getvalue()
            page.seek(0)
            page.truncate()
    yield page.getvalue()


def _csv_cell(value: Any) -> str:
    return _text(value) if isinstance(value, int | float | Decimal) else _no_formula(visible(_text(value)))


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_json(names: list[str], rows: Rows) -> Iterator[str]:
    """Yields an array of objects, one a line. Of several columns with one name, all but the first get a number."""
    keys = _unlike(names)
    before = "["
    for row in rows:
        found = {key: plain(value) for key, value in zip(keys, row, strict=True)}
        yield f"{before}\n{json.dumps(found, ensure_ascii=True, allow_nan=False)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def as_json_lines(names: list[str], rows: Rows) -> Iterator[str]:
    """Yields one object per row, each on a line of its own; keys as in `as_json`."""
    keys = _unlike(names)
    for row in rows:
        found = {key: plain(value) for key, value in zip(keys, row, strict=True)}
        yield json.dumps(found, ensure_ascii=True, allow_nan=False) + "\n"


def write_parquet(parts: Iterator[pa.RecordBatch | pa.Schema], file: BinaryIO) -> None:
    """Writes one Parquet file in the result's own types. parts: its schema, then its batches."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, next(parts), compression="zstd", write_page_checksum=True) as writer:
        for batch in parts:
            writer.write_batch(batch)


def as_markdown(names: list[str], rows: Rows) -> Iterator[str]:
    """Yields a table of GitHub's Markdown: numbers as they are, everything else as code."""
    yield "| " + " | ".join(code(name) for name in names) + " |\n"
    yield "|" + "---|" * len(names) + "\n"
    for row in rows:
        cells = ["" if value is None else _cell(value) for value in row]
        yield "| " + " | ".join(cells) + " |\n"


def _cell(value: Any) -> str:
    return _text(value) if isinstance(value, int | float | Decimal) else code(_text(value))


def _unlike(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, key = 1, name
        while key in found:
            key, number = f"{name}_{number}", number + 1
        found.append(key)
    return found


def _text(value: Any) -> str:
    """Returns a value as the text of a cell."""
    made = plain(value)
    if made is None:
        return ""
    if isinstance(made, str):
        return made
    return json.dumps(made, ensure_ascii=False)


def _number(value: Decimal) -> int | float | str:
    """Returns the number where readers of JSON get the same number, else its digits as a text."""
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def plain(value: Any) -> Any:
    """Returns a value of DuckDB's as a JSON value."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)
