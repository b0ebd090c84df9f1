"""The machine against Kafka's own Java classes: every API, direction and version."""

import json
import math
from base64 import b64encode
from collections import defaultdict
from typing import Any

from kafkascope_parsers.machine import to_rows
from kafkascope_parsers.schema import Node, api_keys, data_message_type, message_type


def in_kafkas_words(node: Node, value: Any) -> Any:
    """What Kafka's JSON converter prints for a decoded value, without nulls."""
    if node.kind == "array":
        assert node.element is not None
        return [in_kafkas_words(node.element, v) for v in value]
    if node.kind == "leaf":
        return leaf(value)
    out: dict[str, Any] = {}
    for child in node.children.values():
        if value[child.name] is not None:
            out[child.kafka_name[0].lower() + child.kafka_name[1:]] = in_kafkas_words(child, value[child.name])
    if "unknown_tagged_fields" in value:
        out["_unknownTaggedFields"] = [{"tag": t["tag"], "hex": t["hex"].hex()} for t in value["unknown_tagged_fields"]]
    return out


def leaf(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def text(value: Any) -> str:
    """One spelling, in which True is not 1 and 1.0 is not 1."""
    return json.dumps(value, sort_keys=True)


def test_every_version_of_every_api_has_a_vector(frames):
    have = {(v["api_key"], v["direction"], v["version"]) for v in frames}
    known = set()
    for key in api_keys():
        for direction in ("request", "response"):
            low, high = message_type(key, direction).versions
            known |= {(key, direction, version) for version in range(low, high + 1)}
    assert have == known
    assert len(known) == 736


def test_frames_of_mixed_versions_read_as_kafka_reads_them(frames, decode):
    groups = defaultdict(list)
    for v in frames:
        groups[v["api_key"], v["direction"]].append(v)
    for (key, direction), vectors in groups.items():
        message = message_type(key, direction)
        raws = [bytes.fromhex(v["frame_hex"])[4:] for v in vectors]
        batches = decode(message, raws, [v["version"] for v in vectors])
        rows = {f: row for c in batches for f, row in zip(c.frame.tolist(), to_rows(c), strict=True)}
        assert not any(c.failures or c.unexpected_nulls for c in batches)
        for i, v in enumerate(vectors):
            for part in ("header", "body"):
                got = in_kafkas_words(message.root.children[part], rows[i][part])
                want = without_nulls(v[f"{part}_json"])
                assert text(got) == text(want), (message.name, v["version"], v["profile"], part)


def test_headers_and_messages_inside_others_read_as_kafka_reads_them(loose, decode):
    for v in loose:
        message = data_message_type(v["name"])
        (columns,) = decode(message, [bytes.fromhex(v["hex"])], [v["version"]])
        (row,) = to_rows(columns)
        assert text(in_kafkas_words(message.body, row["body"])) == text(without_nulls(v["json"])), v["name"]
    assert {"RequestHeader", "ResponseHeader", "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"} <= {
        v["name"] for v in loose
    }


def test_a_frame_cut_anywhere_fails_and_one_byte_more_is_too_much(frames, decode):
    for v in frames[::97]:
        raw = bytes.fromhex(v["frame_hex"])[4:]
        raws = [raw[:n] for n in range(len(raw))] + [raw + b"\0", raw]
        message = message_type(v["api_key"], v["direction"])
        if message.fallback_version is not None:
            continue
        batches = decode(message, raws, [v["version"]] * len(raws))
        assert [f for c in batches for f in c.frame.tolist()] == [len(raws) - 1], message.name
        kinds = {f.frame: f.kind for c in batches for f in c.failures}
        assert kinds[len(raws) - 2] == "trailing_bytes"
        assert len(kinds) == len(raws) - 1
