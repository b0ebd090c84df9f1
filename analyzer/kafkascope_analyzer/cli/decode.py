"""Decoding of single messages given as hex in JSON lines, to look at bytes by hand and to compare with Kafka's own
classes.

Input lines: {"api_key", "direction", "version", "frame_hex"} for a frame with its 4-byte size, or {"name", "version",
"hex"} for a header or a message that travels inside others (ConsumerProtocolSubscription, ...), named as in Kafka.
"""

import gzip
import json
import math
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from kafkascope_parsers.machine import decode_messages, to_rows
from kafkascope_parsers.schema import Direction, MessageType, data_message_type, message_type

_Key = tuple[int | str, Direction | None]
_CHUNK_LINES = 20_000
"""Input lines held at once: answers come in input order while memory stays bounded."""


@dataclass(frozen=True, slots=True)
class _Line:
    key: _Key
    version: int
    raw: bytes


def decode_jsonl(paths: list[str], out: TextIO) -> None:
    """Write one JSON line per input line, in order: {"header": {...}, "body": {...}} or {"error": {...}}.

    Keys are snake_case, bytes base64, uuids as Kafka prints them, unknown tags "unknown_tagged_fields": [{"tag",
    "hex"}], float64 that JSON cannot hold "NaN", "Infinity", "-Infinity". A header or message without a header of its
    own has an empty "header".
    """
    chunk: list[_Line | str] = []
    for path in paths:
        for text in _lines(path):
            chunk.append(_parse_line(text))
            if len(chunk) == _CHUNK_LINES:
                _answer(chunk, out)
                chunk = []
    _answer(chunk, out)


def _lines(path: str) -> Iterator[str]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="surrogatepass") as f:
        yield from f


def _parse_line(text: str) -> _Line | str:
    """The line, or what is wrong with it."""
    try:
        v = json.loads(text)
        if "frame_hex" not in v:
            return _Line((str(v["name"]), None), int(v["version"]), bytes.fromhex(v["hex"]))
        raw = bytes.fromhex(v["frame_hex"])
        if len(raw) < 4 or int.from_bytes(raw[:4], "big") != len(raw) - 4:
            return "the size in front of the frame is not the length of the frame"
        direction: Direction = "response" if v["direction"] == "response" else "request"
        return _Line((int(v["api_key"]), direction), int(v["version"]), raw[4:])
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        return f"not a line of a message: {type(e).__name__}"


def _message(key: _Key) -> MessageType | None:
    which, direction = key
    if isinstance(which, str):
        return data_message_type(which)
    return message_type(which, direction) if direction else None


def _answer(chunk: list[_Line | str], out: TextIO) -> None:
    answers: list[dict[str, Any]] = [
        {"error": {"kind": "bad_line", "message": x}} if isinstance(x, str) else {} for x in chunk
    ]
    groups: dict[_Key, list[int]] = defaultdict(list)
    for i, line in enumerate(chunk):
        if isinstance(line, _Line):
            groups[line.key].append(i)
    for key, members in groups.items():
        message = _message(key)
        if message is None:
            for i in members:
                answers[i] = {
                    "error": {"kind": "unknown_api", "message": f"no message {key[0]} {key[1] or ''}".rstrip()}
                }
        else:
            lines = [line for i in members if isinstance(line := chunk[i], _Line)]
            for i, answer in zip(members, _decode_group(message, lines), strict=True):
                answers[i] = answer
    for answer in answers:
        out.write(json.dumps(answer, ensure_ascii=True, allow_nan=False) + "\n")


def _decode_group(message: MessageType, lines: list[_Line]) -> list[dict[str, Any]]:
    buf = np.frombuffer(b"".join(line.raw for line in lines), np.uint8)
    ends = np.cumsum([len(line.raw) for line in lines], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    versions = np.array([line.version if -(1 << 15) <= line.version < 1 << 15 else -1 for line in lines], np.int16)
    out: list[dict[str, Any]] = [{}] * len(lines)
    for columns in decode_messages(message, buf, starts, ends, versions):
        for frame, row in zip(columns.frame.tolist(), to_rows(columns), strict=True):
            out[frame] = {"header": {}, **_jsonable(row)}
        for failure in columns.failures:
            out[failure.frame] = {"error": {"kind": failure.kind, "offset": failure.offset, "path": failure.path}}
    return out


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: v.hex() if k == "hex" and isinstance(v, bytes) else _jsonable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_jsonable(v) for v in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
