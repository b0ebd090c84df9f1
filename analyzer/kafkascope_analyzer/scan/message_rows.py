"""Rows of the tables from the decoded messages of one block: columns of exchanges, and rows of partitions, errors and
topology.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.errors import NO_ERRORS, error_rows, worst_errors
from kafkascope_analyzer.scan.exchanges import OF_REQUESTS, OF_RESPONSES
from kafkascope_analyzer.scan.partitions import PartitionRows, part_schema, partition_rows
from kafkascope_analyzer.scan.request_facts import (
    REQUEST_INTS,
    REQUEST_TEXTS,
    RESPONSE_INTS,
    RESPONSE_TEXTS,
    Fact,
    FactColumns,
)
from kafkascope_analyzer.scan.topology import NO_TOPOLOGY, topology_rows
from kafkascope_analyzer.scan.value_ranges import OutOfRange
from kafkascope_parsers.exchanges import Messages, Requests, Responses
from kafkascope_parsers.schema import MessageType, api_name

_REQUESTED = (
    "ts_ns",
    "group_id",
    "transactional_id",
    "coordinator_key",
    "coordinator_type",
    "client_id",
    "api_version",
)


class RequestOf(NamedTuple):
    """The request of each row: its number, its time, and whether it is a broker's Fetch."""

    number: NDArray[np.int64]
    asked_ns: NDArray[np.int64]
    from_replica: NDArray[np.bool_]


class NamedPartitions(NamedTuple):
    """Rows for `partitions` of one message: conn, ts_ns, last_ns (last byte of the message), the columns of RequestOf
    and of the message's part_schema."""

    message: MessageType
    rows: pa.Table


class _Gathered:
    """Contents of the messages of n frames of one direction, collected batch by batch."""

    def __init__(self, n: int, ints: tuple[Fact, ...], texts: tuple[Fact, ...]) -> None:
        self.n = n
        self.facts = FactColumns(n, ints, texts)
        self.partitions: list[tuple[MessageType, PartitionRows]] = []
        self.out_of_range = OutOfRange()
        self._topology = [NO_TOPOLOGY]

    def take(self, messages: Messages) -> None:
        """Takes one batch."""
        message, columns, frames = messages.message, messages.columns, messages.rows
        self.facts.put(message, columns, frames)
        self.partitions += [(message, rows) for rows in partition_rows(columns, frames, self.out_of_range)]
        if message.api_key is not None and message.direction is not None:
            self._topology.append(topology_rows(columns, frames, api_name(message.api_key), message.direction))

    def topology(self) -> pa.Table:
        """Returns all topology rows; `row` is the frame."""
        return pa.concat_tables(self._topology).combine_chunks()

    def totals(self, prefix: str) -> dict[str, pa.Array]:
        """Returns partitions, records and record bytes per frame; null where a frame has no record sets."""
        n = self.n
        n_partitions, n_records, n_bytes = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
        with_records = np.zeros(n, np.bool_)
        for _, part in self.partitions:
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


class RequestRows:
    """The requests of one block: call `take` for every batch of their messages, then the methods that return rows."""

    def __init__(self, requests: Requests, capture_id: int) -> None:
        self._frames, self._capture_id = requests.frames, capture_id
        self._gathered = _Gathered(len(requests.frames), REQUEST_INTS, REQUEST_TEXTS)

    @property
    def found(self) -> OutOfRange:
        """Values of their messages that are out of range."""
        return self._gathered.out_of_range

    def take(self, messages: Messages) -> None:
        """Takes one batch."""
        self._gathered.take(messages)

    def columns(self) -> pa.Table:
        """Returns the columns for exchanges (OF_REQUESTS)."""
        columns = self._gathered.facts.arrow() | self._gathered.totals("")
        columns["capture_id"] = pa.array(np.full(len(self._frames), self._capture_id, np.int32))
        return pa.table([columns[f.name] for f in OF_REQUESTS], OF_REQUESTS)

    def partitions(self) -> Iterator[NamedPartitions]:
        """Yields rows for `partitions`, by message."""
        numbers, asked_ns = (np.ascontiguousarray(self._frames[name]) for name in ("number", "ts_ns"))
        from_replica = self._gathered.facts.ints["replica_id"].values(-1) >= 0
        for message, part in self._gathered.partitions:
            request = RequestOf(numbers[part.row], asked_ns[part.row], from_replica[part.row])
            yield NamedPartitions(message, _partition_table(message, part, self._frames, request))

    def topology(self) -> pa.Table:
        """Returns rows for `topology`, from requests of the controller to brokers."""
        table = self._gathered.topology()
        rows = table["row"].to_numpy()
        return with_frames(table, self._frames, rows, self._frames["number"][rows], None)

    def out_of_range(self) -> pa.Table:
        """Returns rows for `out_of_range`."""
        table = self.found.table()
        rows = table["row"].to_numpy()
        table = with_frames(table, self._frames, rows, self._frames["number"][rows], "request")
        return _with_packets(table, self._frames, rows, self._capture_id)


class ResponseRows:
    """The responses of one block: call `take` for every batch of their messages, then the methods that return rows."""

    def __init__(self, responses: Responses, capture_id: int) -> None:
        self._frames, self._open, self._capture_id = responses.frames, responses.open_requests, capture_id
        self._gathered = _Gathered(len(responses.frames), RESPONSE_INTS, RESPONSE_TEXTS)
        self._decoded = np.zeros(len(responses.frames), np.bool_)
        self._errors = [NO_ERRORS]

    @property
    def found(self) -> OutOfRange:
        """Values of their messages that are out of range."""
        return self._gathered.out_of_range

    def take(self, messages: Messages) -> None:
        """Takes one batch."""
        self._gathered.take(messages)
        self._decoded[messages.rows] = True
        self._errors.append(error_rows(messages.columns, messages.rows))

    def columns(self) -> pa.Table:
        """Returns the columns for exchanges (OF_RESPONSES)."""
        facts = self._gathered.facts.arrow()
        worst, n_errors = worst_errors(self._error_table(), len(self._frames))
        known = pa.array(self._decoded)
        columns = self._gathered.totals("answer_") | {
            "error_code": pc.if_else(known, worst.fill_null(0), None),
            "n_errors": pc.if_else(known, n_errors, None),
            "throttle_ms": facts["throttle_ms"],
            "answer_member_id": facts["member_id"],
            "answer_producer_id": facts["producer_id"],
            "answer_producer_epoch": facts["producer_epoch"],
            "answer_fetch_session_id": facts["fetch_session_id"],
        }
        return pa.table([columns[f.name] for f in OF_RESPONSES], OF_RESPONSES)

    def partitions(self) -> Iterator[NamedPartitions]:
        """Yields rows for `partitions`, by message."""
        row = np.maximum(self._frames["row"], 0)  # an orphan response is not decoded, so it has no partitions
        numbers, asked_ns = (self._open[name].to_numpy() for name in ("number", "ts_ns"))
        from_replica = self._open["replica_id"].fill_null(-1).to_numpy() >= 0
        for message, part in self._gathered.partitions:
            rows = row[part.row]
            request = RequestOf(numbers[rows], asked_ns[rows], from_replica[rows])
            yield NamedPartitions(message, _partition_table(message, part, self._frames, request))

    def errors(self) -> pa.Table:
        """Returns rows for `errors`, with group and transactional id of the request where the response does not have
        them."""
        table = self._error_table()
        rows = table["row"].to_numpy()
        request = self._requests_of(rows, *_REQUESTED)
        group = pc.coalesce(table["group_id"], request["group_id"], _key_of(request, "group"))
        transactional = pc.coalesce(
            table["transactional_id"], request["transactional_id"], _key_of(request, "transaction")
        )
        table = table.set_column(table.column_names.index("group_id"), "group_id", group)
        table = table.set_column(table.column_names.index("transactional_id"), "transactional_id", transactional)
        table = with_frames(table, self._frames, rows, request["number"].to_numpy(), None)
        table = _with_packets(table, self._frames, rows, self._capture_id)
        table = table.append_column("sent_ns", request["ts_ns"])
        table = table.append_column("client_id", request["client_id"])
        return table.append_column("api_version", request["api_version"])

    def topology(self) -> pa.Table:
        """Returns rows for `topology`, with the key and type of the FindCoordinator request."""
        table = self._gathered.topology()
        rows = table["row"].to_numpy()
        request = self._requests_of(rows, "coordinator_key", "coordinator_type")
        is_coordinator = pc.equal(table["kind"], "coordinator")
        key = pc.if_else(is_coordinator, pc.coalesce(table["coordinator_key"], request["coordinator_key"]), None)
        kind = pc.if_else(is_coordinator, pc.coalesce(request["coordinator_type"], pa.scalar("group")), None)
        table = table.set_column(table.column_names.index("coordinator_key"), "coordinator_key", key)
        table = table.set_column(table.column_names.index("coordinator_type"), "coordinator_type", kind)
        return with_frames(table, self._frames, rows, request["number"].to_numpy(), None)

    def out_of_range(self) -> pa.Table:
        """Returns rows for `out_of_range`."""
        table = self.found.table()
        rows = table["row"].to_numpy()
        numbers = self._requests_of(rows)["number"].to_numpy()
        table = with_frames(table, self._frames, rows, numbers, "response")
        return _with_packets(table, self._frames, rows, self._capture_id)

    def _error_table(self) -> pa.Table:
        """Returns all error rows; `row` is the frame."""
        return pa.concat_tables(self._errors).combine_chunks()

    def _requests_of(self, rows: NDArray[np.int64], *columns: str) -> pa.Table:
        """Returns columns of the requests that the frames of these rows answer, and their numbers."""
        return self._open.select(["number", *columns]).take(pa.array(np.ascontiguousarray(self._frames["row"])[rows]))


def _key_of(requests: pa.Table, kind: str) -> pa.ChunkedArray:
    """Returns the key of FindCoordinator requests, where they are for that kind of coordinator."""
    return pc.if_else(pc.equal(requests["coordinator_type"], kind), requests["coordinator_key"], None)


def _partition_table(
    message: MessageType, part: PartitionRows, frames: NDArray[np.void], request: RequestOf
) -> pa.Table:
    """Returns partition rows with connection and time of their frames; columns that this field lacks are null."""
    n = len(part.row)
    heads = {
        "conn": pa.array(frames["direction"][part.row] >> 1),
        "ts_ns": pa.array(frames["ts_ns"][part.row]),
        "last_ns": pa.array(frames["last_ns"][part.row]),
        **{name: pa.array(values) for name, values in request._asdict().items()},
    }
    schema = part_schema(message)
    columns = [part.columns[f.name] if f.name in part.columns else pa.nulls(n, f.type) for f in schema]
    types = [(name, values.type) for name, values in heads.items()]
    return pa.table([*heads.values(), *columns], pa.schema([*types, *schema]))


def _with_packets(table: pa.Table, frames: NDArray[np.void], rows: NDArray[np.int64], capture_id: int) -> pa.Table:
    """Returns the rows with packet and file of their frames."""
    table = table.append_column("packet_no", pa.array(np.ascontiguousarray(frames["packet_no"][rows])))
    return table.append_column("capture_id", pa.array(np.full(len(rows), capture_id, np.int32)))


def with_frames(
    table: pa.Table,
    frames: NDArray[np.void],
    rows: NDArray[np.int64],
    numbers: NDArray[np.int64],
    direction: str | None,
) -> pa.Table:
    """Returns rows with the connection, request number, time and API of their frames instead of `row`."""
    table = table.drop_columns(["row"]).append_column("number", pa.array(np.ascontiguousarray(numbers)))
    for name, values in (
        ("conn", frames["direction"][rows] >> 1),
        ("ts_ns", frames["ts_ns"][rows]),
        ("api_key", frames["api_key"][rows]),
    ):
        table = table.append_column(name, pa.array(values))
    if direction is not None:
        table = table.append_column("direction", pa.array([direction]).take(pa.array(np.zeros(len(rows), np.int64))))
    return table
