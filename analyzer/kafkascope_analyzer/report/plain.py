"""Converts typed parts of a report to the plain values of report.json."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

CLIPPED = "clipped"
"""Marks, in the Annotated type of a field, a list of which report.json has only the beginning, with its length beside
it."""
MOST_LISTED = 10
"""Most elements of such a list: a member may be assigned thousands of partitions."""


def plain(value: Any, *, clip: bool = False) -> Any:
    """Returns a dataclass as a dict and a tuple as a list, and the same for everything in them; any other value
    unchanged. clip: whether fields that are CLIPPED are cut.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return dict(_items(value, clip=clip))
    if isinstance(value, list | tuple):
        return [plain(part, clip=clip) for part in value]
    if isinstance(value, Mapping):
        return {str(key): plain(part, clip=clip) for key, part in value.items()}
    return value


def _items(value: Any, *, clip: bool) -> Iterator[tuple[str, Any]]:
    for name, key, is_clipped in keys_of(type(value)):
        part = getattr(value, name)
        if clip and is_clipped:
            yield f"n_{key}", len(part)
            part = part[:MOST_LISTED]
        yield key, plain(part, clip=clip)


_KEYS: dict[Any, tuple[tuple[str, str, bool], ...]] = {}


def keys_of(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    """Returns the fields of a dataclass: name, key (the name without the underscore that keeps it apart from a Python
    keyword, as in `from_`), and whether it is CLIPPED.
    """
    if kind not in _KEYS:
        hints = get_type_hints(kind, include_extras=True)
        clipped = {name for name, hint in hints.items() if get_origin(hint) is Annotated and CLIPPED in get_args(hint)}
        _KEYS[kind] = tuple((field.name, field.name.rstrip("_"), field.name in clipped) for field in fields(kind))
    return _KEYS[kind]


def arguments_of(value: Any) -> Mapping[str, Any]:
    """Returns the fields of a dataclass as arguments of a subclass that has further fields."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def to_json(value: Any) -> str:
    """Returns the value as JSON in the form of report.json: ASCII, so that hostile text cannot reach a terminal, with a
    trailing newline."""
    return json.dumps(plain(value, clip=True), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
