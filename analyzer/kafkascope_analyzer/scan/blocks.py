"""The frames of one block as rows: requests, responses, and what they name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.cut_produce import acks_of_cut
from kafkascope_analyzer.scan.decode import Decoded, decode_frames
from kafkascope_analyzer.scan.errors import worst_errors
from kafkascope_analyzer.scan.exchanges import ANSWER_SCHEMA, OPEN_SCHEMA
from kafkascope_analyzer.scan.partitions import PartitionRows, part_schema
from kafkascope_analyzer.scan.request_facts import REQUEST_INTS, REQUEST_TEXTS, RESPONSE_INTS, RESPONSE_TEXTS
from kafkascope_analyzer.scan.undecoded import FailedFrames
from kafkascope_parsers.framing.layout import CLIENT_ID_AT, WHOLE
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.gather import gather_strings
from kafkascope_parsers.schema import MessageType
from kafkascope_parsers.tcp import Streams

_PRODUCE = 0
_NO_ACKS = 0
_ASKED_OF_ERRORS = (
    "ts_ns",
    "group_id",
    "transactional_id",
    "coordinator_key",
    "coordinator_type",
    "client_id",
    "api_version",
)

MessageSink = Callable[[str, Columns, NDArray[np.void]], None]
"""Takes (API name, decoded columns, FRAME of each decoded row)."""


class Asked(NamedTuple):
    """The request behind each row: its number, its time, and whether a broker fetches."""

    number: NDArray[np.int64]
    asked_ns: NDArray[np.int64]
    from_replica: NDArray[np.bool_]


class NamedPartitions(NamedTuple):
    """Rows for `partitions` of one message: conn, ts_ns, the columns of Asked and those of its part_schema."""

    message: MessageType
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """The requests of one block. silent: bool per request, true when no response is expected (Produce with acks=0)."""

    frames: NDArray[np.void]
    decoded: Decoded
    silent: NDArray[np.bool_]
    client_ids: pa.Array
    capture_id: int

    def rows(self, frames: NDArray[np.void]) -> pa.Table:
        """The requests as open rows (OPEN_SCHEMA); frames: as given, with `in_flight` filled by pairing."""
        columns = self.decoded.facts.arrow() | _totals(self.decoded, len(frames), "")
        columns |= {
            "conn": pa.array(frames["direction"] >> 1),
            "number": _array(frames["number"]),
            "capture_id": pa.array(np.full(len(frames), self.capture_id, np.int32)),
            "ts_ns": _array(frames["ts_ns"]),
            "request_last_ns": _array(frames["last_ns"]),
            "request_packet_no": _array(frames["packet_no"]),
            "request_bytes": _array(frames["size"]),
            "in_flight": _array(frames["in_flight"]),
            "api_key": _array(frames["api_key"]),
            "api_version": _array(frames["api_version"]),
            "correlation_id": _array(frames["correlation_id"]),
            "client_id": self.client_ids,
            "decoded": pa.array(self.decoded.decoded),
            "silent": pa.array(self.silent),
            "response_lost": pa.array(np.zeros(len(self.silent), np.bool_)),
        }
        return pa.table([columns[f.name] for f in OPEN_SCHEMA], OPEN_SCHEMA)

    def partitions(self) -> Iterator[NamedPartitions]:
        """Rows for `partitions`, by message."""
        numbers, asked_ns = (np.ascontiguousarray(self.frames[name]) for name in ("number", "ts_ns"))
        from_replica = self.decoded.facts.ints["replica_id"].values(-1) >= 0
        for message, part in self.decoded.partitions:
            asked = Asked(numbers[part.row], asked_ns[part.row], from_replica[part.row])
            yield NamedPartitions(message, _partition_table(message, part, self.frames, asked))

    def topology(self) -> pa.Table:
        """Rows for `topology`: what the controller sends to brokers."""
        table = self.decoded.topology_table()
        rows = table["row"].to_numpy()
        return with_frames(table, self.frames, rows, self.frames["number"][rows], None)

    def failed(self, streams: Streams) -> FailedFrames:
        """Whole frames that did not decode, and zeros behind those that did."""
        return _failed(self.frames, self.decoded, streams, shown=True)


@dataclass(frozen=True, slots=True)
class ResponseBlock:
    """The responses of one block, and the open requests that their `row` points into."""

    frames: NDArray[np.void]
    decoded: Decoded
    answers: pa.Table
    asked: pa.Table

    def orphans(self, index: NDArray[np.int64], capture_id: int) -> pa.Table:
        """conn, number, capture_id and correlation_id of responses without a request; their numbers are below zero."""
        frames = self.frames[index]
        return pa.table(
            {
                "conn": pa.array(frames["direction"] >> 1),
                "number": pa.array(-1 - frames["number"]),
                "capture_id": pa.array(np.full(len(index), capture_id, np.int32)),
                "correlation_id": _array(frames["correlation_id"]),
            }
        )

    def _requests_of(self, rows: NDArray[np.int64], *columns: str) -> pa.Table:
        """Those columns of the requests that the frames of these rows answer, and their numbers."""
        return self.asked.select(["number", *columns]).take(pa.array(np.ascontiguousarray(self.frames["row"])[rows]))

    def partitions(self) -> Iterator[NamedPartitions]:
        """Rows for `partitions`, by message."""
        row = np.maximum(self.frames["row"], 0)  # an orphan is not decoded, and names nothing
        numbers, asked_ns = (self.asked[name].to_numpy() for name in ("number", "ts_ns"))
        from_replica = self.asked["replica_id"].fill_null(-1).to_numpy() >= 0
        for message, part in self.decoded.partitions:
            rows = row[part.row]
            asked = Asked(numbers[rows], asked_ns[rows], from_replica[rows])
            yield NamedPartitions(message, _partition_table(message, part, self.frames, asked))

    def errors(self, capture_id: int) -> pa.Table:
        """Rows for `errors`, with what the request says of group and transactional id where the response does not."""
        table = self.decoded.error_table()
        rows = table["row"].to_numpy()
        asked = self._requests_of(rows, *_ASKED_OF_ERRORS)
        group = pc.coalesce(table["group_id"], asked["group_id"], _key_of(asked, "group"))
        transactional = pc.coalesce(table["transactional_id"], asked["transactional_id"], _key_of(asked, "transaction"))
        table = table.set_column(table.column_names.index("group_id"), "group_id", group)
        table = table.set_column(table.column_names.index("transactional_id"), "transactional_id", transactional)
        table = with_frames(table, self.frames, rows, asked["number"].to_numpy(), None)
        table = table.append_column("packet_no", _array(self.frames["packet_no"][rows]))
        table = table.append_column("capture_id", pa.array(np.full(len(rows), capture_id, np.int32)))
        table = table.append_column("sent_ns", asked["ts_ns"])
        return table.append_column("client_id", asked["client_id"]).append_column("api_version", asked["api_version"])

    def topology(self) -> pa.Table:
        """Rows for `topology`, with the coordinator key and type that FindCoordinator asked for."""
        table = self.decoded.topology_table()
        rows = table["row"].to_numpy()
        asked = self._requests_of(rows, "coordinator_key", "coordinator_type")
        is_coordinator = pc.equal(table["kind"], "coordinator")
        key = pc.if_else(is_coordinator, pc.coalesce(table["coordinator_key"], asked["coordinator_key"]), None)
        kind = pc.if_else(is_coordinator, pc.coalesce(asked["coordinator_type"], pa.scalar("group")), None)
        table = table.set_column(table.column_names.index("coordinator_key"), "coordinator_key", key)
        table = table.set_column(table.column_names.index("coordinator_type"), "coordinator_type", kind)
        return with_frames(table, self.frames, rows, asked["number"].to_numpy(), None)

    def failed(self, streams: Streams) -> FailedFrames:
        """Whole frames that did not decode (orphans, and bodies that are not what their API says), and zeros behind
        those that did.
        """
        for frame in np.flatnonzero(self.frames["row"] < 0).tolist():
            if self.frames["wholeness"][frame] == WHOLE:
                self.decoded.reasons[frame] = ("orphan_response", "its request is not in the capture")
        return _failed(self.frames, self.decoded, streams, shown=False)


def read_requests(
    data: NDArray[np.uint8], frames: NDArray[np.void], capture_id: int, sink: MessageSink, *, batch_bytes: int
) -> RequestBlock:
    """Decodes a block's request frames."""
    decoded = decode_frames(
        data,
        frames,
        "request",
        (REQUEST_INTS, REQUEST_TEXTS),
        lambda name, columns, rows: sink(name, columns, frames[rows]),
        batch_bytes=batch_bytes,
    )
    silent = (frames["api_key"] == _PRODUCE) & (decoded.facts.ints["acks"].values(-1) == _NO_ACKS)
    silent |= acks_of_cut(data, frames) == _NO_ACKS
    client_ids = gather_strings(data, frames["start"] + CLIENT_ID_AT, frames["client_id_length"].astype(np.int32))
    return RequestBlock(frames, decoded, silent, client_ids, capture_id)


def read_responses(
    data: NDArray[np.uint8], frames: NDArray[np.void], asked: pa.Table, sink: MessageSink, *, batch_bytes: int
) -> ResponseBlock:
    """Decodes a block's response frames. asked: the open requests that their `row` points into."""
    decoded = decode_frames(
        data,
        frames,
        "response",
        (RESPONSE_INTS, RESPONSE_TEXTS),
        lambda name, columns, rows: sink(name, columns, frames[rows]),
        batch_bytes=batch_bytes,
    )
    facts = decoded.facts.arrow()
    worst, n_errors = worst_errors(decoded.error_table(), len(frames))
    known = pa.array(decoded.decoded)
    columns = {
        "response_ns": _array(frames["ts_ns"]),
        "response_last_ns": _array(frames["last_ns"]),
        "response_packet_no": _array(frames["packet_no"]),
        "response_bytes": _array(frames["size"]),
        "error_code": pc.if_else(known, worst.fill_null(0), None),
        "n_errors": pc.if_else(known, n_errors, None),
        "throttle_ms": facts["throttle_ms"],
        "answer_member_id": facts["member_id"],
        "answer_producer_id": facts["producer_id"],
        "answer_producer_epoch": facts["producer_epoch"],
        "answer_decoded": known,
    }
    columns |= _totals(decoded, len(frames), "answer_")
    answers = pa.table([columns[f.name] for f in ANSWER_SCHEMA], ANSWER_SCHEMA)
    return ResponseBlock(frames, decoded, answers, asked)


def _array(values: NDArray[np.generic]) -> pa.Array:
    """A field of a structured array as an Arrow array."""
    return pa.array(np.ascontiguousarray(values))


def _key_of(asked: pa.Table, kind: str) -> pa.ChunkedArray:
    """The key that FindCoordinator asked for, where it asked for that kind of coordinator."""
    return pc.if_else(pc.equal(asked["coordinator_type"], kind), asked["coordinator_key"], None)


def _totals(decoded: Decoded, n: int, prefix: str) -> dict[str, pa.Array]:
    """Partitions, records and record bytes per frame; null where a frame has no record sets."""
    n_partitions, n_records, n_bytes = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    with_records = np.zeros(n, np.bool_)
    for _, part in decoded.partitions:
        n_partitions += np.bincount(part.row, minlength=n)
        for name, sums in (("n_records", n_records), ("record_bytes", n_bytes)):
            values = part.numbers(name)
            if values is not None:
                np.add.at(sums, part.row, values)
                with_records[part.row] = True
    return {
        f"{prefix}n_partitions": pa.array(n_partitions.astype(np.int32)),
        f"{prefix}n_records": pa.array(n_records, mask=~with_records),
        f"{prefix}record_bytes": pa.array(n_bytes, mask=~with_records),
    }


def _partition_table(message: MessageType, part: PartitionRows, frames: NDArray[np.void], asked: Asked) -> pa.Table:
    """Partition rows with connection and time of their frames; columns that this place lacks are null."""
    n = len(part.row)
    heads = {
        "conn": pa.array((frames["direction"] >> 1)[part.row]),
        "ts_ns": pa.array(np.ascontiguousarray(frames["ts_ns"])[part.row]),
        **{name: pa.array(values) for name, values in asked._asdict().items()},
    }
    schema = part_schema(message)
    columns = [part.columns[f.name] if f.name in part.columns else pa.nulls(n, f.type) for f in schema]
    types = [(name, values.type) for name, values in heads.items()]
    return pa.table([*heads.values(), *columns], pa.schema([*types, *schema]))


def with_frames(
    table: pa.Table,
    frames: NDArray[np.void],
    rows: NDArray[np.int64],
    numbers: NDArray[np.int64],
    direction: str | None,
) -> pa.Table:
    """Rows with the connection, request number, time and API of their frames instead of `row`."""
    table = table.drop_columns(["row"]).append_column("number", pa.array(np.ascontiguousarray(numbers)))
    for name, values in (
        ("conn", frames["direction"] >> 1),
        ("ts_ns", frames["ts_ns"]),
        ("api_key", frames["api_key"]),
    ):
        table = table.append_column(name, pa.array(np.ascontiguousarray(values)[rows]))
    if direction is not None:
        table = table.append_column("direction", pa.array([direction]).take(pa.array(np.zeros(len(rows), np.int64))))
    return table


def _failed(frames: NDArray[np.void], decoded: Decoded, streams: Streams, *, shown: bool) -> FailedFrames:
    index = np.array(sorted(decoded.reasons), np.int64)
    chosen = frames[index].copy()
    zeros = decoded.zeros_after[index]
    chosen["start"] = np.where(zeros > 0, chosen["end"] - zeros, chosen["start"])
    run = np.searchsorted(streams.start, chosen["start"], side="right") - 1
    offsets = streams.stream_offset[run] + chosen["start"] - streams.start[run] if len(index) else np.zeros(0, np.int64)
    reasons = [decoded.reasons[i][0] for i in index.tolist()]
    details: list[str | None] = [decoded.reasons[i][1] for i in index.tolist()]
    return FailedFrames(chosen, offsets, reasons, details, shown)
