"""A Kafka message as a tree of fields that can be changed and written again, of any version.

It knows nothing of the package's decoder and machine but the schema facts: what is written with changed values is well
formed unless a leaf's `wire` says otherwise, so it gets past decoding to whatever computes with the values.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}


@dataclass(slots=True)
class Leaf:
    """A field with a value: the bytes of a number as on the wire; the content of strings and bytes, None for null.

    wire: what is written instead, its length included.
    """

    path: str
    type: str
    compact: bool
    value: bytes | None
    wire: bytes | None = None


@dataclass(slots=True)
class Array:
    """An array; None for null. count: what is written instead of the number of its items."""

    path: str
    compact: bool
    items: "list[Item] | None"
    count: int | None = None


@dataclass(slots=True)
class Struct:
    """A struct. marker: the bytes that say whether a nullable one is there; members is None where it is not.
    tags: the tagged section, None in versions without."""

    path: str
    marker: bytes
    members: "list[Item] | None"
    tags: "list[tuple[int, Item | bytes]] | None" = None


Item = Leaf | Array | Struct


@dataclass(slots=True)
class Tree:
    """A message: its header and body."""

    name: str
    version: int
    parts: list[Struct]

    def walk(self) -> Iterator[Item]:
        """Every item, in the order of the wire."""
        for part in self.parts:
            yield from _walk(part)

    def leaves(self) -> list[Leaf]:
        return [item for item in self.walk() if isinstance(item, Leaf)]

    def write(self) -> bytes:
        """The message, without the four bytes of its size."""
        return b"".join(_write(part) for part in self.parts)


class NotReadError(Exception):
    """The bytes are not such a message."""


@dataclass(slots=True)
class _Cursor:
    raw: bytes
    version: int = 0
    flexible: bool = False
    at: int = 0

    def take(self, n: int) -> bytes:
        if not 0 <= n <= len(self.raw) - self.at:
            raise NotReadError
        self.at += n
        return self.raw[self.at - n : self.at]

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def length(self, compact: bool, width: int) -> int:
        return self.uvarint() - 1 if compact else int.from_bytes(self.take(width), "big", signed=True)


def read_tree(message: Any, raw: bytes, version: int) -> Tree:
    """The tree of a frame without its size. Raises NotReadError if the message cannot be read in this way to its last
    byte."""
    low, high = message.versions
    if not low <= version <= high:
        raise NotReadError
    cursor = _Cursor(raw)
    parts = []
    for part in message.parts[version - low]:
        cursor.version, cursor.flexible = part.version, part.flexible
        parts.append(_read_struct(cursor, part.definition.fields, part.node.path, b""))
    if cursor.at != len(raw):
        raise NotReadError
    return Tree(message.name, version, parts)


def _read_struct(cursor: _Cursor, fields: Any, path: str, marker: bytes) -> Struct:
    members: list[Item] = []
    tagged = {}
    for f in fields:
        if cursor.version not in f.versions:
            continue
        if cursor.flexible and cursor.version in f.tagged:
            tagged[f.tag] = f
        else:
            members.append(_read_field(cursor, f, path, in_tag=False))
    out = Struct(path, marker, members)
    if cursor.flexible:
        out.tags = []
        for _ in range(cursor.uvarint()):
            tag, size = cursor.uvarint(), cursor.uvarint()
            if tag in tagged:
                end = cursor.at + size
                out.tags.append((tag, _read_field(cursor, tagged[tag], path, in_tag=True)))
                if cursor.at != end:
                    raise NotReadError
            else:
                out.tags.append((tag, cursor.take(size)))
    return out


def _read_field(cursor: _Cursor, f: Any, parent: str, *, in_tag: bool) -> Item:
    path = f"{parent}.{f.name}" if parent else f.name
    compact = cursor.flexible if f.flexible is None else cursor.version in f.flexible
    if f.is_array:
        n = cursor.length(compact, 4)
        if n < 0:
            return Array(path, compact, None)
        inner = f"{path}[]"
        if f.fields:
            return Array(path, compact, [_read_struct(cursor, f.fields, inner, b"") for _ in range(n)])
        return Array(path, compact, [_read_leaf(cursor, f.type, inner, compact) for _ in range(n)])
    if not f.fields:
        return _read_leaf(cursor, f.type, path, compact)
    if cursor.version not in f.nullable:
        return _read_struct(cursor, f.fields, path, b"")
    start = cursor.at
    is_null = cursor.uvarint() == 0 if in_tag else cursor.take(1)[0] >= 0x80
    marker = cursor.raw[start : cursor.at]
    return Struct(path, marker, None) if is_null else _read_struct(cursor, f.fields, path, marker)


def _read_leaf(cursor: _Cursor, kind: str, path: str, compact: bool) -> Leaf:
    if kind in WIDTHS:
        return Leaf(path, kind, compact, cursor.take(WIDTHS[kind]))
    n = cursor.length(compact, 2 if kind == "string" else 4)
    return Leaf(path, kind, compact, cursor.take(n) if n >= 0 else None)


def uvarint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _length(n: int, compact: bool, width: int) -> bytes:
    if compact:
        return uvarint((n + 1) & 0xFFFFFFFF)
    limit = 1 << (8 * width)
    return (n % limit).to_bytes(width, "big")


def _walk(item: Item) -> Iterator[Item]:
    yield item
    if isinstance(item, Array):
        for each in item.items or ():
            yield from _walk(each)
    elif isinstance(item, Struct):
        for each in item.members or ():
            yield from _walk(each)
        for _, each_tag in item.tags or ():
            if not isinstance(each_tag, bytes):
                yield from _walk(each_tag)


def _write(item: Item) -> bytes:
    if isinstance(item, Leaf):
        return _write_leaf(item)
    if isinstance(item, Array):
        n = -1 if item.items is None else len(item.items)
        head = _length(n if item.count is None else item.count, item.compact, 4)
        return head + b"".join(map(_write, item.items or ()))
    if item.members is None:
        return item.marker
    out = item.marker + b"".join(map(_write, item.members))
    if item.tags is not None:
        out += uvarint(len(item.tags))
        for tag, content in item.tags:
            raw = content if isinstance(content, bytes) else _write(content)
            out += uvarint(tag) + uvarint(len(raw)) + raw
    return out


def _write_leaf(leaf: Leaf) -> bytes:
    if leaf.wire is not None:
        return leaf.wire
    if leaf.type in WIDTHS:
        return leaf.value or b""
    width = 2 if leaf.type == "string" else 4
    if leaf.value is None:
        return _length(-1, leaf.compact, width)
    content = leaf.value if leaf.compact or width == 4 else leaf.value[:32767]
    return _length(len(content), leaf.compact, width) + content


def sized(raw: bytes) -> bytes:
    """A frame with its size before it."""
    return struct.pack(">i", len(raw)) + raw
