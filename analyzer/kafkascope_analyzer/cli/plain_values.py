"""Commands whose options get values as they are where these have the type of the option already.

Typer 0.29 converts each value with pydantic, also a text to a text and the absence of a value. To load pydantic takes a
sixth of the time until `ingest` reads its first block; now only commands load it that are given a number, a path or the
name of a choice.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

from typer.core import TyperCommand

Process = Callable[[Any, Any], Any]
"""Converts and checks the value of a parameter, given the context of the command and the value from the parser."""


class PlainValues:
    """The part of a command class, before Typer's own, that leaves plain values as they are."""

    callback: Any

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns the parameters of the command, which convert only values that need it."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        hints = get_type_hints(self.callback) if self.callback is not None else {}
        for parameter in parameters:
            if "process_value" not in vars(parameter):
                convert = parameter.process_value
                parameter.process_value = partial(_processed, parameter, hints.get(parameter.name), convert)
        return parameters


class Command(PlainValues, TyperCommand):
    """A command of kafkascope."""


def _processed(parameter: Any, hint: Any, convert: Process, context: Any, value: Any) -> Any:
    """Returns the value of a parameter: its own `process_value`, without the conversion where there is none."""
    if value is None and not parameter.required:
        value = () if parameter.multiple or parameter.nargs == -1 else None
    elif not _is_plain(hint, value):
        return convert(context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _is_plain(hint: Any, value: Any) -> bool:
    """Whether a value has the type of its parameter: a text, several texts, or a default that is a choice."""
    kinds = (hint, *get_args(hint))
    if isinstance(value, (list, tuple)):
        of_texts = any(get_origin(kind) is list and get_args(kind) == (str,) for kind in kinds)
        return of_texts and len(value) > 0 and all(isinstance(each, str) for each in value)
    return type(value) in kinds and isinstance(value, (str, Enum))
