"""The records in batches, in plain Python, as Kafka's own classes read them: for sets that somebody asked to see.

`batches` reads the headers. Formats: Kafka's DefaultRecord, LegacyRecord, AbstractLegacyRecordBatch,
ControlRecordType, EndTransactionMarker. Timestamps in milliseconds since the epoch, -1 for none; lengths -1 for null.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.records.batches import read_batches
from kafkascope_parsers.records.codecs import INFLATE_LIMIT, RecordsError, Unreadable, inflate
from kafkascope_parsers.records.layout import (
    CODEC_BITS,
    CODECS,
    CONTROL_BIT,
    CONTROL_TYPES,
    DELETE_HORIZON_BIT,
    LEAST_RECORD,
    LOG_APPEND_BIT,
    TIMESTAMP_TYPES,
    TRANSACTIONAL_BIT,
)

_MAX_SEQUENCE = 2**31 - 1
_LEAST_HEADER = 2
_MARKERS = ("abort", "commit")
RECORDS_LIMIT = 500_000
"""Records of one batch, and headers: they take some 250 bytes each here, and a batch that inflates to its limit could
hold 5 M records, or 16 M headers."""


SET_LIMIT = 3 * INFLATE_LIMIT
"""Bytes that the compressed batches of a set may inflate to, where all of them are held at once."""


@dataclass(frozen=True, slots=True)
class OpenLimits:
    """What may be opened at a time. inflated_bytes: of a batch; records: of a batch, and as many headers."""

    inflated_bytes: int = INFLATE_LIMIT
    records: int = RECORDS_LIMIT

    def check(self, n: int, what: str) -> None:
        """Raises RecordsError for more records, messages or headers."""
        if n > self.records:
            raise RecordsError("inflate_limit", f"more than {self.records} {what}")


@dataclass(frozen=True, slots=True)
class Record:
    """One record. control_type and coordinator_epoch only in control batches."""

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    control_type: str | None = None
    coordinator_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """One batch. position: of its first byte; size: with the 12 bytes of offset and length.

    base_timestamp: the header's field (magic 2; with delete_horizon set, that); n_records: as the header says, or as
    counted below magic 2 (None in a compressed message that was not opened); error: why the records cannot be read.
    """

    position: int
    size: int
    magic: int
    codec: str
    base_offset: int
    last_offset: int
    crc: int
    crc_valid: bool
    timestamp_type: str | None
    max_timestamp: int
    base_timestamp: int | None = None
    n_records: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    is_transactional: bool = False
    is_control: bool = False
    has_delete_horizon: bool = False
    records: tuple[Record, ...] = field(default=(), repr=False)
    error: Unreadable | None = None

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 for none."""
        return _sequence(self.base_sequence, self.last_offset - self.base_offset)

    @property
    def control_type(self) -> str | None:
        """What a control batch says; None for data, and where its record cannot be read."""
        return self.records[0].control_type if self.is_control and self.records else None


def open_record_set(raw: bytes, in_all: int = SET_LIMIT) -> list[RecordBatch]:
    """The whole batches of a record set with their records. A batch that cannot be read has an error and no records,
    and the next is read all the same; so has one with which the compressed batches would hold more than in_all bytes,
    or more than RECORDS_LIMIT records.
    """
    buf = np.frombuffer(raw, np.uint8)
    batches, left_bytes, left_records = [], in_all, RECORDS_LIMIT
    for row in _headers(buf):
        is_packed = bool(int(row["attributes"]) & CODEC_BITS)
        packed = OpenLimits(max(min(INFLATE_LIMIT, left_bytes), 0), left_records)
        batches.append(open_batch(row, buf, packed if is_packed else OpenLimits()))
        if is_packed:
            left_bytes -= sum(map(_held_bytes, batches[-1].records))
            left_records -= sum(1 + len(record.headers) for record in batches[-1].records)
    return batches


def _held_bytes(record: Record) -> int:
    of_headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + of_headers


def open_batch(row: np.void, buf: NDArray[np.uint8], limits: OpenLimits = OpenLimits()) -> RecordBatch:
    """The batch of a row of BATCH, which points into buf, with its records, or with why they cannot be read."""
    batch = _batch(row)
    one = buf[batch.position : batch.position + batch.size].tobytes()
    try:
        if batch.magic == 2:
            batch = replace(batch, n_records=int.from_bytes(one[57:61], "big", signed=True))
            body = one[61:] if batch.codec == "none" else inflate(batch.codec, 2, one[61:], limits.inflated_bytes)
            return replace(batch, records=tuple(_records_v2(batch, body, limits)))
        records = tuple(_messages(batch, one, limits))
    except RecordsError as error:
        return replace(batch, error=error.why)
    first = records[0].offset if records else batch.base_offset
    return replace(batch, records=records, n_records=len(records), base_offset=first)


def _headers(buf: NDArray[np.uint8]) -> NDArray[np.void]:
    return read_batches(buf, np.zeros(1, np.int64), np.array([len(buf)], np.int32))


def _batch(row: np.void) -> RecordBatch:
    """A row of BATCH without its records."""
    magic, attributes = int(row["magic"]), int(row["attributes"])
    number = attributes & CODEC_BITS
    return RecordBatch(
        position=int(row["position"]),
        size=int(row["size"]),
        magic=magic,
        codec=CODECS[number] if number < len(CODECS) else f"codec {number}",
        base_offset=int(row["base_offset"]),
        last_offset=int(row["last_offset"]),
        crc=int(row["crc"]),
        crc_valid=bool(row["crc_valid"]),
        timestamp_type=None if magic == 0 else TIMESTAMP_TYPES[bool(attributes & LOG_APPEND_BIT)],
        max_timestamp=int(row["max_timestamp"]),
        base_timestamp=int(row["base_timestamp"]) if magic == 2 else None,
        n_records=None if row["n_records"] < 0 else int(row["n_records"]),
        producer_id=int(row["producer_id"]),
        producer_epoch=int(row["producer_epoch"]),
        base_sequence=int(row["base_sequence"]),
        leader_epoch=int(row["leader_epoch"]),
        is_transactional=bool(attributes & TRANSACTIONAL_BIT),
        is_control=bool(attributes & CONTROL_BIT),
        has_delete_horizon=bool(attributes & DELETE_HORIZON_BIT),
    )


class _Cursor:
    """Reads the fields of records; RecordsError where they run out."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or n > len(self.data) - self.at:
            raise RecordsError("malformed_record", f"{n} bytes wanted at byte {self.at} of {len(self.data)}")
        self.at += n
        return self.data[self.at - n : self.at]

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big", signed=True)

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
        raise RecordsError("malformed_record", f"a varint of more than 10 bytes before byte {self.at}")

    def sized(self, n: int) -> bytes | None:
        """n bytes; None for a length of -1, as null is written."""
        return None if n == -1 else self.take(n)


def _records_v2(batch: RecordBatch, body: bytes, limits: OpenLimits) -> Iterator[Record]:
    count, cursor, n_headers_in_all = batch.n_records or 0, _Cursor(body), 0
    limits.check(min(count, len(body) // LEAST_RECORD), "records")
    for _ in range(count):  # every record takes bytes or fails
        record = _Cursor(cursor.take(cursor.varint()))
        record.take(1)
        timestamp_delta, offset_delta = record.varint(), record.varint()
        key = record.sized(record.varint())
        value = record.sized(record.varint())
        n_headers = record.varint()
        n_headers_in_all += max(n_headers, 0)
        limits.check(min(n_headers_in_all, len(body) // _LEAST_HEADER), "headers")
        headers = tuple(_header(record) for _ in range(n_headers))
        if n_headers < 0 or record.at != len(record.data):
            raise RecordsError("malformed_record", f"{len(record.data) - record.at} bytes left over in a record")
        log_append_time = batch.max_timestamp if batch.timestamp_type == "log_append" else None
        out = Record(
            offset=batch.base_offset + offset_delta,
            timestamp=(batch.base_timestamp or 0) + timestamp_delta if log_append_time is None else log_append_time,
            sequence=_sequence(batch.base_sequence, offset_delta),
            key=key,
            value=value,
            headers=headers,
        )
        yield _as_control(out) if batch.is_control else out


def _sequence(base: int, delta: int) -> int:
    """Sequences go on at 0 after 2147483647."""
    return -1 if base < 0 else (base + delta) % (_MAX_SEQUENCE + 1)


def _header(record: _Cursor) -> tuple[str, bytes | None]:
    return record.take(record.varint()).decode("utf-8", "replace"), record.sized(record.varint())


def _as_control(record: Record) -> Record:
    """A control record: its key is version int16 and type int16; an end-of-transaction marker's value is version int16
    and coordinator epoch int32."""
    key, value = record.key or b"", record.value or b""
    number = int.from_bytes(key[2:4], "big", signed=True) if len(key) >= 4 else -1
    kind = CONTROL_TYPES[number] if 0 <= number < len(CONTROL_TYPES) else "other"
    epoch = int.from_bytes(value[2:6], "big", signed=True) if kind in _MARKERS and len(value) >= 6 else None
    return replace(record, control_type=kind, coordinator_epoch=epoch)


def _message_parts(one: bytes) -> tuple[bytes | None, bytes | None]:
    cursor = _Cursor(one)
    cursor.take(26 if one[16] == 1 else 18)
    key = cursor.sized(cursor.integer(4))
    return key, cursor.sized(cursor.integer(4))


def _messages(wrapper: RecordBatch, one: bytes, limits: OpenLimits) -> Iterator[Record]:
    """The messages of a batch of magic 0 or 1: itself, or those in it. Offsets inside are absolute in magic 0, and
    count from the first in magic 1, whose wrapper has the offset of the last (AbstractLegacyRecordBatch)."""
    key, value = _message_parts(one)
    if wrapper.codec == "none":
        yield Record(wrapper.base_offset, wrapper.max_timestamp, -1, key, value)
        return
    if value is None:
        raise RecordsError("malformed_record", "a compressed message without a value")
    if wrapper.codec == "zstd":
        raise RecordsError("unknown_codec", "zstd below magic 2")
    inside = inflate(wrapper.codec, wrapper.magic, value, limits.inflated_bytes)
    rows = _headers(np.frombuffer(inside, np.uint8))
    limits.check(len(rows), "messages")
    found = [_batch(row) for row in rows]
    if not found or found[-1].position + found[-1].size != len(inside):
        raise RecordsError("malformed_record", "what a compressed message holds is not whole messages")
    shift = wrapper.last_offset - found[-1].base_offset if wrapper.magic == 1 else 0
    for inner in found:
        if inner.magic != wrapper.magic or inner.codec != "none":
            raise RecordsError("malformed_record", "a compressed message in another, or of another magic")
        key, value = _message_parts(inside[inner.position : inner.position + inner.size])
        timestamp = wrapper.max_timestamp if wrapper.timestamp_type == "log_append" else inner.max_timestamp
        yield Record(inner.base_offset + shift, timestamp, -1, key, value)
