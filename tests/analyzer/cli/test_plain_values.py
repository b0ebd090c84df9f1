"""Values that are passed to a command as they are. The oracle is Typer, which converts them all."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from kafkascope_analyzer.cli.plain_values import Command


class Form(Enum):
    rich = "rich"
    json = "json"


def received(arguments: list[str], kind: type[Any] | None) -> Any:
    """Returns what a command of this class receives for the arguments, or how the call ends."""
    values: list[Any] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command(cls=kind)
    def command(
        captures: Annotated[list[str], typer.Argument()],
        out: Annotated[str | None, typer.Option("-o")] = None,
        key: Annotated[str, typer.Option()] = "none",
        place: Annotated[Path | None, typer.Option()] = None,
        jobs: Annotated[int | None, typer.Option(min=1, max=9)] = None,
        node: Annotated[list[int] | None, typer.Option()] = None,
        topic: Annotated[list[str] | None, typer.Option()] = None,
        quiet: Annotated[bool, typer.Option("-q")] = False,
        form: Annotated[Form, typer.Option()] = Form.rich,
        forms: Annotated[list[Form] | None, typer.Option()] = None,
    ) -> None:
        values.append((captures, out, key, place, jobs, node, topic, quiet, form, forms))

    done = CliRunner().invoke(app, arguments)
    return values[0] if values else (done.exit_code, done.output)


@pytest.mark.parametrize(
    "arguments",
    [
        "a.pcap",
        "a.pcap b.pcap -o out --key= -q",
        "a --place x --jobs 3 --node 1 --node 2 --topic a --topic b --form json --forms rich --forms json",
        "a --jobs 10",
        "a --jobs x",
        "a --node x",
        "a --form xml",
        "a --key",
        "--help",
        "",
    ],
)
def test_a_command_receives_what_typer_converts(arguments: str) -> None:
    given = arguments.split()
    assert received(given, Command) == received(given, None)
