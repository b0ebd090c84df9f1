"""Columns as Arrow: strings of one node, and whole messages with Kafka's own nested types, all versions of a message
in one type.

Types: bool, int8-int64 and float64 as they are, uint16 as int32, uuid as a string of 22 characters, string, bytes as
binary, arrays as list, structs as struct. Records and secrets (schema.secrets) come as int32 `<name>_length` and
never as content. Unknown tags of all structs of a message are one column of the table. What cannot be (a field of
other versions) is null.
"""

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.machine.columns import Columns
from kafkascope_parsers.machine.gather import gather_bytes, gather_strings, gather_uuids, validity
from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.tree import Node

UNKNOWN_TAGS = "unknown_tagged_fields"
UNKNOWN_TAGS_TYPE = pa.list_(
    pa.struct([("path", pa.string()), ("element", pa.int32()), ("tag", pa.int64()), ("data", pa.binary())])
)
"""Unknown tags of a message: path of the struct ("" is the body), which of the message's structs of that path, tag,
bytes."""
_LEAF_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.string(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def is_length_only(node: Node) -> bool:
    """Whether only the length of a leaf may be shown: records, and secrets."""
    return node.is_secret or node.type == "records"


@cache
def arrow_field(node: Node) -> pa.Field:
    """Name and type of a node below the body. The type of a message does not depend on the versions in a batch."""
    if node.kind == "leaf" and is_length_only(node):
        return pa.field(f"{node.name}_length", pa.int32())
    return pa.field(node.name, _arrow_type(node))


@cache
def _arrow_type(node: Node) -> pa.DataType:
    if node.kind == "struct":
        return pa.struct([arrow_field(child) for child in node.children.values()])
    if node.kind == "array" and node.element is not None:
        return pa.list_(_arrow_type(node.element))
    return _LEAF_TYPES[node.type]


@cache
def arrow_schema(message: MessageType) -> pa.Schema:
    """Schema of to_arrow: the fields of the body, then the unknown tags."""
    fields = [arrow_field(child) for child in message.body.children.values()]
    return pa.schema([*fields, pa.field(UNKNOWN_TAGS, UNKNOWN_TAGS_TYPE)])


def strings(columns: Columns, node: Node) -> pa.StringArray:
    """Text of a string or uuid leaf, one value per instance of its level."""
    if not columns.has(node):
        return pa.nulls(columns.size(node), pa.string())
    if node.type == "uuid":
        return gather_uuids(columns.buf, columns.offsets(node))
    if node.type != "string" or is_length_only(node):
        raise ValueError(f"{node.path} is no text")
    return gather_strings(columns.buf, columns.offsets(node), columns.lengths(node))


def to_arrow(columns: Columns) -> pa.Table:
    """One row per decoded message, in the order of `columns.frame`, with the fields of the body."""
    schema = arrow_schema(columns.message)
    arrays = [_array(columns, child) for child in columns.message.body.children.values()]
    return pa.Table.from_arrays([*arrays, _unknown_tags(columns)], schema=schema)


def _array(columns: Columns, node: Node) -> pa.Array:
    if node.kind == "leaf":
        return _leaf(columns, node)
    if node.slot >= 0 and not columns.has(node):
        return pa.nulls(columns.size(node), arrow_field(node).type)
    if node.kind == "array" and node.element is not None:
        counts = columns.counts(node)
        ends = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(np.maximum(counts, 0), out=ends[1:])
        child = _array(columns, node.element)
        buffers = [validity(counts < 0), pa.py_buffer(ends)]
        return pa.Array.from_buffers(pa.list_(child.type), len(counts), buffers, children=[child])
    children = [_array(columns, child) for child in node.children.values()]
    of_struct = [validity(columns.is_null(node))]
    return pa.Array.from_buffers(_arrow_type(node), columns.size(node), of_struct, children=children)


def _leaf(columns: Columns, node: Node) -> pa.Array:
    shown = pa.int32() if is_length_only(node) else _LEAF_TYPES[node.type]
    if not columns.has(node):
        return pa.nulls(columns.size(node), shown)
    if is_length_only(node):
        return _fixed(columns.lengths(node), columns.is_null(node), shown)
    if node.type in ("string", "uuid"):
        return strings(columns, node)
    if node.type == "bytes":
        return gather_bytes(columns.buf, columns.offsets(node), columns.lengths(node))
    values = columns.values(node)
    if node.type == "bool":
        bits = pa.py_buffer(np.packbits(values != 0, bitorder="little"))
        return pa.Array.from_buffers(shown, len(values), [validity(columns.is_null(node)), bits])
    return _fixed(values, columns.is_null(node), shown)


def _fixed(values: NDArray[np.generic], null: NDArray[np.bool_], shown: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(shown, len(values), [validity(null), pa.py_buffer(values)])


@cache
def _extensible(message: MessageType) -> tuple[Node, ...]:
    """The structs of a message that may have unknown tags, in order of the tree."""
    return tuple(node for node in message.root.walk() if node.unknown is not None)


def _unknown_tags(columns: Columns) -> pa.Array:
    """The unknown tags of all structs: per message in order of the structs in the tree, then of the wire."""
    structs = [n for n in _extensible(columns.message) if n.unknown is not None and columns.size_below(n.unknown) > 0]
    if not structs:
        return pa.nulls(len(columns), UNKNOWN_TAGS_TYPE)
    parts = [_unknown_tags_of(columns, struct) for struct in structs]
    rows = np.concatenate([rows for rows, _ in parts])
    order = np.argsort(rows, kind="stable")
    values = pa.concat_arrays([part for _, part in parts]).take(pa.array(order))
    counts = np.bincount(rows, minlength=len(columns))
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    buffers = [validity(counts == 0), pa.py_buffer(ends)]
    return pa.Array.from_buffers(UNKNOWN_TAGS_TYPE, len(columns), buffers, children=[values])


def _unknown_tags_of(columns: Columns, struct: Node) -> tuple[NDArray[np.int64], pa.Array]:
    """Row of each unknown tag of the structs of one path, and the tags."""
    element = struct.unknown.element if struct.unknown is not None else None
    if element is None:
        raise ValueError(f"{struct.path}: no unknown tags")
    tag, data = element.children["tag"], element.children["hex"]
    rows, holder = columns.row(tag), columns.parent(tag)
    first = np.searchsorted(columns.row(struct), rows)
    fields = [
        pa.repeat(pa.scalar(struct.path, pa.string()), len(rows)),
        pa.array((holder - first).astype(np.int32)),
        pa.array(columns.values(tag)),
        gather_bytes(columns.buf, columns.offsets(data), columns.lengths(data)),
    ]
    return rows, pa.StructArray.from_arrays(fields, fields=list(UNKNOWN_TAGS_TYPE.value_type))
