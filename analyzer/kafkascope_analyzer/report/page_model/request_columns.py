"""Requests for the page: read once, thinned, then packed as narrow columns, small differences where they grow.

`number` with the connection's id is the request's id. Times are in units of `unit_ns` since the capture's start, so
that they fit four bytes: 10 ns for captures of up to 40 s, and coarser for longer ones.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES, REQUESTS
from kafkascope_analyzer.dataset.tables.requests import TLS_LENGTHS
from kafkascope_analyzer.report.page_model.names import Names
from kafkascope_analyzer.report.page_model.thinning import BUDGET, Columns, Ints, Kept, integers

ORPHANS = 2**31
NO_TIME = 2**32 - 1
"""Marks a missing response in the columns of durations."""
NO_VERSION = 65_535
"""Marks an unknown version in the column of versions."""
ENCRYPTED = "encrypted request"
"""Stands for the API of a request that only the lengths of TLS records show."""
_TEXT = ["conn_id", "request_id", "api_name", "error_name", "status", "group_id", "transactional_id"]
_TEXT += ["coordinator_key", "coordinator_type", "client_id", "decoded_by"]
_NUMBERS = {"api_key": -1, "api_version": -1, "correlation_id": -1, "ts_ns": 0, "response_last_ns": -1}
_NUMBERS |= {"latency_us": -1, "error_code": 0, "request_bytes": 0, "response_bytes": 0, "in_flight": 0}
_NUMBERS |= {"throttle_ms": 0, "generation_or_epoch": -1, "acks": 2, "n_partitions": 0, "n_records": 0}
_NUMBERS |= {"record_bytes": 0, "capture_id": 0, "request_packet_no": 0, "response_packet_no": 0}
_NUMBERS |= {"n_errors": 0}
_WIDE = ("ts", "response_last_ns", "number", "request_packet_no", "response_packet_no")


@dataclass(slots=True)
class Requests:
    """Thinned requests by connection and time, and the tables of names for their numbers."""

    columns: Columns
    n_seen: int
    stretches: dict[str, int]
    apis: Names = field(default_factory=Names)
    errors: Names = field(default_factory=Names)
    groups: Names = field(default_factory=Names)
    transactional_ids: Names = field(default_factory=Names)
    client_ids: Names = field(default_factory=Names)
    n_unplaced: int = 0

    @property
    def names(self) -> dict[str, Names]:
        """The names that a column's numbers stand for, by the column."""
        names = {"api": self.apis, "error": self.errors, "group": self.groups}
        return names | {"transaction": self.transactional_ids, "client": self.client_ids}

    @property
    def keys(self) -> Ints:
        """connection << 32 | number of each request, in row order."""
        return self.columns["conn"].astype(np.int64) << 32 | self.columns["number"]


def load_requests(dataset: Dataset, conns: dict[str, int], span: tuple[int, int], budget: int = BUDGET) -> Requests:
    """Loads the dataset's requests on the connections conns (conn_id -> number), thinned to the budget.

    span: first and last nanosecond of the capture. Requests of other connections are counted in n_unplaced.
    """
    kept = Kept(*span, budget)
    found = Requests({}, 0, {})
    for batch in scan(dataset, REQUESTS, [*_TEXT, *_NUMBERS]):
        rows = _rows(batch, conns, found)
        placed = rows["conn"] >= 0
        found.n_unplaced += int(np.count_nonzero(~placed))
        kept.add({name: column[placed] for name, column in rows.items()})
    found.columns = kept.columns() or {name: np.empty(0, np.int64) for name in (*_row_names(), "weight")}
    for name, names in found.names.items():
        found.columns[name] = names.in_order()[found.columns[name]].astype(np.int32)
    found.n_seen = kept.n_seen
    found.stretches = {"data": kept.stretches.data, "other": kept.stretches.other}
    return found


def _row_names() -> list[str]:
    made = ["conn", "number", "api", "error", "status", "group", "transaction", "client", "ts"]
    return [*made, *(name for name in _NUMBERS if name != "ts_ns")]


def _rows(batch: pa.RecordBatch, conns: dict[str, int], found: Requests) -> Columns:
    rows = {name: integers(batch.column(name), missing) for name, missing in _NUMBERS.items()}
    rows["ts"] = rows.pop("ts_ns")
    rows["conn"] = places(batch.column("conn_id"), conns)
    rows["number"] = numbers_of(batch)
    rows["api"] = found.apis.indices(_api_names(batch))
    rows["error"] = np.where(rows["error_code"] == 0, 0, found.errors.indices(batch.column("error_name")))
    status = {name: n for n, name in enumerate(REQUEST_STATUSES)}
    rows["status"] = places(batch.column("status"), status)
    rows["group"] = found.groups.indices(_or_key(batch, "group_id", "group"))
    rows["transaction"] = found.transactional_ids.indices(_or_key(batch, "transactional_id", "transaction"))
    rows["client"] = found.client_ids.indices(batch.column("client_id"))
    return {name: column if name in _WIDE else narrow(column) for name, column in rows.items()}


def narrow(column: Ints) -> NDArray[np.int32]:
    """Returns the column as int32; larger values become the largest int32."""
    return np.clip(column, -(2**31), 2**31 - 1).astype(np.int32)


def _api_names(batch: pa.RecordBatch) -> pa.Array:
    """Returns the API of each request; ENCRYPTED where it is not known."""
    encrypted = pc.equal(batch.column("decoded_by"), TLS_LENGTHS).fill_null(False)
    return pc.if_else(encrypted, ENCRYPTED, batch.column("api_name"))


def _or_key(batch: pa.RecordBatch, name: str, key_type: str) -> pa.Array:
    """Returns the column; where FindCoordinator requests a key of that type, the key."""
    is_key = pc.equal(batch.column("coordinator_type"), key_type).fill_null(False)
    return pc.coalesce(batch.column(name), pc.if_else(is_key, batch.column("coordinator_key"), None))


def places(column: pa.Array, known: dict[str, int]) -> Ints:
    """Returns the number of each value of a string column, -1 where it has none."""
    encoded = column.dictionary_encode()
    numbers = np.array([known.get(v, -1) for v in encoded.dictionary.to_pylist()] or [-1], np.int64)
    codes: NDArray[Any] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(codes < 0, -1, numbers[codes])


def numbers_of(batch: pa.RecordBatch) -> Ints:
    """Returns the number at the end of each request_id. Numbers of orphan responses (`-r12`) count from ORPHANS on."""
    names, conn_ids = batch.column("request_id"), batch.column("conn_id")
    lengths = pc.min_max(pc.utf8_length(conn_ids)).as_py()
    if lengths["min"] == lengths["max"] and lengths["min"] is not None:
        tails = pc.utf8_slice_codeunits(names, lengths["min"] + 1)
    else:
        pairs = zip(names.to_pylist(), conn_ids.to_pylist(), strict=True)
        tails = pa.array([name[len(conn) + 1 :] for name, conn in pairs], pa.string())
    orphans = pc.starts_with(tails, "r")
    numbers = integers(pc.replace_substring(tails, "r", "", max_replacements=1), 0)
    return np.where(orphans.to_numpy(zero_copy_only=False), ORPHANS + numbers, numbers)


def packed(found: Requests, start_ns: int, end_ns: int) -> tuple[int, dict[str, NDArray[Any]]]:
    """Returns unit_ns of the times, and the narrow columns. Columns named `d_...` are differences to the previous row,
    modulo 2**32; `d_response` is the response's packet number minus the request's.
    """
    unit_ns, rows = unit_of(end_ns - start_ns), found.columns
    asked, answered = rows["request_packet_no"], rows["response_last_ns"] >= 0
    took = np.clip((rows["response_last_ns"] - rows["ts"]) // 1000, 0, NO_TIME - 1)
    packed_rows = {
        "d_conn": _u32(_steps(rows["conn"])),
        "d_ts": _u32(_steps(np.clip((rows["ts"] - start_ns) // unit_ns, 0, NO_TIME))),
        "d_number": _u32(_steps(rows["number"])),
        "took": _u32(np.where(answered, took, NO_TIME)),
        "latency": _u32(np.where(rows["latency_us"] >= 0, rows["latency_us"].astype(np.int64), NO_TIME)),
        "d_correlation": _u32(_steps(rows["correlation_id"])),
        "d_packet": _u32(_steps(asked)),
        "d_response": _u32(rows["response_packet_no"] - asked),
        "generation": rows["generation_or_epoch"].astype(np.int32),
    }
    for name in ("request_bytes", "response_bytes", "n_records", "record_bytes", "throttle_ms", "weight"):
        packed_rows[name] = _u32(np.maximum(rows[name], 0))
    for name in ("error", "group", "transaction", "client", "n_partitions", "in_flight"):
        packed_rows[name] = np.clip(rows[name], 0, 65_535).astype(np.uint16)
    version = np.where(rows["api_version"] < 0, NO_VERSION, rows["api_version"])
    packed_rows["version"] = np.minimum(version, NO_VERSION).astype(np.uint16)
    packed_rows["capture"] = np.clip(rows["capture_id"], 0, 65_535).astype(np.uint16)
    packed_rows["api"] = np.clip(rows["api"], 0, 255).astype(np.uint8)
    packed_rows["failed"] = is_failed(rows).astype(np.uint8)
    packed_rows["status"] = np.where(rows["status"] < 0, len(REQUEST_STATUSES), rows["status"]).astype(np.uint8)
    packed_rows["acks"] = (np.clip(rows["acks"], -1, 2) + 1).astype(np.uint8)
    return unit_ns, packed_rows


def is_failed(rows: Columns) -> NDArray[np.bool_]:
    """Returns a mask of the requests with an error code, or without a response where they expected one."""
    failed: NDArray[np.bool_] = (rows["error"] > 0) | (rows["status"] == REQUEST_STATUSES.index("unanswered"))
    return failed


def unit_of(duration_ns: int) -> int:
    """Returns the smallest power of ten, 10 or more, so that the duration is less than 2**32 of it."""
    unit = 10
    while duration_ns // unit >= 2**32 - 1:
        unit *= 10
    return unit


def _steps(column: NDArray[Any]) -> NDArray[Any]:
    return np.diff(column.astype(np.int64), prepend=0)


def _u32(column: NDArray[Any]) -> NDArray[np.uint32]:
    return (column.astype(np.int64) & (2**32 - 1)).astype(np.uint32)
