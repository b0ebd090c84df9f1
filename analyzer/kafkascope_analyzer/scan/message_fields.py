"""The fields of messages that hold topic-partitions and errors: found once per message type in Kafka's own schema,
never listed by hand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kafkascope_parsers.schema import MessageType, Node
from kafkascope_parsers.schema.program import GUARD_ABSENT

_PARTITION_LEAVES = ("partition_index", "partition", "index", "partition_id")
_PARTITION_LISTS = ("partitions", "partition_indexes")
_OTHER_PARTITIONS = ("forgotten_topics_data", "cursor", "next_cursor")
"""Partitions that a fetch session drops, and cursors of paged responses: the request is not about them."""

_FIELDS = {
    "partition_offset": ("offset", "fetch_offset", "base_offset", "committed_offset", "end_offset"),
    "leader_epoch": ("leader_epoch", "committed_leader_epoch"),
    "leader_id": ("leader_id",),
    "current_leader_id": ("current_leader.leader_id",),
    "current_leader_epoch": ("current_leader.leader_epoch", "current_leader_epoch"),
    "preferred_read_replica": ("preferred_read_replica",),
    "high_watermark": ("high_watermark",),
    "last_stable_offset": ("last_stable_offset",),
    "log_start_offset": ("log_start_offset",),
}
"""Columns of `partitions` and the neighbouring fields of the partition from which they are taken; for its error see
`result_codes`."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field that holds partitions: the partition, the topic's name and id above it, and the neighbouring fields."""

    partition: Node
    topic: Node | None
    topic_id: Node | None
    fields: dict[str, tuple[Node, ...]]
    records: Node | None


@dataclass(frozen=True, slots=True)
class ErrorField:
    """A field that holds an error code, and its subject, as far as the message has it. is_result: whether it is the
    result of the request (see `result_codes`).
    """

    code: Node
    is_result: bool
    message: Node | None
    topic: Node | None
    topic_id: Node | None
    partition: Node | None
    group: Node | None
    transactional_id: Node | None


def _walk(node: Node, above: tuple[Node, ...]) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Yields every struct below node with the structs above it, outermost first; unknown tags are skipped."""
    if node.kind == "array":
        if node.element is not None and node.name not in _OTHER_PARTITIONS:
            yield from _walk(node.element, above)
    elif node.kind == "struct" and node.name not in _OTHER_PARTITIONS:
        yield node, above
        for child in node.children.values():
            yield from _walk(child, (*above, node))


def _children(struct: Node) -> dict[str, Node]:
    """Returns the children of a struct by snake_case name."""
    return {child.name: child for child in struct.children.values()}


def _nearest(
    message: MessageType, structs: tuple[Node, ...], entity: str | None, name: str | None = None
) -> Node | None:
    """Returns the innermost leaf among the structs' children of that entity type, or of that name, that some version
    has."""
    for struct in reversed(structs):
        for child in struct.children.values():
            is_it = (entity and child.entity_type == entity) or (name and child.name == name)
            if child.kind == "leaf" and is_it and _is_in_a_version(message, child):
                return child
    return None


def _is_in_a_version(message: MessageType, node: Node) -> bool:
    """Whether any version of the message has the node. LeaderAndIsr and UpdateMetadata define a partition's struct
    once, with the topic's name for versions that list partitions one by one; the versions that list them by topic have
    the name only above the partitions.
    """
    return bool((message.programs.guard[:, node.slot] != GUARD_ABSENT).any())


def _partition_of(struct: Node) -> Node | None:
    children = _children(struct)
    for name in _PARTITION_LEAVES:
        leaf = children.get(name)
        if leaf is not None and leaf.kind == "leaf" and leaf.type == "int32":
            return leaf
    return None


def _partition_list_of(struct: Node) -> Node | None:
    children = _children(struct)
    for name in _PARTITION_LISTS:
        array = children.get(name)
        if array is not None and array.kind == "array" and array.element is not None and array.element.type == "int32":
            return array.element
    return None


def result_codes(struct: Node) -> tuple[Node, ...]:
    """Returns the error codes of a struct that are the result of the request: all but tagged ones, which Kafka uses for
    remarks (CreateTopics created the topic, but does not return its configuration).
    """
    return tuple(child for child in struct.children.values() if child.is_error_code and not child.is_tagged)


def _fields(struct: Node) -> dict[str, tuple[Node, ...]]:
    """Returns the columns that are taken from the neighbouring fields of a partition."""
    out = {"error_code": codes} if (codes := result_codes(struct)) else {}
    children = _children(struct)
    for column, names in _FIELDS.items():
        found = []
        for name in names:
            outer, _, inner = name.partition(".")
            node = children.get(outer)
            if node is not None and inner:
                node = _children(node).get(inner)
            if node is not None and node.kind == "leaf":
                found.append(node)
        if found:
            out[column] = tuple(found)
    return out


@cache
def partition_fields(message: MessageType) -> tuple[PartitionField, ...]:
    """Returns every field of the message that holds partitions of topics."""
    out = []
    for struct, above in _walk(message.body, ()):
        around = (*above, struct)
        topic, topic_id = _nearest(message, around, "topicName"), _nearest(message, around, None, "topic_id")
        if topic is None and topic_id is None:
            continue
        leaf, listed = _partition_of(struct), _partition_list_of(struct)
        if leaf is not None:
            records = next((c for c in struct.children.values() if c.kind == "leaf" and c.type == "records"), None)
            out.append(PartitionField(leaf, topic, topic_id, _fields(struct), records))
        if listed is not None:
            out.append(PartitionField(listed, topic, topic_id, {}, None))
    return tuple(out)


@cache
def error_fields(message: MessageType) -> tuple[ErrorField, ...]:
    """Returns every error code of the message."""
    out = []
    for struct, above in _walk(message.body, ()):
        around = (*above, struct)
        children = _children(struct)
        for name, code in children.items():
            if code.is_error_code:
                partition = next((p for s in reversed(around) if (p := _partition_of(s)) is not None), None)
                topic, topic_id = _nearest(message, around, "topicName"), _nearest(message, around, None, "topic_id")
                out.append(
                    ErrorField(
                        code,
                        code in result_codes(struct),
                        children.get(name.replace("error_code", "error_message")),
                        topic,
                        topic_id,
                        partition if topic is not None or topic_id is not None else None,
                        _nearest(message, around, "groupId"),
                        _nearest(message, around, "transactionalId"),
                    )
                )
    return tuple(out)
