"""`kafkascope explain`: whatever has an id, in sentences with packet numbers. Starts no Spark."""

import json
import sys
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri, Format, FormatOption


def explain(
    dataset: DatasetUri,
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Id of an incident, stall, finding, recovery, start, rebalance or transaction (a transactional id, or "
            "transactional id:number), or an unambiguous beginning of it.",
        ),
    ],
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Explain anything that a report names by an id, in full sentences, with the packets that prove it."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.report.commands import at_place
        from kafkascope_analyzer.report.explain.explanation import explain as explain_id
        from kafkascope_analyzer.report.plain import plain

        found = plain(explain_id(Dataset.open(dataset), name))
        shown = at_place({**found.pop("rows"), **found}, dataset)
        if format is Format.json:
            sys.stdout.write(json.dumps(shown, indent=2, ensure_ascii=True) + "\n")
            return
        from kafkascope_analyzer.report.terminal.pieces import line
        from kafkascope_analyzer.report.terminal.report import write_parts
        from kafkascope_analyzer.report.words import visible

        parts = [line(sentence) for sentence in shown["sentences"]]
        write_parts([*parts, line("For Wireshark:")], sys.stdout, plain=format is Format.plain)
        for command in filter(None, (shown["cut"], shown["wireshark"])):
            sys.stdout.write(f"  {visible(command)}\n")
