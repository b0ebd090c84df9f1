"""`kafkascope sql`: a query over all tables of a dataset, in DuckDB. Starts no Spark."""

import sys
from enum import Enum
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri


class Rows(str, Enum):  # noqa: UP042 - typer's choices want the value as text on every supported Python
    """How the rows of a query are written."""

    rich = "rich"
    plain = "plain"
    csv = "csv"
    json = "json"
    markdown = "markdown"


def sql(
    dataset: DatasetUri,
    query: Annotated[str, typer.Argument(metavar="SELECT", help="A SELECT in DuckDB's SQL; - reads it from stdin.")],
    format: Annotated[  # noqa: A002 - the option's name
        Rows, typer.Option("--format", help="How the rows are written: rich, plain (ASCII), csv, json or markdown.")
    ] = Rows.rich,
) -> None:
    """Ask a question in SQL: select ... from requests, clients, messages.Metadata_response (see kafkascope tables)."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.sql.database import Database
        from kafkascope_analyzer.sql.results import as_csv, as_json, as_markdown, as_table

        statement = sys.stdin.read() if query == "-" else query
        with Database(Dataset.open(dataset)) as database:
            names, rows = database.query(statement)
            if format in (Rows.rich, Rows.plain):
                from kafkascope_analyzer.report.terminal import width_of, write_parts

                write_parts(as_table(names, rows, width_of(sys.stdout)), sys.stdout, plain=format is Rows.plain)
                return
            written = {Rows.csv: as_csv, Rows.json: as_json, Rows.markdown: as_markdown}[format]
            for part in written(names, rows):
                sys.stdout.write(part)
