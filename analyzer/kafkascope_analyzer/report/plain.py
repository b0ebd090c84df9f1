"""Typed parts of a report as the plain values of report.json."""

from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """A dataclass as a dict, a tuple as a list, and whatever they hold likewise; anything else as it is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value
