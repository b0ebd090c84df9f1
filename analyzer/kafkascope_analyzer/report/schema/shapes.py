"""The words in which the schema of report.json is written: JSON Schema (draft 2020-12) with a description everywhere.

Every object lists all its keys and allows no other, so that a key without a description cannot get into a report.
"""

from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table

Shape = dict[str, Any]


def text(doc: str, *values: str, null: bool = False) -> Shape:
    """A string; values, if given, is a closed list."""
    shape = _one("string", doc, null=null)
    return {**shape, "enum": [*values, None] if null else list(values)} if values else shape


def whole(doc: str, *, null: bool = False) -> Shape:
    """An integer."""
    return _one("integer", doc, null=null)


def number(doc: str, *, null: bool = False) -> Shape:
    """A number."""
    return _one("number", doc, null=null)


def flag(doc: str, *, null: bool = False) -> Shape:
    """A boolean."""
    return _one("boolean", doc, null=null)


def _one(kind: str, doc: str, *, null: bool) -> Shape:
    return {"description": doc, "type": [kind, "null"] if null else kind}


def fields(doc: str, keys: dict[str, Shape], *, null: bool = False) -> Shape:
    """An object with exactly these keys."""
    shape = {**_one("object", doc, null=null), "properties": keys, "required": list(keys)}
    return {**shape, "additionalProperties": False}


def counts(doc: str) -> Shape:
    """An object of counts by name."""
    return {**_one("object", doc, null=False), "additionalProperties": {"type": "integer"}}


def listed(doc: str, items: Shape, *, null: bool = False) -> Shape:
    """A list of alike things."""
    return {**_one("array", doc, null=null), "items": items}


def texts(doc: str) -> Shape:
    """A list of strings."""
    return listed(doc, {"type": "string"})


def columns_of(table: Table, *, without: tuple[str, ...] = (), clipped: bool = False) -> dict[str, Shape]:
    """The keys of a table's row: its columns but for timestamps, which have their `*_ns` beside them.

    clipped: of lists only the beginning is there, and beside each its length as `n_` and its name.
    """
    keys: dict[str, Shape] = {}
    for column in table.columns:
        if column.name == "ts" or column.name.endswith("_ts") or column.name in without:
            continue
        if clipped and pa.types.is_list(column.type):
            keys[f"n_{column.name}"] = whole(f"how many {column.name.replace('_', ' ')} there are")
        keys[column.name] = _column(column, clipped=clipped)
    return keys


def _column(column: Column, *, clipped: bool) -> Shape:
    shape = {"description": column.doc, **_arrow(column.type, clipped=clipped)}
    return {**shape, "enum": [*column.values, None]} if column.values and shape["type"] == ["string", "null"] else shape


def _arrow(kind: pa.DataType, *, clipped: bool) -> Shape:
    """An Arrow type; every value may be null."""
    if pa.types.is_list(kind):
        return {"type": ["array", "null"], "items": _arrow(kind.value_type, clipped=clipped)}
    if pa.types.is_struct(kind):
        keys: dict[str, Shape] = {}
        for field in kind:
            if clipped and pa.types.is_list(field.type):
                keys[f"n_{field.name}"] = {"type": "integer"}
            keys[field.name] = _arrow(field.type, clipped=clipped)
        optional = [key for key in keys if key.startswith("n_") and key[2:] in keys]
        required = [key for key in keys if key not in optional]
        return {"type": ["object", "null"], "properties": keys, "required": required, "additionalProperties": False}
    name = "boolean" if pa.types.is_boolean(kind) else "integer" if pa.types.is_integer(kind) else "string"
    return {"type": [name, "null"]}


def shape_of(kind: Any, doc: str) -> Shape:
    """A dataclass whose fields are Annotated with a sentence each."""
    hints = get_type_hints(kind, include_extras=True)
    return fields(doc, {field.name: _annotated(hints[field.name]) for field in dataclass_fields(kind)})


def _annotated(hint: Any) -> Shape:
    """A field: its type and its sentence. Raises TypeError for one without a sentence, or of a type without a shape."""
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{hint} has no sentence")
    kind, doc = get_args(hint)
    return _typed(kind, doc)


def _typed(kind: Any, doc: str) -> Shape:
    inner = [part for part in get_args(kind) if part is not NoneType]
    simple = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if kind in simple:
        return _one(simple[kind], doc, null=False)
    if NoneType in get_args(kind) and len(inner) == 1 and inner[0] in simple:
        return _one(simple[inner[0]], doc, null=True)
    if get_origin(kind) is tuple and inner[1:] == [...]:
        items = shape_of(inner[0], "one of them") if is_dataclass(inner[0]) else {"type": simple[inner[0]]}
        return listed(doc, items)
    if get_origin(kind) is dict and inner == [str, int]:
        return counts(doc)
    raise TypeError(f"{kind} has no shape")
