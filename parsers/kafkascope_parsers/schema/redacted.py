"""Removes the secrets from a decoded message (nested values), for commands that print a single message.

The decisions are the same as those of machine.hidden over columns, which tests compare. A broker's text that may repeat
a secret is never shown, because its exchange is not known here.
"""

from collections.abc import Mapping
from typing import Any

from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.secrets import (
    ALWAYS,
    PASSWORD_TYPE,
    SecretWhen,
    hides_unknown_tags,
    is_secret_name,
)
from kafkascope_parsers.schema.tree import Node


def without_secrets(message: MessageType, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message (as from machine.rows.to_rows) without secrets. A field that is always secret is replaced by
    `<name>_length`; one that is secret in this message is null and has `<name>_length` in addition; unknown tags that
    may be secret have "length" instead of "hex".
    """
    out: dict[str, Any] = _struct(message.root, row, {}, tags_hidden=hides_unknown_tags(message.name))
    return out


def _value(node: Node, value: Any, around: Mapping[str, Any], *, tags_hidden: bool) -> Any:
    """Returns a value without secrets. around: fields of the enclosing structs, by path."""
    if value is None or node.kind == "leaf":
        return value
    if node.kind == "array" and node.element is not None:
        return [_value(node.element, element, around, tags_hidden=tags_hidden) for element in value]
    return _struct(node, value, around, tags_hidden=tags_hidden)


def _struct(node: Node, value: Mapping[str, Any], around: Mapping[str, Any], *, tags_hidden: bool) -> dict[str, Any]:
    fields = {child.path: value.get(child.name) for child in node.children.values() if child.kind == "leaf"}
    around = {**around, **fields}
    out: dict[str, Any] = {}
    for child in node.children.values():
        if child.name not in value:
            continue
        field = value[child.name]
        if child.secret is None or field is None or not _is_secret(child.secret, around):
            out[child.name] = _value(child, field, around, tags_hidden=tags_hidden)
            continue
        if child.secret != ALWAYS:
            out[child.name] = None
        out[f"{child.name}_length"] = len(field.encode() if isinstance(field, str) else field)
    if tags := value.get("unknown_tagged_fields"):
        hidden = [{"tag": tag["tag"], "length": len(tag["hex"])} for tag in tags]
        out["unknown_tagged_fields"] = hidden if tags_hidden else tags
    return out


def _is_secret(when: SecretWhen, around: Mapping[str, Any]) -> bool:
    """Whether a field is secret. around: fields of the same and the enclosing structs, by path."""
    return (
        when == ALWAYS
        or when.is_report
        or any(around[path] for path in when.sensitive)
        or any(around[path] == PASSWORD_TYPE for path in when.types)
        or any(is_secret_name(around[path] or "") for path in when.names)
    )
