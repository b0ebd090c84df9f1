"""Compiles a message's definitions to one program per version. Only this module decides which fields a version has.

Rules of the wire (Kafka's MessageDataGenerator): the fields of a version in the order of the definition, tagged ones
not among them; in a flexible version every struct ends with a section of tagged fields; nested structs are as
flexible as their message.
"""

from dataclasses import dataclass

import numpy as np

from kafkascope_parsers.schema import program as p
from kafkascope_parsers.schema.facts import Definition, FieldFacts
from kafkascope_parsers.schema.tree import Node

WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}
_FIXED_OPS = {
    "bool": p.BOOL,
    "int8": p.I8,
    "int16": p.I16,
    "uint16": p.U16,
    "int32": p.I32,
    "int64": p.I64,
    "float64": p.I64,
    "uuid": p.UUID,
}
_BULK_TYPES = frozenset({"int8", "int16", "int32", "int64"})


@dataclass(frozen=True, slots=True)
class Part:
    """Header or body of one message version: its node in the tree, its definition, and the version in the
    definition's own count."""

    node: Node
    definition: Definition
    version: int

    @property
    def flexible(self) -> bool:
        """Whether structs of this part end with tagged fields."""
        return self.version in self.definition.flexible


def least_size(fields: tuple[FieldFacts, ...], version: int, flexible: bool) -> int:
    """Returns the least number of bytes of a struct with these fields, against which the count of an array is
    checked."""
    size = int(flexible)
    for f in fields:
        if version not in f.versions or (flexible and version in f.tagged):
            continue
        compact = flexible if f.flexible is None else version in f.flexible
        if f.is_array:
            size += 1 if compact else 4
        elif f.fields:
            size += 1 if version in f.nullable else least_size(f.fields, version, flexible)
        elif f.type in WIDTHS:
            size += WIDTHS[f.type]
        else:
            size += 1 if compact else 2 if f.type == "string" else 4
    return size


def least_element_size(facts: FieldFacts, version: int, flexible: bool, compact: bool) -> int:
    """Returns the least number of bytes of an element of an array field: 1 or more, so that a count is bounded by the
    bytes left."""
    if facts.fields:
        return max(1, least_size(facts.fields, version, flexible))
    return WIDTHS.get(facts.type, 1 if compact else 2 if facts.type == "string" else 4)


class Compiler:
    """Collects the programs of one message."""

    def __init__(self, slots: list[Node], n_levels: int) -> None:
        self.slots, self.n_levels = slots, n_levels
        self.code: list[list[int]] = []
        self.tags: list[list[int]] = []
        self.paths: list[str] = []
        self.entry: list[int] = []
        self.guard_rows: list[list[int]] = []
        self.level_rows: list[list[bool]] = []
        self.guard_of_node: dict[int, int] = {}
        self.part: Part
        self.depth = 0

    def add_version(self, parts: list[Part]) -> None:
        """Compile one version: its parts in wire order."""
        self.entry.append(len(self.code))
        self.guard_rows.append([p.GUARD_ABSENT] * len(self.slots))
        self.level_rows.append([True] + [False] * (self.n_levels - 1))
        for self.part in parts:
            self._struct(self.part.node, self.part.definition.fields, p.GUARD_ALWAYS)
        self._emit(p.END, parts[-1].node)

    def finish(self) -> p.Programs:
        """The programs, as arrays."""
        return p.Programs(
            code=np.array(self.code, np.int32).reshape(-1, 8),
            tags=np.array(self.tags, np.int32).reshape(-1, 3),
            entry=np.array(self.entry, np.int32),
            guard=np.array(self.guard_rows, np.int16).reshape(len(self.entry), len(self.slots)),
            has_level=np.array(self.level_rows, np.bool_),
            n_guards=len(self.guard_of_node),
            paths=tuple(self.paths),
        )

    def _emit(
        self, op: int, node: Node, *, a: int = 0, b: int = 0, nullable: bool = False, element_slot: int = -1
    ) -> int:
        self.code.append([op, node.slot, node.level, 0, a, b, int(nullable), element_slot])
        self.paths.append(node.path)
        return len(self.code) - 1

    def _jump_here(self, *rows: int) -> None:
        for row in rows:
            self.code[row][p.JUMP] = len(self.code)

    def _guard(self, node: Node) -> int:
        return self.guard_of_node.setdefault(id(node), len(self.guard_of_node))

    def _use(self, node: Node, guard: int) -> None:
        self.guard_rows[-1][node.slot] = guard

    def _nest(self, step: int, node: Node) -> None:
        self.depth += step
        if self.depth > p.MAX_DEPTH:
            raise ValueError(f"{node.path} is nested deeper than {p.MAX_DEPTH}")

    def _struct(self, node: Node, fields: tuple[FieldFacts, ...], guard: int) -> None:
        version, flexible = self.part.version, self.part.flexible
        here = [f for f in fields if version in f.versions]
        for f in here:
            if not (flexible and version in f.tagged):
                self._field(node.children[f.name], f, guard, in_tag=False)
        if flexible:
            self._tag_section(node, [f for f in here if version in f.tagged], guard)

    def _tag_section(self, struct: Node, tagged: list[FieldFacts], guard: int) -> None:
        unknown = struct.unknown
        if unknown is None or unknown.element is None or len(tagged) > p.MAX_TAGS:
            raise ValueError(
                f"{struct.path}: flexible without a place for unknown tags, or more than {p.MAX_TAGS} tags"
            )
        self._use(unknown, guard)
        for leaf in unknown.element.children.values():
            self._use(leaf, p.GUARD_ALWAYS)
        self.level_rows[-1][unknown.element.level] = True
        self._nest(1, struct)
        begin = self._emit(p.TAGS, unknown)
        following = self._emit(p.NEXT_TAG, unknown, element_slot=unknown.element.level)
        rows = []
        for f in tagged:
            node = struct.children[f.name]
            inner = self._guard(node)
            rows.append([f.tag, len(self.code), inner])
            self._field(node, f, inner, in_tag=True)
            self._emit(p.END_TAG, node)
        for row in (begin, following):
            self.code[row][p.A], self.code[row][p.B] = len(self.tags), len(rows)
        self.tags += rows
        self._jump_here(begin, following)
        self._nest(-1, struct)

    def _field(self, node: Node, f: FieldFacts, guard: int, *, in_tag: bool) -> None:
        nullable = self.part.version in f.nullable
        compact = self.part.flexible if f.flexible is None else self.part.version in f.flexible
        self._use(node, guard)
        if f.is_array:
            self._array(node, f, compact, nullable)
        elif f.fields:
            self._inline_struct(node, f, guard, nullable, in_tag)
        else:
            self._leaf(node, f.type, compact, nullable)

    def _inline_struct(self, node: Node, f: FieldFacts, guard: int, nullable: bool, in_tag: bool) -> None:
        if nullable:
            inner = self._guard(node)
            # The column of the struct itself comes before its guard, because null is one of its values.
            row = self._emit(p.NULLABLE_STRUCT, node, a=int(in_tag), b=inner)
            self._struct(node, f.fields, inner)
            self._jump_here(row)
        else:
            self._emit(p.PRESENT, node)
            self._struct(node, f.fields, guard)

    def _leaf(self, node: Node, leaf_type: str, compact: bool, nullable: bool) -> None:
        if leaf_type in _FIXED_OPS:
            widened = leaf_type == "int32" and node.type == "int64"
            self._emit(p.I32_WIDENED if widened else _FIXED_OPS[leaf_type], node)
        elif compact:
            self._emit(p.COMPACT, node, nullable=nullable)
        else:
            self._emit(p.STRING, node, a=2 if leaf_type == "string" else 4, nullable=nullable)

    def _array(self, node: Node, f: FieldFacts, compact: bool, nullable: bool) -> None:
        element = node.element
        if element is None:
            raise ValueError(f"{node.path}: an array without element")
        self.level_rows[-1][element.level] = True
        if not f.fields:
            self._use(element, p.GUARD_ALWAYS)
        if f.type in _BULK_TYPES and not f.fields:
            op = p.CFARRAY if compact else p.FARRAY
            self._emit(op, node, a=WIDTHS[f.type], b=element.level, nullable=nullable, element_slot=element.slot)
            return
        self._nest(1, node)
        least = least_element_size(f, self.part.version, self.part.flexible, compact)
        row = self._emit(p.CARRAY if compact else p.ARRAY, node, a=least, b=element.level, nullable=nullable)
        if f.fields:
            self._struct(element, f.fields, p.GUARD_ALWAYS)
        else:
            self._leaf(element, f.type, compact, nullable=False)
        self._emit(p.LOOP, element)
        self._jump_here(row)
        self._nest(-1, node)
