"""The types of the page's data as TypeScript declarations.

scripts/reference_pages.py writes them to report/html/script/facts/story.d.ts, so that the type checker compares the
page's script with the dataclasses: a key that the page does not get is an error there. An interface has the name of its
class without the prefix `Page`.
"""

import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kafkascope_analyzer.report.model.compare import Comparison
from kafkascope_analyzer.report.page_model.story import Story
from kafkascope_analyzer.report.plain import keys_of
from kafkascope_analyzer.report.schema.shapes import described, summary_of

_HEAD = """// Made by scripts/reference_pages.py from the dataclasses of the report and of the page: change those.
// Times (`*_ns`) are nanoseconds since the capture's start.
"""
_SIMPLE: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}


def story_types() -> str:
    """Returns the text of story.d.ts: Story, Comparison and, once each, the dataclasses in them."""
    found: dict[str, type] = {}
    for root in (Story, Comparison):
        _add(root, found)
    return "\n".join([_HEAD, *(_interface(name, kind) for name, kind in found.items())])


def _add(kind: type, found: dict[str, type]) -> None:
    """Adds a dataclass and those that its fields hold. Raises TypeError for two of the same name."""
    if found.setdefault(_name(kind), kind) is not kind:
        raise TypeError(f"{kind} and {found[_name(kind)]} have the same name")
    hints = get_type_hints(kind)
    for field, _, _ in keys_of(kind):
        for inner in _dataclasses(hints[field]):
            if found.get(_name(inner)) is not inner:
                _add(inner, found)


def _dataclasses(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _dataclasses(inner)


def _name(kind: type) -> str:
    return kind.__name__.removeprefix("Page")


def _interface(name: str, kind: type) -> str:
    hints = get_type_hints(kind, include_extras=True)
    lines = [f"/** {summary_of(kind)} */", f"export interface {name} {{"]
    for field, key, _ in keys_of(kind):
        inner, sentence, values = described(kind, field, hints[field])
        if sentence:
            lines.append(f"  /** {sentence.replace('*/', '* /')} */")
        lines.append(f"  {key}: {_type(inner, values)};")
    return "\n".join([*lines, "}\n"])


def _type(hint: Any, values: tuple[str, ...] = ()) -> str:
    """Returns the TypeScript type of a type hint. values: the texts that it is limited to, where there is a closed
    list."""
    parts = get_args(hint)
    if NoneType in parts:
        return " | ".join(_type(part, values) for part in parts)
    closed = values if hint is str else parts if get_origin(hint) is Literal else ()
    if closed:
        return " | ".join(json.dumps(value) for value in closed)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if get_origin(hint) is tuple and parts[1:] == (...,):
        inner = _type(parts[0], values)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if get_origin(hint) is dict:
        return f"Record<{_type(parts[0])}, {_type(parts[1])}>"
    return _name(hint)
