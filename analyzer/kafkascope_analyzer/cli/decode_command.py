"""`kafkascope decode`: decodes single frames that are given as JSON lines. For developers, and hidden from the help."""

import sys
from typing import Annotated

import typer
from kafkascope_parsers.errors import UsageError

from kafkascope_analyzer.cli.exits import exit_codes


def decode(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="JSON lines (.gz too), one frame each.")],
    jsonl: Annotated[bool, typer.Option("--jsonl", help="The input is JSON lines: the only kind there is.")] = False,
) -> None:
    """Decode frames given as JSON lines; one line of JSON for each."""
    with exit_codes():
        if not jsonl:
            raise UsageError("decode reads JSON lines: say --jsonl")
        from kafkascope_analyzer.cli.decode import decode_jsonl

        decode_jsonl(files, sys.stdout)
