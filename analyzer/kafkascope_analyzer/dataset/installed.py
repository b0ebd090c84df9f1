"""Imports packages that only an extra of kafkascope installs."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kafkascope_parsers.errors import UsageError


def installed(package: str, extra: str) -> Any:
    """Imports and returns the package. Raises UsageError, which says how to install it, where it is missing. extra: the
    extra of kafkascope that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise UsageError(_how_to_install(package, extra)) from error


def lack_of(package: str, extra: str) -> str | None:
    """Returns how to install the package, where it is missing; None otherwise. It is not imported. extra: as in
    `installed`."""
    return _how_to_install(package, extra) if find_spec(package) is None else None


def _how_to_install(package: str, extra: str) -> str:
    return f"{package} is not installed: pip install 'kafkascope[{extra}]'"
