"""Messages of every API in which each number stands at a limit: written by Kafka's definitions of the fields, which is
all that this shares with the package under test.
"""

import struct
from dataclasses import dataclass

from kafkascope_parsers.api_keys import API_VERSIONS, SASL_HANDSHAKE
from kafkascope_parsers.schema import api_keys
from kafkascope_parsers.schema.facts import load_api, load_index

LIMITS = {
    "lowest": lambda bits: -(1 << (bits - 1)),
    "highest": lambda bits: (1 << (bits - 1)) - 1,
    "minus_one": lambda bits: -1,
    "one": lambda bits: 1,
}
WIDTHS = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8}


@dataclass(frozen=True)
class Filling:
    """What stands in the fields: `number` gives a value for a number of so many bits (and its name)."""

    number: object
    text: bytes = b"t"


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def sized(raw, compact, width):
    return varint(len(raw) + 1) + raw if compact else len(raw).to_bytes(width, "big") + raw


def batch(filling):
    """A record batch of magic 2 with an empty content, its numbers at the limits."""
    number = filling.number
    head = struct.pack(">iBI", number(32, "leaderEpoch"), 2, 0) + struct.pack(">hi", 16, number(32, "lastOffsetDelta"))
    times = struct.pack(">qq", number(64, "baseTimestamp"), number(64, "maxTimestamp"))
    ids = struct.pack(">qhii", number(64, "producerId"), number(16, "producerEpoch"), number(32, "baseSequence"), 1)
    body = head + times + ids
    return struct.pack(">qi", number(64, "baseOffset"), len(body)) + body


def leaf(field, compact, filling):
    kind = field.type
    if kind == "bool":
        return b"\1"
    if kind in WIDTHS:
        bits = 8 * WIDTHS[kind]
        value = filling.number(bits, field.name)
        return (value % (1 << bits)).to_bytes(bits // 8, "big")
    if kind == "float64":
        return struct.pack(">d", 0.5)
    if kind == "uuid":
        return bytes(15) + b"\7"
    content = batch(filling) if kind == "records" else filling.text
    return sized(content, compact, 2 if kind == "string" else 4)


def value(field, version, flexible, filling):
    compact = flexible if field.flexible is None else version in field.flexible
    if not field.is_array:
        if not field.fields:
            return leaf(field, compact, filling)
        present = b"\1" if version in field.nullable else b""
        return present + fields(field.fields, version, flexible, filling)
    one = fields(field.fields, version, flexible, filling) if field.fields else leaf(field, compact, filling)
    return (varint(3) if compact else struct.pack(">i", 2)) + one + one


def fields(facts, version, flexible, filling):
    """The fields of a struct; those that are tagged stay at their defaults."""
    plain = [f for f in facts if version in f.versions and not (flexible and version in f.tagged)]
    return b"".join(value(f, version, flexible, filling) for f in plain) + (b"\0" if flexible else b"")


def message(api_key, direction, version, correlation_id, filling):
    """A frame with its size."""
    api = load_index()[api_key]
    definition = next(d for d in load_api(api, direction) if version in d.versions)
    flexible = 0 <= api.flexible_from <= version
    if direction == "request":
        head = struct.pack(">hhi", api_key, version, correlation_id)
        head += b"" if (api.name, version) == ("ControlledShutdown", 0) else struct.pack(">h", 3) + b"app"
        head += b"\0" if flexible else b""
    else:
        head = struct.pack(">i", correlation_id) + (b"\0" if flexible and api.name != "ApiVersions" else b"")
    raw = head + fields(definition.fields, version, flexible, filling)
    return struct.pack(">i", len(raw)) + raw


def conversations_of(filling, apis):
    """(request, response) of the oldest and the newest version of each API."""
    found = []
    for api_key in apis:
        api = load_index()[api_key]
        for version in sorted({api.min_version, api.max_version}):
            number = len(found) + 1
            found.append([message(api_key, way, version, number, filling) for way in ("request", "response")])
    return found


def talks(w, limits, texts):
    """Connections (w: wire.py) on which every API is used: one for each limit and each (text, whether it fails)."""
    apis = [API_VERSIONS, *(key for key in api_keys() if key not in (API_VERSIONS, SASL_HANDSHAKE))]
    found = []
    for limit in limits:
        for text, failing in texts:

            def number(bits, name, limit=limit, failing=failing):
                return 0 if name.endswith("ErrorCode") and not failing else limit(bits)

            talk = w.Conversation(client_port=40000 + len(found))
            for request, response in conversations_of(Filling(number, text), apis):
                talk.from_client(request).from_server(response)
            found.append(talk)
    return found
