"""`kafkascope info`: what is in a capture or a dataset, quickly. Never starts Spark."""

from pathlib import Path
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import Format, FormatOption


def info(
    place: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE|OUT.kscope", help="A capture, a directory of captures, or a dataset.", show_default=False
        ),
    ],
    format: FormatOption = Format.rich,  # noqa: A002 - the option's name
) -> None:
    """Say what is in a capture or a dataset."""
    with exit_codes():
        if place != "-" and (Path(place) / "_dataset.json").is_file():
            from kafkascope_analyzer.cli.ingest import show_overview

            show_overview(Path(place), format)
            return
        from kafkascope_analyzer.cli.capture_info import show_capture

        show_capture(place, format)
