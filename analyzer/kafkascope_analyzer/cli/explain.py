"""`kafkascope explain`: an episode, or a cause, in sentences with packet numbers. Starts no Spark."""

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
            metavar="ID", help="recovery_id or cause_id of the table recoveries, or an unambiguous beginning of it."
        ),
    ],
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Tell what broke, what the client did about it and how long it took, with the packets that prove it."""
    with exit_codes():
        from kafkascope_analyzer.dataset.dataset import Dataset
        from kafkascope_analyzer.report.episode import episode_model
        from kafkascope_analyzer.report.explained import cause_sentences, sentences

        model = episode_model(Dataset.open(dataset), name)
        text = cause_sentences(model) if model["asked_for"] == "cause" else []
        text += sentences(model)
        if format is Format.json:
            model["files"] = {str(i): path for i, path in model["files"].items()}
            sys.stdout.write(json.dumps({**model, "sentences": text}, indent=2, ensure_ascii=True) + "\n")
            return
        from kafkascope_analyzer.report.pieces import line
        from kafkascope_analyzer.report.terminal import write_parts

        parts = [line(sentence) for sentence in text]
        write_parts([*parts, line("For Wireshark:")], sys.stdout, plain=format is Format.plain)
        sys.stdout.write(f"  {model['cut']}\n")
