"""Parts of dataclasses: the subset of their fields that a page has."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints


class Part:
    """Some fields of SOURCE under their names, with Parts of the dataclasses in them. Subclasses are frozen
    dataclasses. One without a SOURCE is filled field by field instead.
    """

    __slots__ = ()
    SOURCE: ClassVar[type]


P = TypeVar("P", bound=Part)
Make = Callable[[Any], Any]


def part_of(kind: type[P], value: object) -> P:
    """Returns the part of a value that a page has. value: an instance of SOURCE, or of a class with the same fields."""
    return kind(**{name: make(getattr(value, name)) for name, make in _makers(kind).items()})


def parts_of(kind: type[P], values: Any) -> tuple[P, ...]:
    """Returns the part of each value."""
    return tuple(part_of(kind, value) for value in values)


_MAKERS: dict[type, Mapping[str, Make]] = {}


def _makers(kind: type[Part]) -> Mapping[str, Make]:
    """Returns the functions that make the value of each field."""
    if kind not in _MAKERS:
        hints = get_type_hints(kind)
        _MAKERS[kind] = {field.name: _maker(hints[field.name]) for field in fields(kind)}  # type: ignore[arg-type]
    return _MAKERS[kind]


def _maker(hint: Any) -> Make:
    if isinstance(hint, type) and issubclass(hint, Part):
        return lambda value: None if value is None else part_of(hint, value)
    inner = [_maker(part) for part in get_args(hint) if part is not ...]
    changing = [make for make in inner if make is not _same]
    if not changing:
        return _same
    make = changing[0]
    return (lambda values: tuple(map(make, values))) if get_origin(hint) is tuple else make


def _same(value: Any) -> Any:
    return value
