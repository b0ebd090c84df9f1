"""`kafkascope sql`: runs a query over all tables of a dataset, in DuckDB. Starts no Spark."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_dataset
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.sql.database import Database


class Rows(str, Enum):  # noqa: UP042 - typer's choices want the value as text on every supported Python
    """The format in which the rows of a query are written."""

    table = "table"
    plain = "plain"
    csv = "csv"
    json = "json"
    jsonl = "jsonl"
    markdown = "markdown"
    parquet = "parquet"


@dataclass(frozen=True, kw_only=True)
class SqlArguments:
    """The arguments of `kafkascope sql`."""

    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT.kscope", help="A dataset that kafkascope wrote: its folder, or its URI.", show_default=False
        ),
    ] = None
    query: Annotated[
        str | None,
        typer.Argument(metavar="[SELECT]", help="A SELECT in DuckDB's SQL; - reads it from stdin.", show_default=False),
    ] = None
    cluster: Cluster = None
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="NAME", help="Ask this saved question instead.", show_default=False),
    ] = None
    list_questions: Annotated[bool, typer.Option("--list", help="List the saved questions; no dataset is needed.")] = (
        False
    )
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="NAME", help="Print a saved question as SQL.", show_default=False),
    ] = None
    owners: Annotated[
        Path | None,
        typer.Option(
            "--owners",
            metavar="FILE",
            help="File of owners: lines `owner: glob` of client ids, principals, groups or addresses; for topic-users.",
            show_default=False,
        ),
    ] = None
    format: Annotated[
        Rows,
        typer.Option(
            "--format",
            help="How the rows are written: table, plain (a table in ASCII), csv, json, jsonl (a line of JSON for each "
            "row), markdown or parquet.",
        ),
    ] = Rows.table


def sql(given: SqlArguments) -> None:
    """Ask a question in SQL: select ... from requests, clients, messages.Metadata_response (see kafkascope tables).

    Saved questions need no SQL: kafkascope sql --list, kafkascope sql OUT.kscope --run slow-producers.
    """
    with exit_codes(Messages.of(given.format)):
        from kafkascope_analyzer.sql.saved import question

        if given.list_questions:
            _list(given.format)
        elif given.show is not None:
            _show(question(given.show).text, given)
        else:
            dataset, statement = _asked(given)
            _ask(open_dataset(dataset, given.cluster), statement, given.format, given.owners)


def _asked(given: SqlArguments) -> tuple[str, str]:
    """Returns the dataset and the SELECT. Raises UsageError where one is missing, or there are two questions."""
    from kafkascope_analyzer.sql.saved import question

    if given.dataset is None:
        raise UsageError("name the dataset to ask: kafkascope sql OUT.kscope SELECT; --list needs none")
    if given.run is not None and given.query is None:
        return given.dataset, question(given.run).text
    if given.query is None or given.run is not None:
        raise UsageError("give either a SELECT or --run NAME; kafkascope sql --list lists the saved questions")
    return given.dataset, sys.stdin.read() if given.query == "-" else given.query


def _show(text: str, given: SqlArguments) -> None:
    """Writes a saved question."""
    is_json = given.format is Rows.json
    sys.stdout.write(json.dumps({"name": given.show, "sql": text}) + "\n" if is_json else text)


def _list(how: Rows) -> None:
    """Writes the saved questions: name and description."""
    from kafkascope_analyzer.sql.saved import questions

    if how is Rows.parquet:
        raise UsageError("the list of saved questions is no Parquet file: --format csv or json has it")
    rows = [(saved.name, saved.description) for saved in questions()]
    if how not in (Rows.table, Rows.plain):
        _write_text(how, ["name", "answers"], iter(rows))
        return
    from kafkascope_analyzer.report.terminal.page import write_aligned

    write_aligned(rows, sys.stdout)


def _ask(dataset: "Dataset", statement: str, how: Rows, owners: Path | None) -> None:
    from kafkascope_analyzer.sql.database import Database
    from kafkascope_analyzer.sql.reference_tables import read_owners

    with Database(dataset, owners=None if owners is None else read_owners(owners)) as database:
        if how is Rows.parquet:
            _write_parquet(database, statement)
            return
        names, rows = database.query(statement)
        if how in (Rows.table, Rows.plain):
            _write_table(names, rows, ascii_only=how is Rows.plain)
            return
        _write_text(how, names, rows)


def _write_text(how: Rows, names: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Writes rows as CSV, JSON, JSON lines or Markdown."""
    from kafkascope_analyzer.report.terminal.query_results import as_csv, as_json, as_json_lines, as_markdown

    written = {Rows.csv: as_csv, Rows.json: as_json, Rows.jsonl: as_json_lines, Rows.markdown: as_markdown}[how]
    for part in written(names, rows):
        sys.stdout.write(part)


def _write_table(names: list[str], rows: Iterator[tuple[Any, ...]], *, ascii_only: bool) -> None:
    """Writes a table as wide as the terminal; where the output is not a terminal, as wide as its rows are."""
    from kafkascope_analyzer.report.terminal.page import UNWRAPPED, width_of, write_parts
    from kafkascope_analyzer.report.terminal.query_results import as_table

    wrap = sys.stdout.isatty()
    parts = as_table(names, rows, width_of(sys.stdout) if wrap else UNWRAPPED)
    write_parts(parts, sys.stdout, plain=ascii_only, wrap=wrap)


def _write_parquet(database: "Database", statement: str) -> None:
    """Writes the result as one Parquet file, when it is complete. Raises UsageError on a terminal."""
    import shutil
    import tempfile

    if sys.stdout.isatty():
        raise UsageError("Parquet cannot be shown on a terminal; write it to a file: > rows.parquet")
    from kafkascope_analyzer.report.terminal.query_results import write_parquet

    with tempfile.TemporaryFile(prefix="kafkascope-") as file:
        write_parquet(database.arrow(statement), file)
        file.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
