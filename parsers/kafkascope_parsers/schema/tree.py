"""One tree per message over all its versions: its columns and the level of each.

A level counts instances: level 0 counts messages, and every array opens a level that counts its elements. Nodes of the
same level have one value per instance of the level, so a node's column has as many rows as its level has instances, in
wire order. A slot numbers a node that has a column: leaves, arrays (the count), structs (whether present). A field that
exists in several definitions is one node. Every struct that any version may extend with tags has an `unknown` array of
(tag, bytes).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from kafkascope_parsers.schema.facts import Definition, FieldFacts
from kafkascope_parsers.schema.secrets import SecretWhen, secret_when

LEAF_TYPES = frozenset(
    {"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records"}
)
TAG_TYPE = "tag"
"""Type of the number of an unknown tag: an unsigned varint."""


@dataclass(slots=True, eq=False)
class Node:
    """A field, an array's element, or a struct. `slot` is -1 without a column (the root, header, body, array elements
    that are structs). `secret`: condition under which its content must not be shown (schema.secrets), None for never.
    `is_tagged`: whether the newest definition of the field makes it optional (KIP-482)."""

    name: str
    kafka_name: str
    kind: Literal["leaf", "array", "struct"]
    type: str
    path: str
    level: int
    slot: int = -1
    entity_type: str | None = None
    secret: SecretWhen | None = None
    is_tagged: bool = False
    children: dict[str, "Node"] = field(default_factory=dict)
    element: "Node | None" = None
    unknown: "Node | None" = None

    @property
    def is_error_code(self) -> bool:
        """Whether the field holds one of Kafka's error codes: an int16 whose name ends with ErrorCode. (Kafka's message
        definitions mark them in no other way.)
        """
        return self.kind == "leaf" and self.type == "int16" and self.kafka_name.endswith("ErrorCode")

    def walk(self) -> Iterator["Node"]:
        """The node and all below it, unknown tags included."""
        yield self
        below = [*self.children.values(), self.element, self.unknown]
        for node in below:
            if node is not None:
                yield from node.walk()


@cache
def snake_case(name: str) -> str:
    """ErrorCode -> error_code, as Kafka's converters split words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class TreeBuilder:
    """Merges definitions into a tree and numbers its slots and levels."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.slots: list[Node] = []
        self.level_arrays: list[Node | None] = [None]
        self.root = Node("", message, "struct", message, "", 0)

    def add_part(self, name: str, path: str, definitions: tuple[Definition, ...]) -> Node:
        """Add header or body below the root; newest definition first, so that columns stand in its order."""
        node = self.root.children[name] = Node(name, name, "struct", name, path, 0)
        for definition in reversed(definitions):
            flexible = definition.flexible.low <= min(definition.flexible.high, definition.versions.high)
            self._merge(node, definition.fields, flexible)
        return node

    def _slot(self, node: Node) -> None:
        node.slot = len(self.slots)
        self.slots.append(node)

    def _open_level(self, array: Node) -> int:
        self.level_arrays.append(array)
        return len(self.level_arrays) - 1

    def _merge(self, struct: Node, fields: tuple[FieldFacts, ...], flexible: bool) -> None:
        for facts in fields:
            node = struct.children.get(facts.name)
            if node is None:
                node = struct.children[facts.name] = self._new(struct, facts)
            stored = node.element if node.kind == "array" and node.element else node
            self._agree(node, stored, facts)
            if facts.fields:
                self._merge(stored, facts.fields, flexible)
        if flexible and struct.unknown is None:
            self._add_unknown(struct)

    def _agree(self, node: Node, stored: Node, facts: FieldFacts) -> None:
        """Widens a field that is int32 in one version and int64 in another to int64; any other change of type is an
        error."""
        kind, leaf_type = self._shape(facts)
        if kind == "leaf" and {node.type, leaf_type} == {"int32", "int64"}:
            node.type = "int64"
        elif node.kind != kind or leaf_type not in (None, stored.type):
            raise ValueError(
                f"{self.message}: {node.path} is a {node.kind} of {stored.type} in one version and not in another"
            )

    @staticmethod
    def _shape(facts: FieldFacts) -> tuple[str, str | None]:
        leaf = facts.type if facts.type in LEAF_TYPES else None
        return ("array" if facts.is_array else "leaf" if leaf else "struct"), leaf

    def _new(self, struct: Node, facts: FieldFacts) -> Node:
        name = snake_case(facts.name)
        path = f"{struct.path}.{name}" if struct.path else name
        kind, leaf = self._shape(facts)
        if leaf is None and not facts.fields:
            raise ValueError(f"{self.message}: {path} has the unknown type {facts.type}")
        node = Node(name, facts.name, "leaf", facts.type, path, struct.level, entity_type=facts.entity_type)
        node.secret = secret_when(self.message, path)
        node.is_tagged = facts.tagged.low <= facts.tagged.high
        self._slot(node)
        if kind == "array":
            node.kind = "array"
            level = self._open_level(node)
            element = Node("element", facts.type, "leaf" if leaf else "struct", facts.type, path + "[]", level)
            element.entity_type = facts.entity_type
            node.element = element
            if leaf:
                self._slot(element)
        elif kind == "struct":
            node.kind = "struct"
        return node

    def _add_unknown(self, struct: Node) -> None:
        path = f"{struct.path}.unknown_tagged_fields" if struct.path else "unknown_tagged_fields"
        array = Node("unknown_tagged_fields", "_unknownTaggedFields", "array", "unknown_tag", path, struct.level)
        self._slot(array)
        level = self._open_level(array)
        element = Node("element", "unknown_tag", "struct", "unknown_tag", path + "[]", level)
        for name, leaf_type in (("tag", TAG_TYPE), ("hex", "bytes")):
            leaf = element.children[name] = Node(name, name, "leaf", leaf_type, f"{path}[].{name}", level)
            self._slot(leaf)
        array.element = element
        struct.unknown = array
