"""Message types by API key and direction: the interface of the schema for the analyzer.

A message as the machine sees it starts at the first byte after the 4-byte size: the header is part of the program.
Header versions (Kafka's ApiMessageTypeGenerator): request 2 in flexible versions, else 1, and 0 for
ControlledShutdown v0; response 1 in flexible versions, else 0, and always 0 for ApiVersions (KIP-511).
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.schema.compile import Compiler, Part
from kafkascope_parsers.schema.facts import (
    ApiFacts,
    Definition,
    Direction,
    load_api,
    load_former,
    load_index,
    load_loose,
    loose_names,
)
from kafkascope_parsers.schema.program import Programs
from kafkascope_parsers.schema.tree import Node, TreeBuilder


@cache
def keys_by_name() -> dict[str, int]:
    """Kafka's names of all APIs, such as Fetch, each with its key."""
    return {api.name: key for key, api in load_index().items()}


API_VERSIONS, CONTROLLED_SHUTDOWN = keys_by_name()["ApiVersions"], keys_by_name()["ControlledShutdown"]
UNSUPPORTED_VERSION = 35


@dataclass(frozen=True, slots=True, eq=False)
class MessageType:
    """One message over all its versions.

    name               as in Kafka: FetchRequest
    api_key            None for a message that travels inside others
    versions           lowest and highest version, both known
    root               struct of the parts (header and body)
    slots              nodes that have a column, by slot
    level_arrays       per level the array that opens it; None for level 0
    programs           what the machine runs
    parts              per version from versions[0]: its parts, for readers other than the machine
    fallback_version   version to decode as when the asked one fails (ApiVersions responses: brokers that do not know
                       the asked version answer in v0, with error 35), else None
    former_layouts     (version, number of its former layout): what an earlier release wrote as that version, tried
                       where its own layout fails. Numbers go on after the highest version, in programs and parts too
    """

    name: str
    api_key: int | None
    direction: Direction | None
    versions: tuple[int, int]
    root: Node
    slots: tuple[Node, ...]
    level_arrays: tuple[Node | None, ...]
    programs: Programs
    parts: tuple[tuple[Part, ...], ...]
    fallback_version: int | None = None
    former_layouts: tuple[tuple[int, int], ...] = ()
    _by_path: dict[str, Node] = field(default_factory=dict, repr=False)

    @property
    def body(self) -> Node:
        """The struct of the message's own fields."""
        return self.root.children["body"]

    def node(self, path: str) -> Node:
        """The node at a path such as "responses[].partitions[].error_code" or "header.client_id". KeyError if there
        is none."""
        if not self._by_path:
            self._by_path.update((n.path, n) for n in self.root.walk() if n.path)
        return self._by_path[path]

    def layout_number(self, version: int) -> int:
        """Number of the former layout of a version; the version itself where it has none."""
        return dict(self.former_layouts).get(version, version)

    def leaves(self) -> list[Node]:
        """Every leaf below header and body, unknown tags not among them, elements of arrays among them."""
        return [n for n in self.slots if n.kind == "leaf" and ".unknown_tagged_fields" not in "." + n.path]


def header_version(api_key: int, direction: Direction, version: int) -> int:
    """Version of the header in front of a message. KeyError for an API the facts do not know."""
    first = load_index()[api_key].flexible_from
    flexible = 0 <= first <= version
    if direction == "response":
        return int(flexible and api_key != API_VERSIONS)
    if api_key == CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if flexible else 1


def _definition(definitions: tuple[Definition, ...], version: int) -> Definition:
    return next(d for d in definitions if version in d.versions)


def _build(name: str, api: ApiFacts | None, direction: Direction | None, body: tuple[Definition, ...]) -> MessageType:
    former = load_former(api, direction) if api is not None and direction is not None else ()
    builder = TreeBuilder(name)
    header: tuple[Definition, ...] = ()
    if api is not None and direction is not None:
        header = load_loose("RequestHeader" if direction == "request" else "ResponseHeader")
        builder.add_part("header", "header", header)
    builder.add_part("body", "", former + body)
    low, high = body[0].versions.low, body[-1].versions.high
    compiler = Compiler(builder.slots, len(builder.level_arrays))
    all_parts = []
    layouts = [(version, _definition(body, version)) for version in range(low, high + 1)]
    layouts += [(d.versions.low, d) for d in former]
    for version, definition in layouts:
        parts = [Part(builder.root.children["body"], definition, version)]
        if api is not None and direction is not None:
            of_header = header_version(api.api_key, direction, version)
            parts.insert(0, Part(builder.root.children["header"], _definition(header, of_header), of_header))
        compiler.add_version(parts)
        all_parts.append(tuple(parts))
    falls_back = api is not None and api.api_key == API_VERSIONS and direction == "response"
    return MessageType(
        name=name,
        api_key=api.api_key if api else None,
        direction=direction,
        versions=(low, high),
        root=builder.root,
        slots=tuple(builder.slots),
        level_arrays=tuple(builder.level_arrays),
        programs=compiler.finish(),
        parts=tuple(all_parts),
        fallback_version=0 if falls_back else None,
        former_layouts=tuple((d.versions.low, high + 1 + i) for i, d in enumerate(former)),
    )


@cache
def message_type(api_key: int, direction: Direction) -> MessageType | None:
    """The message of an API key and direction, compiled on first use; None for a key the facts do not know."""
    api = load_index().get(api_key)
    if api is None:
        return None
    return _build(api.name + direction.capitalize(), api, direction, load_api(api, direction))


@cache
def data_message_type(name: str) -> MessageType | None:
    """A header, or a message that travels inside others (ConsumerProtocolSubscription, EndTxnMarker, ...), as a body
    alone."""
    return _build(name, None, None, load_loose(name)) if name in loose_names() else None


def api_keys() -> tuple[int, ...]:
    """Every API key that the facts know, ascending."""
    return tuple(load_index())


def api_name(api_key: int) -> str:
    """Kafka's name of an API such as Fetch; UNKNOWN_<key> for a key of a newer release."""
    api = load_index().get(api_key)
    return api.name if api else f"UNKNOWN_{api_key}"


def _key_table() -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    apis = load_index()
    ranges = np.full((max(apis) + 1, 2), (0, -1), np.int16)
    flexible = np.full(max(apis) + 1, -1, np.int16)
    for key, api in apis.items():
        ranges[key] = api.min_version, api.max_version
        flexible[key] = api.flexible_from
    ranges.flags.writeable = flexible.flags.writeable = False
    return ranges, flexible


API_VERSION_RANGE, FLEXIBLE_FROM = _key_table()
"""int16[n_keys, 2]: lowest and highest version per API key (0, -1 where there is no such key); int16[n_keys]: first
flexible version, -1 for none."""
