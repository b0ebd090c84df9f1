"""Decodes single frames given as hex, alone or in JSON lines, to inspect bytes by hand and to compare with Kafka's own
classes. The same kernel as for captures decodes them.

Input lines: {"direction", "frame_hex"} for a frame with its 4-byte size, with "api_key" and "version" for a response (a
request says its own); or {"name", "version", "hex"} for a header or a message that travels inside others
(ConsumerProtocolSubscription, ...), named as in Kafka.

Secrets are printed as their length (schema.redacted). Only a line that contains the content of its frame in clear
anyway (`body_json`, as in vectors written by Kafka's own classes) is decoded in full, for comparison.
"""

import json
import math
from base64 import b64encode
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from kafkascope_analyzer.cli.decode_lines import read_lines
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.machine import Failure, decode_messages, to_rows
from kafkascope_parsers.schema import (
    Direction,
    MessageType,
    api_keys,
    api_name,
    data_message_type,
    message_type,
)
from kafkascope_parsers.schema.redacted import without_secrets
from kafkascope_parsers.versions import MOST_INT16, parse_number

_Key = tuple[int | str, Direction | None]
_SIZE_BYTES, _REQUEST_HEADER_BYTES = 4, 8
_CHUNK_LINES = 20_000
"""Input lines that are held at once: answers are in input order while memory stays bounded."""


@dataclass(frozen=True, slots=True)
class _Line:
    key: _Key
    version: int
    raw: bytes
    in_clear: bool = False
    """Whether the line contains the content of its frame in clear."""


def decode_jsonl(paths: list[str], out: TextIO) -> None:
    """Writes one JSON line per input line, in order: {"header": {...}, "body": {...}} or {"error": {...}}.

    Keys are snake_case, bytes base64, uuids as Kafka prints them, unknown tags "unknown_tagged_fields": [{"tag",
    "hex"}], float64 that JSON cannot hold "NaN", "Infinity", "-Infinity". A header or message without a header of its
    own has an empty "header".
    """
    chunk: list[_Line | str] = []
    for path in paths:
        for text in read_lines(path):
            chunk.append(_parse_line(text))
            if len(chunk) == _CHUNK_LINES:
                _answer(chunk, out)
                chunk = []
    _answer(chunk, out)


def parse_hex(text: str) -> bytes:
    """Returns bytes from hex digits; blanks, colons and a leading 0x are ignored. Raises UsageError for
    anything else."""
    try:
        return bytes.fromhex("".join(text.split()).replace(":", "").removeprefix("0x"))
    except ValueError as e:
        raise UsageError(f"not hex: {e}") from e


def decode_frame(raw: bytes, response: tuple[str | None, int | None] | None) -> dict[str, Any]:
    """Decodes one frame, with or without its size, in the form of decode_jsonl. response: API (name or key) and
    version; None for a request. Raises UsageError if the type of the frame is not known.
    """
    if len(raw) > _SIZE_BYTES and int.from_bytes(raw[:_SIZE_BYTES], "big") == len(raw) - _SIZE_BYTES:
        raw = raw[_SIZE_BYTES:]
    line: _Line | str
    if response is None:
        line = _request(raw)
    else:
        api, version = response
        if api is None or version is None:
            raise UsageError("a response does not say what it is: give --api NAME and --version N")
        line = _Line((api_key_of(api), "response"), version, raw)
    return _answers([line])[0]


def api_key_of(api: str) -> int:
    """Returns the key of an API given by its name, in any case, or by its key. Raises UsageError for a name that Kafka
    does not have."""
    number = parse_number(api, MOST_INT16)
    if number is not None:
        return number
    for key in api_keys():
        if api_name(key).casefold() == api.casefold():
            return key
    near = did_you_mean(api, [api_name(key) for key in api_keys()])
    raise UsageError(f"no API is called {api}{near}; `kafkascope protocol` lists them")


def _request(raw: bytes, *, in_clear: bool = False) -> _Line | str:
    """Returns the line of a request, which has its API and version in its first 4 bytes."""
    if len(raw) < _REQUEST_HEADER_BYTES:
        return "a request has at least 8 bytes after its size"
    key, version = (int.from_bytes(raw[i : i + 2], "big", signed=True) for i in (0, 2))
    return _Line((key, "request"), version, raw, in_clear)


def _parse_line(text: bytes) -> _Line | str:
    """Returns the line, or what is wrong with it."""
    try:
        v = json.loads(text)
        if "frame_hex" not in v:
            return _Line((str(v["name"]), None), int(v["version"]), bytes.fromhex(v["hex"]))
        raw = bytes.fromhex(v["frame_hex"])
        if len(raw) < _SIZE_BYTES or int.from_bytes(raw[:_SIZE_BYTES], "big") != len(raw) - _SIZE_BYTES:
            return "the size in front of the frame is not the length of the frame"
        raw = raw[_SIZE_BYTES:]
        in_clear = "body_json" in v
        if v["direction"] == "request":
            return _request(raw, in_clear=in_clear)
        if v["direction"] != "response":
            return "direction is neither request nor response"
        return _Line((int(v["api_key"]), "response"), int(v["version"]), raw, in_clear)
    except KeyError as e:
        return f"not a line of a message: no {e.args[0]}"
    except (ValueError, TypeError, AttributeError, RecursionError) as e:
        return f"not a line of a message: {type(e).__name__}"


def _message(key: _Key) -> MessageType | None:
    which, direction = key
    if isinstance(which, str):
        return data_message_type(which)
    return message_type(which, direction) if direction else None


def _answer(chunk: list[_Line | str], out: TextIO) -> None:
    for answer in _answers(chunk):
        out.write(json.dumps(answer, ensure_ascii=True, allow_nan=False) + "\n")


def _answers(chunk: list[_Line | str]) -> list[dict[str, Any]]:
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
    return answers


def _decode_group(message: MessageType, lines: list[_Line]) -> list[dict[str, Any]]:
    raw = bytearray(b"".join(line.raw for line in lines))  # writable, or kernels are compiled again
    buf = np.frombuffer(raw, np.uint8)
    ends = np.cumsum([len(line.raw) for line in lines], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    versions = np.array([line.version if -(1 << 15) <= line.version < 1 << 15 else -1 for line in lines], np.int16)
    out: list[dict[str, Any]] = [{}] * len(lines)
    for columns in decode_messages(message, buf, starts, ends, versions):
        for frame, row in zip(columns.frame.tolist(), to_rows(columns), strict=True):
            shown = row if lines[frame].in_clear else without_secrets(message, row)
            out[frame] = {"header": {}, **to_jsonable(shown)}
        for failure in columns.failures:
            out[failure.frame] = {"error": _failure_json(message.name, lines[failure.frame].version, failure)}
    return out


def _failure_json(name: str, version: int, failure: Failure) -> dict[str, Any]:
    where = f"{failure.kind} at byte {failure.offset}, {failure.path or 'after the last field'}"
    place = {"api": name, "version": version, "offset": failure.offset, "path": failure.path}
    return {"kind": failure.kind, "message": f"{name} v{version}: {where}", **place}


def to_jsonable(value: Any) -> Any:
    """Returns a decoded value in JSON's types."""
    if isinstance(value, dict):
        return {k: v.hex() if k == "hex" and isinstance(v, bytes) else to_jsonable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [to_jsonable(v) for v in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
