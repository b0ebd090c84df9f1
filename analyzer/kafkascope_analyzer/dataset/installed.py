"""Packages that an extra of kafkascope brings."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kafkascope_parsers.errors import UsageError


def installed(package: str, extra: str) -> Any:
    """The package, imported. Raises UsageError, which says how to install it, where it is not there. extra: that of
    kafkascope that brings it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise UsageError(_how_to_install(package, extra)) from error


def lack_of(package: str, extra: str) -> str | None:
    """How to install the package, where it is not there; it is not imported. extra: as of `installed`."""
    return _how_to_install(package, extra) if find_spec(package) is None else None


def _how_to_install(package: str, extra: str) -> str:
    return f"{package} is not installed: pip install 'kafkascope[{extra}]'"
