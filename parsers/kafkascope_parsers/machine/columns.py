"""Decoded messages as columns: one value per instance of a node's level, in wire order.

Level 0 has one instance per decoded message; an array's elements form their own level. If a field is missing (the
version lacks it, a tag was not sent, the enclosing struct is null) its column has null, like a null on the wire.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.machine.layout import Layout, value_type
from kafkascope_parsers.schema.messages import MessageType
from kafkascope_parsers.schema.tree import Node

if TYPE_CHECKING:
    import pyarrow as pa

FAILURE_KINDS = (
    "ok",
    "truncated",
    "varint_too_long",
    "negative_length",
    "length_beyond_end",
    "duplicate_tag",
    "tag_size_mismatch",
    "trailing_bytes",
    "unknown_version",
    "too_large",
)
"""Reasons why a frame did not decode, by the machine's status."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A frame that did not decode. `offset` counts bytes from the start of the frame (its header); `path` names the
    field."""

    frame: int
    kind: str
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class UnexpectedNull:
    """A frame that decoded although it holds a null where Kafka allows none; `path` names the first such field."""

    frame: int
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One batch of decoded messages.

    message           what was decoded
    buf               uint8      the buffer that offsets point into
    frame             int64      per row (decoded message): index of its input frame, ascending
    version_used      int16      per row: version it was decoded as (differs from the asked one where the fallback was
                                 taken)
    zeros_after       int64      per row: zero bytes behind its body that are not part of it
    n_frames          input frames [first_frame, first_frame + n_frames) are in this batch: each is a row or a failure
    failures, unexpected_nulls
    counts_by_level   int64      per level: instances
    report_may_repeat bool       per row: whether a text that the broker wrote (SecretWhen.is_report) may repeat a
                                 secret; None where that is not known of any row
    """

    message: MessageType
    buf: NDArray[np.uint8]
    frame: NDArray[np.int64]
    version_used: NDArray[np.int16]
    zeros_after: NDArray[np.int64]
    first_frame: int
    n_frames: int
    failures: tuple[Failure, ...]
    unexpected_nulls: tuple[UnexpectedNull, ...]
    counts_by_level: NDArray[np.int64]
    _layout: Layout
    report_may_repeat: NDArray[np.bool_] | None = None
    _parents: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    _rows: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    texts: "dict[int, pa.StringArray]" = field(default_factory=dict)
    """The texts that machine.arrow has made, by the slot of their node."""

    def __len__(self) -> int:
        return len(self.frame)

    def size(self, node: Node) -> int:
        """Number of instances of the node's level."""
        return int(self.counts_by_level[node.level])

    def size_below(self, array: Node) -> int:
        """Number of elements of all arrays of a node."""
        return 0 if array.element is None else self.size(array.element)

    def has(self, node: Node) -> bool:
        """Whether any instance may have a value; if not, every column of the node is null."""
        return self._layout.first[node.slot] is not None

    def values(self, node: Node) -> NDArray[np.generic]:
        """Values of a fixed-width leaf in its own type (uint16 as int32, bool as int8); 0 where null. Do not write to
        it."""
        cells = self._layout.first[node.slot]
        return np.zeros(self.size(node), value_type(node)) if cells is None else cells

    def offsets(self, node: Node) -> NDArray[np.int64]:
        """First byte in `buf` of each string, bytes, records or uuid; where null it means nothing."""
        return self.values(node)  # type: ignore[return-value]

    def lengths(self, node: Node) -> NDArray[np.int32]:
        """Bytes of each string, bytes or records; -1 for null."""
        cells = self._layout.second[node.slot]
        return np.full(self.size(node), -1, np.int32) if cells is None else cells  # type: ignore[return-value]

    def counts(self, node: Node) -> NDArray[np.int32]:
        """Elements of each array; -1 for null."""
        cells = self._layout.first[node.slot]
        return np.full(self.size(node), -1, np.int32) if cells is None else cells  # type: ignore[return-value]

    def is_null(self, node: Node) -> NDArray[np.bool_]:
        """Whether each value of a leaf, array or struct is null or not there."""
        if node.slot < 0:
            return np.zeros(self.size(node), np.bool_)
        first, second = self._layout.first[node.slot], self._layout.second[node.slot]
        if first is None:
            return np.ones(self.size(node), np.bool_)
        if node.kind == "struct":
            return np.asarray(first == 0)
        if node.kind == "array" or node.type == "uuid":
            return np.asarray(first < 0)  # type: ignore[operator]
        if second is None:
            return np.zeros(self.size(node), np.bool_)
        return np.asarray(second <= 0) if second.dtype == np.int8 else np.asarray(second < 0)  # type: ignore[operator]

    def with_nulls(self, nulls: Mapping[Node, NDArray[np.bool_]]) -> "Columns":
        """Returns the columns with some values of integer leaves replaced by null. nulls: for each node, whether each
        of its values becomes null."""
        first, second = list(self._layout.first), list(self._layout.second)
        for node, null in nulls.items():
            present = ~(self.is_null(node) | null)
            first[node.slot] = np.where(present, self.values(node), 0).astype(value_type(node))
            second[node.slot] = present.astype(np.int8)
        return replace(self, _layout=replace(self._layout, first=tuple(first), second=tuple(second)))

    def parent(self, node: Node) -> NDArray[np.int64]:
        """Per instance of the node's level: index of the instance, on the level around it, whose array holds it.
        Level 0 has none: its rows."""
        level = node.level
        if level not in self._parents:
            array = self.message.level_arrays[level]
            counts = None if array is None else np.maximum(self.counts(array), 0)
            whole = np.arange(self.size(node) if counts is None else len(counts), dtype=np.int64)
            self._parents[level] = whole if counts is None else np.repeat(whole, counts)
        return self._parents[level]

    def row(self, node: Node) -> NDArray[np.int64]:
        """Per instance of the node's level: index of the decoded row (of `frame`) it belongs to."""
        level = node.level
        if level not in self._rows:
            array = self.message.level_arrays[level]
            outer = self.parent(node)
            self._rows[level] = outer if array is None or not array.level else self.row(array)[outer]
        return self._rows[level]

    def outer(self, node: Node, level: int) -> NDArray[np.int64]:
        """Per instance of the node's level: index of the instance that it lies in on a level around it, or on the same.
        ValueError where that level does not enclose the node. Do not write to it.
        """
        index: NDArray[np.int64] | None = None
        while node.level != level:
            array = self.message.level_arrays[node.level]
            if array is None:
                raise ValueError(f"{self.message.name}: level {level} does not enclose {node.path}")
            index = self.parent(node) if index is None else self.parent(node)[index]
            node = array
        return np.arange(self.size(node), dtype=np.int64) if index is None else index
