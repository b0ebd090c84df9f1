"""Arrow tables: the same values as the rows, one type for all versions, no secrets."""

import base64
import struct
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kafkascope_parsers.machine import arrow_schema, strings, to_arrow, to_rows
from kafkascope_parsers.machine.gather import gather_strings, gather_uuids
from kafkascope_parsers.schema import Node, api_keys, message_type
from kafkascope_parsers.schema.redacted import without_secrets
from kafkascope_parsers.schema.secrets import ALWAYS


def compare(node: Node, shown: Any, full: Any) -> None:
    """A value of the table against the value without secrets, where only lengths of records may be shown."""
    if full is None:
        assert shown is None, node.path
    elif node.kind == "array":
        assert len(shown) == len(full), node.path
        for s, f in zip(shown, full, strict=True):
            compare(node.element, s, f)
    elif node.kind == "struct":
        for child in node.children.values():
            f = full.get(child.name)
            if child.secret or child.type == "records":
                size = len(f.encode() if isinstance(f, str) else f) if f is not None else None
                assert shown[f"{child.name}_length"] == full.get(f"{child.name}_length", size)
                assert (child.name in shown) == (child.type != "records" and child.secret != ALWAYS)
                assert shown.get(child.name) == (None if child.type == "records" else f)
            else:
                compare(child, shown[child.name], f)
    else:
        assert shown == full or shown != shown, node.path


def test_tables_hold_what_the_rows_hold(frames, decode):
    groups = defaultdict(list)
    for v in frames:
        groups[v["api_key"], v["direction"]].append(v)
    n_tags = n_hidden = 0
    for key, vectors in groups.items():
        message = message_type(*key)
        (columns,) = decode(
            message, [bytes.fromhex(v["frame_hex"])[4:] for v in vectors], [v["version"] for v in vectors]
        )
        table = to_arrow(columns)
        table.validate(full=True)
        assert table.schema == arrow_schema(message)
        for shown, row in zip(table.to_pylist(), to_rows(columns), strict=True):
            full = without_secrets(message, row)
            compare(message.body, shown, full["body"])
            tags = tags_of(message.root, full, "")
            kept = [(t["tag"], t["length"], t["data"]) for t in shown["unknown_tagged_fields"] or []]
            assert sorted(kept, key=str) == sorted(tags, key=str)
            n_tags += len(tags)
            n_hidden += sum(data is None for _, _, data in tags)
    assert n_tags > 1000
    assert n_hidden > 100


def tags_of(node: Node, value: Any, path: str) -> list[tuple[int, int, bytes | None]]:
    """Tag, length and bytes of unknown tags."""
    if value is None or node.kind == "leaf":
        return []
    if node.kind == "array":
        return [t for v in value for t in tags_of(node.element, v, path)]
    unknown = value.get("unknown_tagged_fields", [])
    own = [(t["tag"], t["length"] if "length" in t else len(t["hex"]), t.get("hex")) for t in unknown]
    return own + [t for child in node.children.values() for t in tags_of(child, value.get(child.name), path)]


def test_unknown_tags_say_where_they_were(decode):
    # DeleteTopics v6 response: two topics, the second with an unknown tag 9, and tag 100 on the message.
    topic = b"\x02a" + bytes(16) + struct.pack(">h", 0) + b"\0"
    raw = (
        struct.pack(">i", 1)
        + b"\0"
        + struct.pack(">i", 0)
        + b"\x03"
        + topic
        + b"\0"
        + topic
        + b"\x01\x09\x02hi"
        + b"\x01\x64\0"
    )
    (columns,) = decode(message_type(20, "response"), [raw, raw], [6, 6])
    expected = [
        {"path": "", "element": 0, "tag": 100, "data": b"", "length": 0},
        {"path": "responses[]", "element": 1, "tag": 9, "data": b"hi", "length": 2},
    ]
    assert to_arrow(columns)["unknown_tagged_fields"].to_pylist() == [expected, expected]


def test_secret_bytes_are_in_no_table(decode):
    secret = b"\0alice\0wonderland"
    raw = struct.pack(">hhih", 36, 1, 1, -1) + struct.pack(">i", len(secret)) + secret
    (columns,) = decode(message_type(36, "request"), [raw], [1])
    table = to_arrow(columns)
    assert table["auth_bytes_length"].to_pylist() == [len(secret)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert b"wonderland" not in sink.getvalue().to_pybytes()


def test_types_have_nothing_that_spark_refuses():
    def leaf_types(t: pa.DataType) -> set[pa.DataType]:
        if pa.types.is_list(t):
            return leaf_types(t.value_type)
        return set().union(*(leaf_types(f.type) for f in t)) if pa.types.is_struct(t) else {t}

    allowed = {pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.binary()}
    for key in api_keys():
        for direction in ("request", "response"):
            for field in arrow_schema(message_type(key, direction)):
                assert leaf_types(field.type) <= allowed, (key, direction, field)


def test_text_that_is_not_utf8_is_replaced():
    parts = [b"plain", b"", b"\xff\xfe", "žluťoučký".encode(), b"\xed\xa0\x80", b"cut \xe2\x82", b"x" * 200]
    buf = np.frombuffer(bytearray(b"".join(parts)), np.uint8)
    lengths = np.array([len(p) for p in parts] + [-1], np.int32)
    offsets = np.concatenate(([0], np.cumsum(np.maximum(lengths, 0))[:-1])).astype(np.int64)
    got = gather_strings(buf, offsets, lengths)
    got.validate(full=True)
    assert got.to_pylist() == [p.decode("utf-8", "replace") for p in parts] + [None]


def test_uuids_print_as_kafka_prints_them():
    raw = bytes(range(256)) * 2
    buf = np.frombuffer(bytearray(raw), np.uint8)
    offsets = np.array([0, 100, 250, 496, -1, 240, 3], np.int64)
    want = [base64.urlsafe_b64encode(raw[o : o + 16]).decode()[:22] if o >= 0 else None for o in offsets.tolist()]
    assert gather_uuids(buf, offsets).to_pylist() == want


def test_strings_of_a_field_that_no_frame_has_are_null(decode):
    heartbeat = message_type(12, "request")
    raw = struct.pack(">hhih", 12, 0, 1, -1) + struct.pack(">h", 1) + b"g" + struct.pack(">ih", 4, 1) + b"m"
    (columns,) = decode(heartbeat, [raw], [0])
    assert strings(columns, heartbeat.node("group_instance_id")).to_pylist() == [None]
    assert strings(columns, heartbeat.node("group_id")).to_pylist() == ["g"]
    assert strings(columns, heartbeat.node("header.client_id")).to_pylist() == [None]


def test_texts_that_may_be_secret_are_made_anew(decode):
    """A text of a broker is hidden as soon as it is known that it may repeat a secret, though it was shown before."""
    reason, name = struct.pack(">h", 6) + b"denied", struct.pack(">h", 1) + b"1"
    raw = struct.pack(">iiih", 1, 0, 1, 40) + reason + b"\4" + name
    message = message_type(33, "response")
    (columns,) = decode(message, [raw], [0])
    about, resource = message.node("responses[].error_message"), message.node("responses[].resource_name")
    shown = replace(columns, report_may_repeat=np.array([False]))
    assert strings(shown, about).to_pylist() == ["denied"]
    assert strings(replace(shown, report_may_repeat=np.array([True])), about).to_pylist() == [None]
    assert strings(shown, resource) is strings(shown, resource)
