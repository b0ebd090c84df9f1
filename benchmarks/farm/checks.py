"""Conditions that must hold for a dataset and for every output, with any capture."""

import base64
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.farm.layer import FaultError

ROW_COLUMNS = (
    "correlation_id",
    "api_key",
    "api_version",
    "client_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "request_bytes",
    "response_bytes",
    "error_code",
    "n_errors",
    "group_id",
    "producer_id",
    "n_partitions",
    "n_records",
    "record_bytes",
)
"""Columns of `requests` that come from one connection's own bytes."""
END_COLUMNS = ("client_ip", "client_port", "server_ip", "server_port")

Rows = Mapping[tuple[Any, ...], list[tuple[Any, ...]]]
"""Ends of a connection -> its requests."""


def check_ledger(dataset: Path) -> None:
    """Every byte of the streams is decoded, undecoded, or missing; `undecoded` has a row for each that is not."""
    ledger = json.loads((dataset / "_dataset.json").read_text(encoding="utf-8"))["ledger"]
    if ledger["stream_bytes"] != ledger["decoded_bytes"] + ledger["undecoded_bytes"]:
        raise FaultError(f"the ledger does not add up: {ledger}")
    listed = sum(pq.read_table(dataset / "undecoded", columns=["bytes"])["bytes"].to_pylist())
    if listed != ledger["undecoded_bytes"]:
        raise FaultError(f"undecoded has other bytes than the ledger: {listed} {ledger}")
    connections = pq.read_table(dataset / "connections", columns=["client_bytes", "server_bytes"])
    total = sum(sum(column.to_pylist()) for column in connections.columns)
    if total != ledger["stream_bytes"]:
        raise FaultError(f"connections have other bytes than the ledger: {total} {ledger}")


def check_parts(dataset: Path) -> None:
    """No part of the analysis has failed because of a defect."""
    report = json.loads((dataset / "report.json").read_text(encoding="utf-8"))
    for part in report["failed_parts"]:
        where = next(reversed(part["places"]), "nowhere")
        raise FaultError(f"a part failed - {part['kind']} {part['reason']} at {where}: {part}")


def request_rows(dataset: Path) -> Rows:
    """The requests of each connection."""
    rows: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    table = pq.read_table(dataset / "requests", columns=[*END_COLUMNS, *ROW_COLUMNS]).to_pylist()
    for row in table:
        rows[tuple(row[name] for name in END_COLUMNS)].append(tuple(row[name] for name in ROW_COLUMNS))
    return {ends: sorted(some, key=repr) for ends, some in rows.items()}


def check_unchanged(dataset: Path, expected: Rows, ends: Iterable[tuple[Any, ...]]) -> None:
    """Connections whose packets were not changed have the same rows as in the original capture."""
    found = request_rows(dataset)
    for each in ends:
        if found.get(each, []) != expected.get(each, []):
            raise FaultError(f"a connection that was not changed has other rows: {each}")


def forms_of(mark: bytes) -> tuple[bytes, ...]:
    """The forms that a secret may have in an output: as it is, as hex, as base64 at any of the three offsets."""
    encoded = []
    for before in range(3):
        text = base64.b64encode(b"x" * before + mark)
        encoded.append(text[4 if before else 0 : len(text) - 4])
    return (mark, mark.hex().encode(), *encoded)


def check_secrets(folder: Path, marks: Iterable[bytes], skip: Iterable[Path] = ()) -> None:
    """No file of a folder has a secret, and no cell of its Parquet files."""
    forms = [form for mark in marks for form in forms_of(mark)]
    skipped = set(skip)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in skipped:
            content = _cells(path) if path.suffix == ".parquet" else path.read_bytes()
            if any(form in content for form in forms):
                where = path.relative_to(folder).as_posix().rpartition("/")
                raise FaultError(f"a secret is in {where[0] or where[2]}: {path}")


def _cells(path: Path) -> bytes:
    """Every buffer of every column, dictionaries decoded: text and bytes are there as they are."""
    table = pq.read_table(path)
    return b"".join(_bytes_of(chunk) for column in table.columns for chunk in column.chunks)


def _bytes_of(array: pa.Array) -> bytes:
    if isinstance(array, pa.DictionaryArray):
        return _bytes_of(array.dictionary)
    return b"\xff".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
