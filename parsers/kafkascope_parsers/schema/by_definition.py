"""Reads one message by its definition, in plain Python, without programs, slots or columns.

It is used for single messages that need not be decoded fast: in commands, and in Spark's Python workers, which load no
kernels. It shares only the facts with the compiler and the machine, and returns the same values and failures (kind,
offset, field path), which tests compare.
"""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafkascope_parsers.errors import DecodeError
from kafkascope_parsers.schema.compile import least_element_size
from kafkascope_parsers.schema.facts import FieldFacts
from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.tree import snake_case

_FIXED: dict[str, str] = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "int64": ">q",
    "float64": ">d",
}


class MessageError(DecodeError):
    """A message does not decode: kind as in FAILURE_KINDS, offset from the start of its header, path of the field."""

    def __init__(self, kind: str, offset: int, path: str) -> None:
        self.kind, self.offset, self.path = kind, offset, path
        super().__init__(f"{path or 'message'}: {kind} at byte {offset}")


@dataclass(slots=True)
class _Reader:
    """A cursor over one message."""

    raw: bytes
    version: int
    flexible: bool
    at: int = 0

    def fail(self, kind: str, path: str) -> MessageError:
        return MessageError(kind, self.at, path)

    def take(self, n: int, path: str) -> bytes:
        if n > len(self.raw) - self.at:
            raise self.fail("truncated", path)
        self.at += n
        return self.raw[self.at - n : self.at]

    def uvarint(self, path: str, restart: int | None = None) -> int:
        """An unsigned varint; a failure is placed at its first byte, or at `restart`."""
        start = self.at
        value = 0
        for shift in range(0, 35, 7):
            if self.at >= len(self.raw):
                self.at = start if restart is None else restart
                raise self.fail("truncated", path)
            byte = self.raw[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFF
        self.at = start if restart is None else restart
        raise self.fail("varint_too_long", path)

    def signed(self, width: int, path: str) -> int:
        return int.from_bytes(self.take(width, path), "big", signed=True)

    def length(self, width: int, path: str, least: int = 1) -> int:
        """A length or count, -1 for null; `width` 0 is a varint of n + 1. Checked against the bytes left, `least` for
        each."""
        start = self.at
        n = self.uvarint(path) - 1 if width == 0 else self.signed(width, path)
        left = len(self.raw) - self.at
        if n < -1 or n > left // least:
            self.at = start
            raise self.fail("negative_length" if n < -1 else "length_beyond_end", path)
        return n


def decode_by_definition(message: MessageType, raw: bytes, version: int, *, allow_rest: bool = False) -> dict[str, Any]:
    """Returns the message as nested values, like machine.rows.to_rows. Raises MessageError if it does not decode.
    allow_rest: whether unread bytes may follow, as in a message of a newer version.
    """
    low, high = message.versions
    if not low <= version <= high:
        raise MessageError("unknown_version", 0, "")
    try:
        return _message(message, raw, version, version, allow_rest)
    except MessageError:
        former = message.layout_number(version)
        if former == version:
            raise
        with suppress(MessageError):
            return _message(message, raw, version, former, allow_rest)
        raise


def _message(message: MessageType, raw: bytes, version: int, layout: int, allow_rest: bool) -> dict[str, Any]:
    out: dict[str, Any] = {}
    reader = _Reader(raw, version, flexible=False)
    for part in message.parts[layout - message.versions[0]]:
        reader.version, reader.flexible = part.version, part.flexible
        out[part.node.name] = _struct(reader, part.definition.fields, part.node.path)
    if reader.at != len(raw) and not allow_rest:
        raise reader.fail("trailing_bytes", message.body.path)
    return out


def _struct(reader: _Reader, fields: tuple[FieldFacts, ...], path: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    tagged: dict[int, FieldFacts] = {}
    for f in fields:
        if reader.version not in f.versions:
            continue
        out[snake_case(f.name)] = None
        if reader.flexible and reader.version in f.tagged:
            tagged[f.tag] = f
        else:
            out[snake_case(f.name)] = _field(reader, f, _join(path, f), in_tag=False)
    if reader.flexible:
        _tags(reader, tagged, out, path)
    return out


def _join(path: str, f: FieldFacts) -> str:
    name = snake_case(f.name)
    return f"{path}.{name}" if path else name


def _tags(reader: _Reader, tagged: dict[int, FieldFacts], out: dict[str, Any], path: str) -> None:
    section = f"{path}.unknown_tagged_fields" if path else "unknown_tagged_fields"
    start = reader.at
    n = reader.uvarint(section)
    if n > (len(reader.raw) - reader.at) // 2:
        reader.at = start
        raise reader.fail("length_beyond_end", section)
    seen: set[int] = set()
    unknown = []
    for _ in range(n):
        start = reader.at
        tag = reader.uvarint(section)
        size = reader.uvarint(section, restart=start)
        if size > len(reader.raw) - reader.at or tag in seen:
            too_long = size > len(reader.raw) - reader.at
            reader.at = start
            raise reader.fail("length_beyond_end" if too_long else "duplicate_tag", section)
        if tag in tagged:
            seen.add(tag)
            end = reader.at + size
            f = tagged[tag]
            out[snake_case(f.name)] = _field(reader, f, _join(path, f), in_tag=True)
            if reader.at != end:
                raise reader.fail("tag_size_mismatch", _join(path, f))
        else:
            unknown.append({"tag": tag, "hex": reader.take(size, section)})
    if unknown:
        out["unknown_tagged_fields"] = unknown


def _field(reader: _Reader, f: FieldFacts, path: str, *, in_tag: bool) -> Any:
    compact = reader.flexible if f.flexible is None else reader.version in f.flexible
    if f.is_array:
        return _array(reader, f, path, compact)
    if not f.fields:
        return _leaf(reader, f.type, path, compact)
    if reader.version in f.nullable:
        is_null = reader.uvarint(path) == 0 if in_tag else reader.take(1, path)[0] >= 0x80
        if is_null:
            return None
    return _struct(reader, f.fields, path)


def _array(reader: _Reader, f: FieldFacts, path: str, compact: bool) -> list[Any] | None:
    least = least_element_size(f, reader.version, reader.flexible, compact)
    n = reader.length(0 if compact else 4, path, least)
    if n < 0:
        return None
    element: Callable[[], Any] = (
        (lambda: _struct(reader, f.fields, path + "[]"))
        if f.fields
        else (lambda: _leaf(reader, f.type, path + "[]", compact))
    )
    return [element() for _ in range(n)]


def _leaf(reader: _Reader, leaf_type: str, path: str, compact: bool) -> Any:
    if leaf_type == "bool":
        return reader.take(1, path) != b"\0"
    if leaf_type == "uuid":
        return urlsafe_b64encode(reader.take(16, path)).decode().rstrip("=")
    if leaf_type in _FIXED:
        code = _FIXED[leaf_type]
        return struct.unpack(code, reader.take(struct.calcsize(code), path))[0]
    n = reader.length(0 if compact else 2 if leaf_type == "string" else 4, path)
    if n < 0:
        return None
    raw = reader.take(n, path)
    return raw.decode("utf-8", "replace") if leaf_type == "string" else raw
