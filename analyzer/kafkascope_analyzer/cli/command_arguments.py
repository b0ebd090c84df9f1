"""Passes the arguments of a command as one value: a frozen dataclass with a field for each argument and option.

Typer reads the parameters of a function. A command with many options has one parameter instead, a dataclass whose
fields are declared as Typer's parameters are; dataclasses that share options inherit from each other.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_args

from typer.models import ArgumentInfo

Command = Callable[..., None]


def callback_of(command: Command) -> Command:
    """Returns the function that Typer calls for a command: with a parameter for each field, if the command takes a
    dataclass; else the command itself."""
    parameters = list(inspect.signature(command).parameters.values())
    kind = parameters[0].annotation if len(parameters) == 1 else None
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return command

    def callback(**values: Any) -> None:
        command(kind(**values))

    # A derived class has the options of its base classes first, but help lists arguments before options.
    declared = [_parameter(field) for field in sorted(fields(kind), key=_is_option)]
    callback.__doc__ = command.__doc__
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    callback.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    return callback


def _is_option(field: Field[Any]) -> bool:
    return not any(isinstance(part, ArgumentInfo) for part in get_args(field.type))


def _parameter(field: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)
