"""Reads and checks `_dataset.json`. A dataset may come from a stranger or from a broken disk, so everything that others
rely on is checked here: types, ranges of numbers, that paths stay inside the dataset, and the checksum.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from kafkascope_analyzer.dataset.contract import SCHEMA_VERSION
from kafkascope_analyzer.dataset.failed_parts import FailedPart, part_from
from kafkascope_analyzer.dataset.manifest import (
    CHECKSUM,
    MANIFEST,
    SAVED_READS_FOLDER,
    SAVED_SCAN_FOLDER,
    Manifest,
    checksum_of,
)
from kafkascope_analyzer.dataset.parquet_files import RESTORE, DatasetFile
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_parsers.errors import DamagedDatasetError

MOST_BYTES = 256 << 20
"""Largest manifest, in bytes: about that of a dataset with a million files."""
_INT64 = range(-(1 << 63), 1 << 63)
_COUNT = range(1 << 63)
_MOST_STALL_MS = 1 << 40
"""Longest stall limit, in milliseconds: in nanoseconds it has to stay below 2**63."""
_TABLE = re.compile(r"[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)*")


class _WrongError(ValueError):
    """A part of the manifest is wrong: names the part."""


def read_manifest(data: bytes, storage: Storage) -> Manifest:
    """Returns the manifest in the bytes of the file. storage: the dataset's, for messages. Raises DamagedDatasetError,
    also for a manifest of another version."""
    if len(data) > MOST_BYTES:
        raise _damaged(storage, f"it has more than {MOST_BYTES >> 20} MiB")
    try:
        content = json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        raise _damaged(storage, "its values are nested too deep") from None
    except ValueError as error:
        raise _damaged(storage, str(error)) from error
    return parse_manifest(content, storage)


def parse_manifest(content: object, storage: Storage) -> Manifest:
    """Returns the manifest in a JSON value. Raises DamagedDatasetError: of no or another version, or damaged."""
    found = content.get("schema_version") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(found, int) or isinstance(found, bool):
        raise DamagedDatasetError(f"{storage} is not a kafkascope dataset: its {MANIFEST} names no schema_version")
    if found < SCHEMA_VERSION:
        raise DamagedDatasetError(f"{storage} was made by an older kafkascope: run kafkascope ingest again")
    if found > SCHEMA_VERSION:
        raise DamagedDatasetError(
            f"{storage} was made by a newer kafkascope: update this one, or run kafkascope ingest again"
        )
    try:
        if CHECKSUM in content and content[CHECKSUM] != checksum_of(content):
            raise _WrongError("it does not have the checksum that it names")
        return _manifest(content)
    except (_WrongError, RecursionError) as error:
        raise _damaged(storage, str(error)) from error


def _damaged(storage: Storage, why: str) -> DamagedDatasetError:
    return DamagedDatasetError(f"{storage.uri_of(MANIFEST)} is damaged: {why}; {RESTORE}")


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _manifest(content: Mapping[str, object]) -> Manifest:
    tool_version, stall_ms = content.get("tool_version"), content.get("stall_ms")
    return Manifest(
        {name: _files(name, listed) for name, listed in sorted(_object(content, "files").items())},
        _counts(content, "ledger"),
        [_input(entry) for entry in _list(content.get("inputs"), "inputs")],
        {name: _scalar(value, f"options.{name}") for name, value in _object(content, "options").items()},
        _counts(content, "limits_hit"),
        None if tool_version is None else _text(tool_version, "tool_version"),
        None if stall_ms is None else _number(stall_ms, "stall_ms", range(1, _MOST_STALL_MS)),
        _saved_scan(content),
        _failed_parts(content.get("failed_parts", [])),
        _uncovered(content.get("uncovered", [])),
        tuple(_file(SAVED_READS_FOLDER, entry) for entry in _list(content.get("saved_reads", []), "saved_reads")),
    )


def _files(table: str, listed: object) -> tuple[DatasetFile, ...]:
    """Returns the files of one table, all of which are inside the table's folder."""
    if not _TABLE.fullmatch(table):
        raise _WrongError(f"it names a table {table!r}")
    return tuple(_file(table, entry) for entry in _list(listed, f"files of {table}"))


def _file(table: str, entry: object) -> DatasetFile:
    what = f"file of {table}"
    if not isinstance(entry, dict):
        raise _WrongError(f"it does not list the files of {table}")
    crc32, times = entry.get("footer_crc32"), entry.get("times")
    return DatasetFile(
        _path_in(table, entry.get("path")),
        _number(entry.get("rows"), f"rows of a {what}", _COUNT),
        _number(entry.get("bytes"), f"bytes of a {what}", _COUNT),
        None if crc32 is None else _number(crc32, f"footer_crc32 of a {what}", range(1 << 32)),
        tuple(_text(key, f"made_of of a {what}") for key in _list(entry.get("made_of", []), f"made_of of a {what}")),
        None if times is None else _times(times, f"times of a {what}"),
    )


def _times(value: object, what: str) -> tuple[int, int]:
    """Returns a first and a last time."""
    edges = _numbers(value, what)
    if len(edges) != len(("first", "last")) or edges != sorted(edges):
        raise _WrongError(f"it has wrong {what}")
    return edges[0], edges[1]


def _path_in(folder: str, value: object) -> str:
    """Returns a path in a folder of the dataset."""
    path = _text(value, f"path of a file of {folder}")
    parts = path.split("/")
    if not path.startswith(f"{folder}/") or ".." in PurePosixPath(path).parts or not path.isprintable():
        raise _WrongError(f"{path!r} is no file of {folder}")
    if any(part in ("", ".") for part in parts):
        raise _WrongError(f"{path!r} is no file of {folder}")
    return path


def _failed_parts(listed: object) -> tuple[FailedPart, ...]:
    """Returns the parts of the stories that failed."""
    try:
        return tuple(part_from(_entry(part)) for part in _list(listed, "failed_parts"))
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise _WrongError("its failed_parts are none") from error


def _entry(part: object) -> Mapping[str, object]:
    if not isinstance(part, dict):
        raise _WrongError("its failed_parts are none")
    return {**part, "n": _number(part.get("n"), "number of failed_parts", _COUNT)}


def _uncovered(listed: object) -> Uncovered:
    """Returns the times that no input covers."""
    what = "uncovered"
    times = [_list(time, what) for time in _list(listed, what)]
    if any(len(time) != len(("begin", "end")) for time in times):
        raise _WrongError("its uncovered times have no begin and end")
    found = Uncovered.of([_number(edge, what, _INT64) for edge in time] for time in times)
    edges = [edge for time in found.times for edge in time]
    if edges != sorted(edges):
        raise _WrongError("its uncovered times overlap")
    return found


def _saved_scan(content: Mapping[str, object]) -> Mapping[str, int]:
    """Returns the files of the saved scan, with their checksums."""
    listed = _object(content, "saved_scan") if content.get("saved_scan") else {}
    return {
        _path_in(SAVED_SCAN_FOLDER, path): _number(crc32, f"checksum of {path}", range(1 << 32))
        for path, crc32 in listed.items()
    }


def _clock(value: object, what: str) -> Mapping[str, Any]:
    """Returns the clock of a capture point, as PointClock.as_json describes it."""
    if not isinstance(value, dict):
        raise _WrongError(f"it has a wrong {what}")
    times = {name: _numbers(value.get(name), what) for name in ("at_ns", "ahead_ns")}
    if not times["at_ns"] or len(times["at_ns"]) != len(times["ahead_ns"]):
        raise _WrongError(f"it has a wrong {what}")
    return {"reference": _text(value.get("reference"), what), "kind": _text(value.get("kind"), what), **times}


def _object(content: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = content.get(name)
    if not isinstance(value, dict):
        raise _WrongError(f"it has no {name}")
    return value


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise _WrongError(f"it has no {what}")
    return value


def _counts(content: Mapping[str, object], name: str) -> Mapping[str, int]:
    return {key: _number(value, f"{name}.{key}", _COUNT) for key, value in _object(content, name).items()}


def _number(value: object, what: str, allowed: range) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        raise _WrongError(f"it has a wrong {what}")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _WrongError(f"it has a wrong {what}")
    return value


def _scalar(value: object, what: str) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(value, what, _INT64)
    if isinstance(value, float) and not math.isfinite(value):  # 1e999 is JSON, and no float
        raise _WrongError(f"{what} is not a number that a float can hold")
    if value is None or isinstance(value, bool | float):
        return value
    return _text(value, what)


def _numbers(value: object, what: str) -> list[int]:
    return [_number(one, what, _INT64) for one in _list(value, what)]


def _optional_number(value: object, what: str) -> int | None:
    return None if value is None else _number(value, what, _INT64)


_INPUT: Mapping[str, Callable[[object, str], object]] = {
    "path": _text,
    "linktypes": _numbers,
    "clock": _clock,
    **dict.fromkeys(
        (
            *("size_bytes", "snaplen", "packets", "dropped", "duplicates", "cut_at_byte", "unread_bytes"),
            *("first_ns", "last_ns"),
        ),
        _optional_number,
    ),
}
"""Key of an entry about an input file -> the function that reads it."""


def _input(entry: object) -> Mapping[str, Any]:
    """Returns an entry about an input file."""
    if not isinstance(entry, dict) or "path" not in entry:
        raise _WrongError("it does not name the captures")
    return {name: _INPUT.get(name, _scalar)(value, f"{name} of a capture") for name, value in entry.items()}
