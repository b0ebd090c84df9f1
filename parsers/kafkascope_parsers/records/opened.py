"""Record sets in plain Python: batches and, on request, the records in them, as Kafka's own classes read them.

For single sets that somebody asked to see; it shares nothing with the kernel of records.batches, which tests compare
with it. Formats: Kafka's DefaultRecordBatch, DefaultRecord, LegacyRecord, AbstractLegacyRecordBatch,
ControlRecordType, EndTransactionMarker. Timestamps in milliseconds since the epoch, -1 for none; lengths -1 for null.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from kafkascope_parsers.records.codecs import INFLATE_LIMIT, RecordsError, inflate
from kafkascope_parsers.records.layout import CODECS, CONTROL_TYPES, LEAST_RECORD

_HEADER_V2 = struct.Struct(">qiibIhiqqqhii")
_MAX_SEQUENCE = 2**31 - 1
_LEAST_MESSAGE = 26
_MARKERS = ("abort", "commit")
RECORDS_LIMIT = 500_000
"""Records of one batch: they take some 250 bytes each here, and a batch that inflates to its limit could hold 5 M."""


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
    """One batch. position and size count from the start of the set and include the 12 bytes of offset and length.

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
    error: RecordsError | None = None

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 for none."""
        return _sequence(self.base_sequence, self.last_offset - self.base_offset)

    @property
    def control_type(self) -> str | None:
        """What a control batch says; None for data, and where its record cannot be read."""
        return self.records[0].control_type if self.is_control and self.records else None


def open_record_set(raw: bytes, *, limit: int = INFLATE_LIMIT, prove: bool = True) -> list[RecordBatch]:
    """The whole batches of a record set with their records. A batch may inflate to limit bytes; one that cannot be
    read has an error and no records, and the next is read all the same. prove: as for list_batches."""
    batches = list_batches(raw, prove=prove)
    return [_opened(batch, raw[batch.position : batch.position + batch.size], limit) for batch in batches]


def list_batches(raw: bytes, *, prove: bool = True) -> list[RecordBatch]:
    """The whole batches of a record set by their headers. A last batch that is cut is none. prove: compute their
    checksums, which takes plain Python a second for 10 MB; without it crc_valid says nothing.
    """
    out, at = [], 0
    while len(raw) - at > 16:
        length, magic = int.from_bytes(raw[at + 8 : at + 12], "big", signed=True), raw[at + 16]
        if magic > 2 or length < (14, 22, 49)[magic] or length > len(raw) - at - 12:
            break
        one = raw[at : at + 12 + length]
        out.append(replace(_header_v2(one, prove) if magic == 2 else _header_message(one), position=at))
        at += 12 + length
    return out


def _header_v2(one: bytes, prove: bool) -> RecordBatch:
    base, _, epoch, _, crc, attributes, delta, first, latest, *producer, count = _HEADER_V2.unpack_from(one)
    return RecordBatch(
        position=0,
        size=len(one),
        magic=2,
        codec=_codec(attributes),
        base_offset=base,
        last_offset=base + delta,
        crc=crc,
        crc_valid=not prove or _crc32c(one[21:]) == crc,
        timestamp_type="log_append" if attributes & 8 else "create",
        max_timestamp=latest,
        base_timestamp=first,
        n_records=count,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        leader_epoch=epoch,
        is_transactional=bool(attributes & 16),
        is_control=bool(attributes & 32),
        has_delete_horizon=bool(attributes & 64),
    )


def _header_message(one: bytes) -> RecordBatch:
    offset, crc, magic, attributes = int.from_bytes(one[:8], "big", signed=True), one[12:16], one[16], one[17]
    return RecordBatch(
        position=0,
        size=len(one),
        magic=magic,
        codec=_codec(attributes),
        base_offset=offset,
        last_offset=offset,
        crc=int.from_bytes(crc, "big"),
        crc_valid=zlib.crc32(one[16:]) == int.from_bytes(crc, "big"),
        timestamp_type=None if magic == 0 else "log_append" if attributes & 8 else "create",
        max_timestamp=int.from_bytes(one[18:26], "big", signed=True) if magic else -1,
    )


def _codec(attributes: int) -> str:
    number = attributes & 7
    return CODECS[number] if number < len(CODECS) else f"codec {number}"


def _opened(batch: RecordBatch, one: bytes, limit: int) -> RecordBatch:
    try:
        if batch.magic == 2:
            body = one[61:] if batch.codec == "none" else inflate(batch.codec, 2, one[61:], limit)
            return replace(batch, records=tuple(_records_v2(batch, body)))
        records = tuple(_messages(batch, one, limit))
    except RecordsError as error:
        return replace(batch, error=error)
    first = records[0].offset if records else batch.base_offset
    return replace(batch, records=records, n_records=len(records), base_offset=first)


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


def _records_v2(batch: RecordBatch, body: bytes) -> Iterator[Record]:
    count, cursor = batch.n_records or 0, _Cursor(body)
    if count > RECORDS_LIMIT and len(body) >= RECORDS_LIMIT * LEAST_RECORD:
        raise RecordsError("inflate_limit", f"more than {RECORDS_LIMIT} records")
    for _ in range(count):  # every record takes bytes or fails
        record = _Cursor(cursor.take(cursor.varint()))
        record.take(1)
        timestamp_delta, offset_delta = record.varint(), record.varint()
        key = record.sized(record.varint())
        value = record.sized(record.varint())
        n_headers = record.varint()
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


def _messages(wrapper: RecordBatch, one: bytes, limit: int) -> Iterator[Record]:
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
    inside = inflate(wrapper.codec, wrapper.magic, value, limit)
    if len(inside) > RECORDS_LIMIT * _LEAST_MESSAGE:
        raise RecordsError("inflate_limit", f"more than {RECORDS_LIMIT} messages may be in it")
    found = list_batches(inside)
    if not found or found[-1].position + found[-1].size != len(inside):
        raise RecordsError("malformed_record", "what a compressed message holds is not whole messages")
    shift = wrapper.last_offset - found[-1].base_offset if wrapper.magic == 1 else 0
    for inner in found:
        if inner.magic != wrapper.magic or inner.codec != "none":
            raise RecordsError("malformed_record", "a compressed message in another, or of another magic")
        key, value = _message_parts(inside[inner.position : inner.position + inner.size])
        timestamp = wrapper.max_timestamp if wrapper.timestamp_type == "log_append" else inner.max_timestamp
        yield Record(inner.base_offset + shift, timestamp, -1, key, value)


@cache
def _castagnoli() -> tuple[int, ...]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return tuple(table)


def _crc32c(data: bytes) -> int:
    table, crc = _castagnoli(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
