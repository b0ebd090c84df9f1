"""Conversations with a marked secret in every field that may hold one, of every API and version, whole and broken.

Messages are written here by Kafka's schema facts, field by field; the program that is tested reads them by other code.
"""

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kafkascope_parsers.schema import MessageType, api_keys, api_name, message_type
from kafkascope_parsers.schema.facts import FieldFacts
from kafkascope_parsers.schema.secrets import SECRETS, hides_unknown_tags
from kafkascope_parsers.schema.tree import Node

MARK = b"Pl4nt3dMarkZq7Wx"
"""The secret. It has no zeros, so that no number in a test makes its bytes."""
_FIXED = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}


def _varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


@dataclass(frozen=True)
class Writer:
    """Writes messages of one type and version. by_name: whether a configuration is secret by its name, else by
    is_sensitive."""

    message: MessageType
    version: int
    by_name: bool

    def frame(self, correlation_id: int) -> bytes:
        """The whole frame, from the size on."""
        raw = b""
        for part in self.message.parts[self.version - self.message.versions[0]]:
            raw += self._struct(part.node, part.definition.fields, (part.version, part.flexible, correlation_id))
        return struct.pack(">i", len(raw)) + raw

    def _struct(self, node: Node, fields: tuple[FieldFacts, ...], how: tuple[int, bool, int]) -> bytes:
        version, flexible, _ = how
        here = [f for f in fields if version in f.versions]
        plain = [f for f in here if not (flexible and version in f.tagged)]
        out = b"".join(self._field(node.children[f.name], f, how) for f in plain)
        if not flexible:
            return out
        if not hides_unknown_tags(self.message.name):
            return out + b"\0"
        return out + b"\x01" + _varint(9999) + _varint(len(MARK)) + MARK

    def _field(self, node: Node, facts: FieldFacts, how: tuple[int, bool, int]) -> bytes:
        version, flexible, _ = how
        compact = flexible if facts.flexible is None else version in facts.flexible
        if facts.is_array:
            count = b"\x02" if compact else struct.pack(">i", 1)
            inner = node.element
            return count + (self._struct(inner, facts.fields, how) if facts.fields else self._leaf(inner, how, compact))
        if facts.fields:
            marker = b"\x01" if version in facts.nullable else b""
            return marker + self._struct(node, facts.fields, how)
        return self._leaf(node, how, compact, width=2 if facts.type == "string" else 4, kind=facts.type)

    def _leaf(
        self, node: Node, how: tuple[int, bool, int], compact: bool, *, width: int = 2, kind: str | None = None
    ) -> bytes:
        kind = kind or node.type
        if kind in _FIXED:
            return self._number(node, how[2]).to_bytes(_FIXED[kind], "big")
        value = self._text(node)
        return (_varint(len(value) + 1) if compact else len(value).to_bytes(width, "big")) + value

    def _number(self, node: Node, correlation_id: int) -> int:
        if node.path.startswith("header."):
            known = {"request_api_key": self.message.api_key, "request_api_version": self.version}
            return known.get(node.name, correlation_id) or 0
        return int(node.name == "is_sensitive" and not self.by_name)

    def _text(self, node: Node) -> bytes:
        if node.secret is not None:
            return b"Invalid value " + MARK + b" for it" if node.secret.is_report else MARK
        if node.path.endswith(("configs[].name", "configs[].key", "tags[].key", "synonyms[].name")):
            return b"ssl.key.password" if self.by_name else b"plain.name"
        return b"" if node.type in ("bytes", "records") else b"name"


def messages() -> list[tuple[str, int, int, bool]]:
    """(API, key, version, by_name) of every exchange that may hold a secret in either direction."""
    apis = {message.removesuffix("Request").removesuffix("Response") for message in SECRETS} | {"SaslHandshake"}
    out = []
    for key in api_keys():
        if api_name(key) in apis:
            low, high = message_type(key, "request").versions
            # where only is_sensitive could say it, a request does not say it: its names have to
            out += [(api_name(key), key, version, by_name) for version in range(low, high + 1) for by_name in (True,)]
            if api_name(key) == "DescribeConfigs":
                out += [("DescribeConfigs", key, version, False) for version in range(low, high + 1)]
    return out


def exchange(key: int, version: int, by_name: bool, correlation_id: int) -> tuple[bytes, bytes]:
    """The request and the response."""
    sides = (message_type(key, "request"), message_type(key, "response"))
    asked, answered = (Writer(message, version, by_name).frame(correlation_id) for message in sides)
    return asked, answered


def resized(frame: bytes, more: bytes) -> bytes:
    """The frame with more bytes at its end, and its size corrected: its body does not decode."""
    return struct.pack(">i", len(frame) - 4 + len(more)) + frame[4:] + more


def conversations(wire: Any) -> list[Any]:
    """One connection for each way in which secrets may come. wire: tests/peers/wire.py."""
    made = []

    def conversation(**options: Any) -> Any:
        made.append(wire.Conversation(client_port=40000 + len(made), **options))
        return made[-1]

    def proven() -> Any:
        return conversation().from_client(wire.metadata(1)).from_server(wire.metadata_answer(1))

    all_of = [exchange(key, version, by_name, 100 + n) for n, (_, key, version, by_name) in enumerate(messages())]
    whole = proven()
    broken = proven()
    for asked, answered in all_of:
        whole.from_client(asked).from_server(answered)
        broken.from_client(resized(asked, MARK)).from_server(resized(answered, MARK))
    middle = conversation(syn=False)
    middle.from_client(all_of[0][0][5:]).from_server(all_of[0][1][5:])
    for asked, answered in all_of:
        middle.from_client(asked).from_server(answered)
    for asked, answered in all_of[:: max(1, len(all_of) // 12)]:
        cut = proven().from_client(asked[:-3])
        cut.lose(0, 3)
        cut.from_client(wire.metadata(2)).from_server(answered[: len(answered) - 3])
        cut.lose(1, 3)
        cut.from_server(wire.metadata_answer(2))
        proven().from_client(asked).from_server(answered[:-1])
        proven().from_client(asked[:-1])
        proven().lose(0, len(asked)).from_server(answered)
        orphan = conversation(syn=False)
        orphan.from_server(answered, wire.metadata_answer(2)).from_client(wire.metadata(3))
    _sasl(wire, conversation, proven)
    return made


def _sasl(wire: Any, conversation: Any, proven: Any) -> None:
    """SASL tokens in right and wrong places, each refused or not answered or misplaced."""
    tokens = [
        b"\0" + MARK + b"\0",
        b"user\0" + MARK + b"\0",
        b"\0\0" + MARK,
        b"user\0" + MARK,
        MARK,
        b"\0user\0" + MARK + b"\0",
        b"other\0" + MARK + b"\0x",
        b"n,,n=" + MARK,
        b"n,,n=user,r=" + MARK,
        b"c=biws,r=x,p=" + MARK,
        b"n,,\x01auth=Bearer " + MARK + b"\x01\x01",
    ]
    mechanisms = (b"PLAIN", b"SCRAM-SHA-256", b"OAUTHBEARER")
    for token in tokens:
        conversation().from_client(wire.sized(token)).from_server(wire.sized(b"no " + MARK))
        conversation().from_client(token)
        conversation(syn=False).from_client(token, wire.sized(token))
        proven().from_client(wire.sized(token)).from_server(wire.sized(token))
        proven().from_client(token).from_server(token)
        for version in (0, 1):
            for mechanism in mechanisms:
                answer = wire.response(2, struct.pack(">hi", 0, 1) + wire.string(mechanism))
                greeted = proven().from_client(wire.request(17, version, 2, wire.string(mechanism))).from_server(answer)
                greeted.from_client(wire.sized(token)).from_server(wire.sized(b"e=" + MARK))
                asked = wire.request(36, 0, 3, wire.sized(token))
                refused = wire.response(3, struct.pack(">h", 58) + wire.string(b"bad " + MARK) + wire.sized(MARK))
                greeted.from_client(asked).from_server(refused)
    conversation().from_client(b"GET /?password=" + MARK + b" HTTP/1.1\r\nAuthorization: Basic " + MARK + b"\r\n\r\n")


PIECE = 8
"""Bytes in a row of the secret that must not be anywhere."""


def forms() -> set[bytes]:
    """Pieces of the secret as they might stand in an output: as they are, as hex, as base64 from any of its bytes."""
    mark = MARK
    pieces = [mark[i : i + PIECE] for i in range(len(mark) - PIECE + 1)]
    out = set(pieces) | {piece.hex().encode() for piece in pieces}
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + mark)
        out |= {encoded[i : i + PIECE] for i in range(4, len(encoded) - PIECE - 3)}
    return out


FORMS = forms()


def leaks(output: bytes) -> list[bytes]:
    """The pieces of the secret in an output."""
    lower = output.lower()
    return [form for form in FORMS if form in output or form in lower]


def tables(dataset: Path) -> Iterator[tuple[Path, list[dict[str, object]]]]:
    for file in sorted(dataset.rglob("*.parquet")):
        yield file, pq.ParquetFile(file).read().to_pylist()
