"""The JSON Schema (draft 2020-12) of dataclasses: keys, types and descriptions are those of their fields.

Every object lists all its keys and allows no other, so that a key without a description cannot get into a report. A
field is `Annotated` with its description and, where they are a closed list, its values. A field of a `Row` without a
description has that of the table's column, as all columns of a `StoryRow` do.
"""

import inspect
from dataclasses import is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from kafkascope_analyzer.dataset.row_types import Row, StoryRow
from kafkascope_analyzer.report.plain import CLIPPED, keys_of

Shape = dict[str, object]

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


def shape_of(kind: type, doc: str | None = None) -> Shape:
    """Returns the schema of a dataclass; lists that are CLIPPED have their lengths beside them. Raises TypeError for a
    field whose type has no schema.
    """
    hints = get_type_hints(kind, include_extras=True)
    keys: dict[str, Shape] = {}
    for name, key, is_clipped in keys_of(kind):
        if is_clipped:
            length = f"how many {key.replace('_', ' ')} there are"
            keys[f"n_{key}"] = {"description": length, "type": "integer"}
        shape = _typed(*described(kind, name, hints[name]))
        keys.setdefault(key, shape)
    shape = {"description": doc or summary_of(kind), "type": "object", "properties": keys, "required": list(keys)}
    return {**shape, "additionalProperties": False}


def summary_of(kind: type) -> str:
    """Returns the first sentence of a class's docstring, in the form in which the schema has descriptions."""
    first = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")
    return first[:1].lower() + first[1:] if first[1:2].islower() or first[1:2] == " " else first


def described(kind: type, name: str, hint: Any) -> tuple[Any, str, tuple[str, ...]]:
    """Returns the type of a field of a class, its description and the closed list of its values: its own, those of its
    column, or those of the class whose part it is."""
    whole = getattr(kind, "SOURCE", None)
    if whole is not None:
        return hint, *described(whole, name, get_type_hints(whole, include_extras=True)[name])[1:]
    inner, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    sentences = [mark for mark in marks if isinstance(mark, str) and mark != CLIPPED]
    values = next((mark for mark in marks if isinstance(mark, tuple)), ())
    is_declared = issubclass(kind, StoryRow)
    if not issubclass(kind, Row) or name not in kind.TABLE.schema.names or (sentences and not is_declared):
        return inner, sentences[0] if sentences else "", values
    column = kind.TABLE.column(name)
    return inner, column.doc, column.values


def _typed(hint: Any, doc: str, values: tuple[str, ...]) -> Shape:
    inner = [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        shape = _typed(inner[0], doc, values)
        closed = shape.get("enum")
        nullable = {"enum": [*closed, None]} if isinstance(closed, list) else {}
        return {**shape, "type": [shape["type"], "null"], **nullable}
    described: Shape = {"description": doc} if doc else {}
    if get_origin(hint) is Literal:
        return {**described, "type": "string", "enum": inner}
    if hint in _SIMPLE:
        listed = {"enum": list(values)} if values and hint is str else {}
        return {**described, "type": _SIMPLE[hint], **listed}
    if is_dataclass(hint) and isinstance(hint, type):
        return shape_of(hint, doc)
    if get_origin(hint) is tuple and inner[1:] == [...]:
        of_row = is_dataclass(inner[0]) and isinstance(inner[0], type)
        items = shape_of(inner[0]) if of_row else _typed(inner[0], "", ())
        return {**described, "type": "array", "items": items}
    if get_origin(hint) is dict and inner == [str, int]:
        return {**described, "type": "object", "additionalProperties": {"type": "integer"}}
    raise TypeError(f"{hint} has no shape")
