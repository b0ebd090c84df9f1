"""The commands of `kafkascope` and their order in the help."""

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kafkascope_analyzer.cli.command_arguments import callback_of
from kafkascope_analyzer.cli.messages import Messages, asks_for_json

_PACKAGE = "kafkascope_analyzer.cli"
COMMANDS = {
    "analyze": "analyze",
    "ingest": "ingest",
    "stories": "stories",
    "report": "report",
    "timeline": "timeline",
    "explain": "explain",
    "diff": "diff",
    "info": "info",
    "topology": "topology",
    "cut": "cut",
    "clean": "clean",
    "compact": "compact",
    "redact": "redact",
    "resolve": "redact",
    "sql": "sql",
    "tables": "tables",
    "mcp": "mcp",
    "export": "export",
    "decode": "decode_command",
    "protocol": "protocol",
    "rules": "rules",
    "pack-executors": "pack_executors",
}
"""The commands in the order of the help, and the file of each. The file has a function of the command's name, and is
imported when the command is called or described: importing all files takes as long as the shorter commands run."""

_VALIDATOR_PREFIX = "Value error, "
"""Prefix of the messages of pydantic, with which Typer 0.29 converts the values of options."""
_LOOKS: Any = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
"""Errors and help are plain text."""
_WrongCall: Any = typer.BadParameter.__base__
"""The exception of the command-line parser. Typer brings its own copy of Click from 0.27 on."""


class _ByName(Mapping[str, Any]):
    """The commands by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        module = import_module(f"{_PACKAGE}.{COMMANDS[name]}")
        alone = typer.Typer(**_LOOKS, add_completion=False)
        alone.command(name)(callback_of(getattr(module, name.replace("-", "_"))))
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The group of all commands: its help prints the whole first paragraph of each command's help, and an invalid value
    is reported in one sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _ByName()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the arguments before the command, and checks in all of them how errors are to be written."""
        ctx.obj = Messages(asks_for_json(args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; re-raises errors of the parser without the prefix of the library that has checked the
        value."""
        try:
            words = [*ctx._protected_args, *ctx.args]
            command = self.get_command(ctx, words[0]) if words else None
            if command is not None:
                _refuse_repeated(command, words[1:])
            return super().invoke(ctx)
        except _WrongCall as error:
            error.message = error.message.removeprefix(_VALIDATOR_PREFIX)
            if ctx.obj.is_json:
                from kafkascope_analyzer.cli.exits import USAGE

                ctx.obj.error(error.format_message(), USAGE)
                raise typer.Exit(USAGE) from error
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the table of commands; the default is one line for each description."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, _first_paragraph(command.help)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(shown)


def _refuse_repeated(command: Any, words: list[str]) -> None:
    """Raises the parser's exception where an option that takes one value is given several times: the parser would keep
    the last one and silently drop the others."""
    options = {name: option for option in command.params for name in option.opts if name.startswith("-")}
    seen: set[str] = set()
    left = iter(words)
    for word in left:
        if word == "--":
            return
        name, _, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
        option = options.get(name)
        if option is None or option.is_flag or option.multiple:
            continue
        if option.name in seen:
            raise _WrongCall(f"{name} is given twice, and takes one value")
        seen.add(option.name)
        if not value:
            next(left, None)


def _first_paragraph(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


app = typer.Typer(
    name="kafkascope",
    cls=_Commands,
    help="Reads packet captures of Kafka traffic: what failed and why, which clients waited, how they started and "
    "recovered.",
    epilog="Exit codes: 0 done, 1 findings with --fail-on, 2 usage, 3 unreadable input, 4 Spark failed, 5 no Kafka in "
    "the capture, 130 interrupted, 141 the reader of the output closed it.",
    no_args_is_help=True,
    **_LOOKS,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kafkascope {version('kafkascope')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    del version
