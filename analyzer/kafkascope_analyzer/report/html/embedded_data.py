"""Data inside the page: plain values and typed columns, deflated, as base64 text that a script element can hold.

Base64 has no `<`, so no string of a stranger can end the element that holds it. Strings are made visible before they
go in (report.formatting), so nothing in the page has to think of control or bidi characters again. The same values
give the same bytes: no times, no file names, one compression level.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.report.formatting import LONGEST_PROSE, safe, visible

LEVEL = 6
_PROSE = ["sentence", "advice", "title", "trigger_why", "why_not", "details", "how_known", "sentences", "followed_text"]
_PROSE += ["routine_text", "packets", "text", "cut", "wireshark", "explain", "ended", "in_short", "slowest_text"]
_PROSE += ["heading", "facts", "lines", "held_back_text", "unread", "trouble", "owner", "what", "when"]
_ALIGNED = 8
"""Alignment of columns in bytes, so that the page can lay typed arrays over them."""
_KINDS = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "i32", "float64": "f64"}


def shown(value: Any, start_ns: int) -> Any:
    """Returns the value in the form that the page may hold: strings visible, and times (keys that end in `_ns`) as
    nanoseconds since start_ns, because numbers in a browser are exact only up to 2**53.
    """
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(key): _shown_of(key, part, start_ns) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shown(part, start_ns) for part in value]
    return value


def _shown_of(key: str, value: Any, start_ns: int) -> Any:
    if isinstance(value, str) and key in _PROSE:
        return visible(value[:LONGEST_PROSE])
    if isinstance(value, list) and key in _PROSE:
        return [_shown_of(key, part, start_ns) for part in value]
    return _since(value, start_ns) if key.endswith("_ns") else shown(value, start_ns)


def _since(value: Any, start_ns: int) -> Any:
    if isinstance(value, list):
        return [_since(v, start_ns) for v in value]
    return value - start_ns if isinstance(value, int) else value


def packed_json(value: Any) -> str:
    """Returns a JSON value, deflated, as base64."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return _packed(text.encode("ascii"))


def packed_columns(columns: Mapping[str, NDArray[Any]]) -> str:
    """Returns one-dimensional arrays under their names, deflated, as base64.

    Layout: size of the header (uint32), the header (JSON: [name, kind, length, first byte] of each), the columns little
    endian. Raises KeyError for a dtype that the page has no array for.
    """
    listed, parts, at = [], [], 0
    for name, column in columns.items():
        raw = np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes()
        listed.append([name, _KINDS[column.dtype.name], len(column), at])
        parts.append(raw + bytes(-len(raw) % _ALIGNED))
        at += len(parts[-1])
    header = json.dumps(listed, separators=(",", ":")).encode("ascii")
    header += b" " * (-(len(header) + 4) % _ALIGNED)
    return _packed(len(header).to_bytes(4, "little") + header + b"".join(parts))


def _packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, LEVEL)).decode("ascii")
