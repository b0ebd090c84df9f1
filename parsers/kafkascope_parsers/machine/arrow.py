"""Columns as Arrow: strings of one node, and whole messages with Kafka's own nested types, all versions of a message
in one type.

Types: bool, int8-int64 and float64 as they are, uint16 as int32, uuid as a string of 22 characters, string, bytes as
binary, arrays as list, structs as struct. Records and fields that are always secret (schema.secrets) are int32
`<name>_length`, never content. Fields that may be secret have both columns: the content, null where it is secret, and
the length. Unknown tags of all structs of a message are one column of the table. A field that the version lacks is
null.
"""

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.machine.columns import Columns
from kafkascope_parsers.machine.gather import gather_bytes, gather_strings, gather_uuids, validity
from kafkascope_parsers.machine.hidden import hidden, is_length_only
from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.secrets import hides_unknown_tags
from kafkascope_parsers.schema.tree import Node

UNKNOWN_TAGS = "unknown_tagged_fields"
UNKNOWN_TAGS_TYPE = pa.list_(
    pa.struct(
        [
            ("path", pa.string()),
            ("element", pa.int32()),
            ("tag", pa.int64()),
            ("data", pa.binary()),
            ("length", pa.int32()),
        ]
    )
)
"""Unknown tags of a message: path of the struct ("" is the body), index among the message's structs of that path, tag,
bytes (null where they may be secret), number of bytes."""
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


@cache
def arrow_fields(node: Node) -> tuple[pa.Field, ...]:
    """Names and types of the columns of a node below the body. The type of a message does not depend on the versions in
    a batch."""
    if node.kind != "leaf" or (node.secret is None and not is_length_only(node)):
        return (pa.field(node.name, _arrow_type(node)),)
    length = pa.field(f"{node.name}_length", pa.int32())
    return (length,) if is_length_only(node) else (pa.field(node.name, _LEAF_TYPES[node.type]), length)


def _fields_below(struct: Node) -> list[pa.Field]:
    return [field for child in struct.children.values() for field in arrow_fields(child)]


@cache
def _arrow_type(node: Node) -> pa.DataType:
    if node.kind == "struct":
        return pa.struct(_fields_below(node))
    if node.kind == "array" and node.element is not None:
        return pa.list_(_arrow_type(node.element))
    return _LEAF_TYPES[node.type]


@cache
def arrow_schema(message: MessageType) -> pa.Schema:
    """Schema of to_arrow: the fields of the body, then the unknown tags."""
    return pa.schema([*_fields_below(message.body), pa.field(UNKNOWN_TAGS, UNKNOWN_TAGS_TYPE)])


def strings(columns: Columns, node: Node) -> pa.StringArray:
    """Text of a string or uuid leaf, one value per instance of its level; null where it is secret. The text of a leaf
    that is never secret is made once."""
    if not columns.has(node):
        return pa.nulls(columns.size(node), pa.string())
    if node.secret is not None or is_length_only(node):
        return _text(columns, node)
    if node.slot not in columns.texts:
        columns.texts[node.slot] = _text(columns, node)
    return columns.texts[node.slot]


def _text(columns: Columns, node: Node) -> pa.StringArray:
    if node.type == "uuid":
        return gather_uuids(columns.buf, columns.offsets(node))
    if node.type != "string" or is_length_only(node):
        raise ValueError(f"{node.path} is no text")
    return gather_strings(columns.buf, columns.offsets(node), _shown_lengths(columns, node))


def _shown_lengths(columns: Columns, node: Node) -> NDArray[np.int32]:
    """Bytes of each string or bytes; -1 for null, and where they are secret."""
    lengths = columns.lengths(node)
    return lengths if node.secret is None else np.where(hidden(columns, node), np.int32(-1), lengths)


def to_arrow(columns: Columns) -> pa.Table:
    """One row per decoded message, in the order of `columns.frame`, with the fields of the body."""
    schema = arrow_schema(columns.message)
    return pa.Table.from_arrays([*_below(columns, columns.message.body), _unknown_tags(columns)], schema=schema)


def _below(columns: Columns, struct: Node) -> list[pa.Array]:
    """The columns of a struct's fields, as arrow_fields types them."""
    return [array for child in struct.children.values() for array in _arrays(columns, child)]


def _arrays(columns: Columns, node: Node) -> list[pa.Array]:
    if node.kind != "leaf" or (node.secret is None and not is_length_only(node)):
        return [_array(columns, node)]
    lengths = fixed(columns.lengths(node), columns.is_null(node), pa.int32())
    return [lengths] if is_length_only(node) else [_leaf(columns, node), lengths]


def _array(columns: Columns, node: Node) -> pa.Array:
    if node.kind == "leaf":
        return _leaf(columns, node)
    if node.slot >= 0 and not columns.has(node):
        return pa.nulls(columns.size(node), _arrow_type(node))
    if node.kind == "array" and node.element is not None:
        counts = columns.counts(node)
        ends = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(np.maximum(counts, 0), out=ends[1:])
        child = _array(columns, node.element)
        buffers = [validity(counts < 0), pa.py_buffer(ends)]
        return pa.Array.from_buffers(pa.list_(child.type), len(counts), buffers, children=[child])
    of_struct = [validity(columns.is_null(node))]
    return pa.Array.from_buffers(_arrow_type(node), columns.size(node), of_struct, children=_below(columns, node))


def _leaf(columns: Columns, node: Node) -> pa.Array:
    shown = _LEAF_TYPES[node.type]
    if not columns.has(node):
        return pa.nulls(columns.size(node), shown)
    if node.type in ("string", "uuid"):
        return strings(columns, node)
    if node.type == "bytes":
        return gather_bytes(columns.buf, columns.offsets(node), _shown_lengths(columns, node))
    values = columns.values(node)
    if node.type == "bool":
        bits = pa.py_buffer(np.packbits(values != 0, bitorder="little"))
        return pa.Array.from_buffers(shown, len(values), [validity(columns.is_null(node)), bits])
    return fixed(values, columns.is_null(node), shown)


def fixed(values: NDArray[np.generic], null: NDArray[np.bool_], shown: pa.DataType) -> pa.Array:
    """Contiguous values as an Arrow array of the same fixed width; null where the mask is set. pa.array with a mask
    takes four times as long."""
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
    lengths = columns.lengths(data)
    shown = np.full_like(lengths, -1) if hides_unknown_tags(columns.message.name) else lengths
    fields = [
        pa.repeat(pa.scalar(struct.path, pa.string()), len(rows)),
        pa.array((holder - first).astype(np.int32)),
        pa.array(columns.values(tag)),
        gather_bytes(columns.buf, columns.offsets(data), shown),
        pa.array(lengths),
    ]
    return rows, pa.StructArray.from_arrays(fields, fields=list(UNKNOWN_TAGS_TYPE.value_type))
