"""`kafkascope tables`: describes the tables of a dataset, column by column, from the contract."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.contract import Column, Table
    from kafkascope_analyzer.sql.saved import SavedSql

_UNITS = {"_ns": "ns", "_us": "µs", "_ms": "ms", "_bytes": "bytes", "_ts": "UTC"}
"""Suffixes of column names -> the unit of their numbers."""


def tables(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A table, such as requests or clients.", show_default=False)
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            metavar="WORDS",
            help="List the columns, tables and views that have these words in their names, descriptions or values.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """List the tables of a dataset and the views of kafkascope sql; for one of them its columns, with descriptions and
    units."""
    with exit_codes(Messages.of(format)):
        if search is not None:
            _search(search, table, format)
            return
        from kafkascope_analyzer.dataset.tables import INGEST_TABLES, MESSAGE_KEYS
        from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES
        from kafkascope_analyzer.sql.saved import macros, views
        from kafkascope_spark.stories.tables import STORY_TABLES

        known = {**{t.name: t for t in INGEST_TABLES}, **{t.name: t for t in STORY_TABLES}}
        if table is None:
            _list(known, {t.name for t in STORY_TABLES}, format)
            return
        name = table.removeprefix("stories/")
        if name.startswith("messages"):
            _columns(name, "message; Kafka's own fields follow these: kafkascope protocol API", MESSAGE_KEYS, format)
            return
        known |= {t.name: t for t in REFERENCE_TABLES}
        view = next((saved for saved in (*views(), *macros()) if saved.name == name), None)
        if view is not None:
            _view(view, format)
            return
        if name not in known:
            from kafkascope_analyzer.dataset.near_names import did_you_mean
            from kafkascope_parsers.errors import UsageError

            near = did_you_mean(name, [*known, *(view.name for view in (*views(), *macros()))])
            raise UsageError(f"no table is called {table}{near}; kafkascope tables lists them")
        _columns(name, known[name].row, known[name].columns, format)


def unit_of(column: str) -> str:
    """Returns the unit of a column, from its name; empty for texts and plain counts."""
    if column == "ts":
        return "UTC"
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), "")


def _list(known: "dict[str, Table]", stories: set[str], how: Format) -> None:
    from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES
    from kafkascope_analyzer.sql.saved import macros, views

    rows = [
        {"table": name, "made_by": "stories" if name in stories else "ingest", "row": table.row}
        for name, table in known.items()
    ]
    rows.append(
        {"table": "messages.<Api>_request, _response", "made_by": "ingest", "row": "message, with Kafka's fields"}
    )
    rows += [
        {"table": view.name, "made_by": "view", "row": view.description.removeprefix("One row per ").rstrip(".")}
        for view in views()
    ]
    rows += [{"table": each.name, "made_by": "kafkascope sql", "row": each.row} for each in REFERENCE_TABLES]
    rows += [
        {"table": each.name, "made_by": "macro", "row": each.description.partition(": per ")[2].rstrip(".")}
        for each in macros()
    ]
    _write(rows, how, ("table", "made_by", "row"), "one row per")


def _search(words: str, table: str | None, how: Format) -> None:
    """Writes where the words are found, in one table or in all. Raises UsageError where they are not found."""
    from kafkascope_analyzer.sql.found_columns import found_columns
    from kafkascope_parsers.errors import UsageError

    found = [asdict(row) for row in found_columns(words, None if table is None else table.removeprefix("stories/"))]
    if not found:
        raise UsageError(f"nothing in the tables has {words!r} in its name or sentence; kafkascope tables lists them")
    if how is not Format.json:
        for row in found:
            row["type"] = _short(row["type"])
    _write(found, how, ("column", "type", "what"), "what")


def _view(view: "SavedSql", how: Format) -> None:
    """Writes a view of `kafkascope sql`: its SELECT, of which each line is a column."""
    if how is Format.json:
        sys.stdout.write(json.dumps({"view": view.name, "what": view.description, "sql": view.text}, indent=2) + "\n")
        return
    sys.stdout.write(f"{view.name}: a view of kafkascope sql\n\n{view.text}")


def _columns(name: str, row: str, columns: "tuple[Column, ...]", how: Format) -> None:
    from kafkascope_analyzer.report.terminal.layout import line
    from kafkascope_analyzer.report.terminal.page import write_parts

    found: list[dict[str, Any]] = [
        {"column": c.name, "type": str(c.type), "unit": unit_of(c.name), "what": c.doc, "values": list(c.values)}
        for c in columns
    ]
    if how is not Format.json:
        heading = [line(f"{name}: one row per {row}"), line("")]
        write_parts(heading, sys.stdout, plain=how is Format.plain, wrap=sys.stdout.isatty())
        for shown in found:
            shown["what"] += f": {', '.join(shown['values'])}" if shown["values"] else ""
            shown["type"] = _short(shown["type"])
    _write(found, how, ("column", "type", "unit", "what"), "what")


def _short(arrow_type: str) -> str:
    """Returns the Arrow type in one word; nested types are shown in full only with --format json."""
    nested = next((word for word in ("list", "struct") if arrow_type.startswith(f"{word}<")), None)
    return nested or arrow_type.partition("[")[0].replace("string", "text")


def _write(rows: list[dict[str, Any]], how: Format, keys: tuple[str, ...], last: str) -> None:
    if how is Format.json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=True) + "\n")
        return
    from rich.text import Text

    from kafkascope_analyzer.report.terminal.layout import grid
    from kafkascope_analyzer.report.terminal.page import write_parts

    table = grid(
        *((key.replace("_", " "), "n" if key in ("column", "table") else "") for key in keys[:-1]), (last, "w")
    )
    for row in rows:
        table.add_row(*(Text(row[key]) for key in keys))
    write_parts([table], sys.stdout, plain=how is Format.plain)
