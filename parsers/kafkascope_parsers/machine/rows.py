"""Columns as nested Python values, with every field in full, including secrets and records. For `decode --jsonl`, tests
and single messages."""

from base64 import urlsafe_b64encode
from typing import Any

import numpy as np

from kafkascope_parsers.machine.columns import Columns
from kafkascope_parsers.schema.tree import TAG_TYPE, Node


def to_rows(columns: Columns) -> list[dict[str, Any]]:
    """One dict per decoded message, in the order of `columns.frame`: {"header": {...}, "body": {...}}, keys in
    snake_case.

    Fields that are not there are None. bytes and records are bytes, uuids 22 characters, strings that are not UTF-8
    have replacement characters. A struct with unknown tags has "unknown_tagged_fields": [{"tag": int, "hex": bytes}].
    """
    return _structs(columns, columns.message.root)


def _values(columns: Columns, node: Node) -> list[Any]:
    if node.kind == "struct":
        return _structs(columns, node)
    if node.kind == "array":
        return _arrays(columns, node)
    return _leaves(columns, node)


def _structs(columns: Columns, node: Node) -> list[Any]:
    names = [child.name for child in node.children.values()]
    parts = [_values(columns, child) for child in node.children.values()]
    out: list[Any] = [dict(zip(names, values, strict=True)) for values in zip(*parts, strict=True)]
    if not parts:
        out = [{} for _ in range(columns.size(node))]
    if node.unknown is not None and columns.has(node.unknown):
        for struct, unknown in zip(out, _arrays(columns, node.unknown), strict=True):
            if unknown:
                struct["unknown_tagged_fields"] = unknown
    if node.slot >= 0:
        return [None if null else struct for struct, null in zip(out, columns.is_null(node).tolist(), strict=True)]
    return out


def _arrays(columns: Columns, node: Node) -> list[Any]:
    if node.element is None:
        raise ValueError(f"{node.path}: an array without element")
    elements = _values(columns, node.element)
    out: list[Any] = []
    at = 0
    for n in columns.counts(node).tolist():
        out.append(None if n < 0 else elements[at : at + n])
        at += max(n, 0)
    return out


def _leaves(columns: Columns, node: Node) -> list[Any]:
    null = columns.is_null(node)
    if node.type in ("string", "bytes", "records", "uuid"):
        raw = memoryview(columns.buf.data)
        lengths = np.full(len(null), 16) if node.type == "uuid" else columns.lengths(node)
        spans = zip(columns.offsets(node).tolist(), lengths.tolist(), null.tolist(), strict=True)
        return [None if absent else _render(node.type, bytes(raw[at : at + n])) for at, n, absent in spans]
    values = columns.values(node)
    if node.type == "bool":
        values = values != 0
    if node.type == TAG_TYPE or not null.any():
        return list(values.tolist())
    return [None if absent else v for v, absent in zip(values.tolist(), null.tolist(), strict=True)]


def _render(leaf_type: str, raw: bytes) -> Any:
    if leaf_type == "string":
        return raw.decode("utf-8", "replace")
    return urlsafe_b64encode(raw).decode().rstrip("=") if leaf_type == "uuid" else raw
