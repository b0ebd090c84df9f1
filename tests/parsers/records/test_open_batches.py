"""Records: as Kafka's own classes read them, in every codec; bombs, cut and wrong data end as errors of their batch."""

import gzip
import struct
import zlib
from base64 import b64encode
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.records import RecordsError, open_record_set
from kafkascope_parsers.records.codecs import inflate

TEXT = b"a record, and again a record, and again a record " * 40


def record_json(record: Any) -> dict[str, Any]:
    def base64(data: bytes | None) -> str | None:
        return None if data is None else b64encode(data).decode()

    out = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": record.sequence,
        "key_length": -1 if record.key is None else len(record.key),
        "key": base64(record.key),
        "value_length": -1 if record.value is None else len(record.value),
        "value": base64(record.value),
        "headers": [{"key": key, "value": base64(value)} for key, value in record.headers],
    }
    if record.control_type:
        out["control_type"] = record.control_type.upper()
    if record.coordinator_epoch is not None:
        out["coordinator_epoch"] = record.coordinator_epoch
    return out


def test_records_are_those_kafka_reads(vectors):
    codecs = set()
    for v in vectors:
        opened = open_record_set(bytes.fromhex(v["records_hex"]))
        assert len(opened) == len(v["batches"])
        for batch, want in zip(opened, v["batches"], strict=True):
            assert batch.error is None
            assert (batch.base_offset, batch.last_offset) == (want["base_offset"], want["last_offset"])
            assert (batch.n_records, batch.last_sequence) == (want["n_records"], want["last_sequence"])
            assert batch.control_type == (want["control_type"] and want["control_type"].lower())
            known = [{k: r[k] for k in r if k != "control_value"} for r in want["records"]]
            assert list(map(record_json, batch.records)) == known, v["name"]
            codecs.add((batch.magic, batch.codec))
    assert codecs >= {(magic, codec) for magic in (0, 1, 2) for codec in ("none", "gzip", "snappy", "lz4")}
    assert (2, "zstd") in codecs


def xerial(data: bytes) -> bytes:
    blocks = [pa.Codec("snappy").compress(data[i : i + 100], asbytes=True) for i in range(0, len(data), 100)]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def lz4_frame(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


def bomb(codec: str, size: int) -> bytes:
    zeros = bytes(size)
    return {
        "gzip": lambda: gzip.compress(zeros),
        "snappy": lambda: pa.Codec("snappy").compress(zeros, asbytes=True),
        "lz4": lambda: lz4_frame(zeros),
        "zstd": lambda: zstandard.compress(zeros),
    }[codec]()


GOOD = {
    "gzip": gzip.compress(TEXT),
    "gzip of two members": gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]),
    "snappy, xerial": xerial(TEXT),
    "snappy, raw": pa.Codec("snappy").compress(TEXT, asbytes=True),
    "lz4": lz4_frame(TEXT),
    "zstd": zstandard.compress(TEXT),
    "zstd of two frames": zstandard.compress(TEXT[:99]) + zstandard.compress(TEXT[99:]),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_way_to_compress(name):
    codec = name.split()[0].strip(",")
    assert inflate(codec, 2, GOOD[name]) == TEXT
    assert inflate(codec, 2, GOOD[name], len(TEXT)) == TEXT
    with pytest.raises(RecordsError) as caught:
        inflate(codec, 2, GOOD[name], len(TEXT) - 1)
    assert caught.value.kind == "inflate_limit"


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_bomb_stops_at_the_limit(codec):
    with pytest.raises(RecordsError, match=r"inflate_limit|malformed"):
        inflate(codec, 2, bomb(codec, 1 << 24), 1 << 16)


@pytest.mark.parametrize("size", [2**31, 2**32 - 1, 2**35])
def test_a_snappy_block_is_not_believed_its_size(size):
    varint = bytes([size >> 7 * i & 0x7F | 0x80 for i in range(5)]) + bytes([size >> 35])
    with pytest.raises(RecordsError):
        inflate("snappy", 2, varint + bytes(20))


def test_magic_0_has_a_wrong_lz4_checksum_and_nothing_else_may():
    good = lz4_frame(TEXT)
    at = 6 + (8 if good[4] & 8 else 0)
    wrong = good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :]
    assert inflate("lz4", 0, wrong) == TEXT
    assert inflate("lz4", 0, good) == TEXT
    with pytest.raises(RecordsError) as caught:
        inflate("lz4", 1, wrong)
    assert caught.value.kind == "malformed_compression"


def outcome(codec: str, magic: int, data: bytes, limit: int) -> tuple[str, bytes]:
    try:
        return "ok", inflate(codec, magic, data, limit)
    except RecordsError as error:
        return error.kind, b""


@pytest.mark.parametrize("name", GOOD)
def test_what_is_cut_is_an_error_or_less(name):
    codec, data = name.split()[0].strip(","), GOOD[name]
    for n in range(0, len(data), 3):
        kind, out = outcome(codec, 2, data[:n], len(TEXT))
        assert kind in ("ok", "malformed_compression", "inflate_limit")
        assert TEXT.startswith(out)


@given(st.sampled_from(["gzip", "snappy", "lz4", "zstd"]), st.integers(0, 2), st.binary(max_size=200))
def test_random_bytes_are_an_error_or_bytes(codec, magic, data):
    for raw in (data, b"\x82SNAPPY\0" + data, b"\x04\x22\x4d\x18" + data, b"\x1f\x8b\x08" + data):
        kind, out = outcome(codec, magic, raw, 10_000)
        assert kind in ("ok", "malformed_compression", "inflate_limit")
        assert len(out) <= 10_000


def batch(records: bytes, n_records: int, codec: int = 0) -> bytes:
    body = struct.pack(">ibIhiqqqhii", -1, 2, 0, codec, 0, 0, 0, -1, -1, -1, n_records) + records
    return struct.pack(">qi", 0, len(body)) + body


RECORD = bytes([2 * 9]) + b"\0\0\0\x02k\x04vv\0"


@pytest.mark.parametrize(
    ("records", "n_records"),
    [
        (RECORD, 2),
        (RECORD, 2**31 - 1),
        (b"\x00", 1),
        (b"\x01" + RECORD, 1),
        (b"\xff" * 11, 1),
        (bytes([2 * 6]) + b"\0\0\0\x05\x01\0", 1),
        (bytes([2 * 6]) + b"\0\0\0\x01\x7f\0", 1),
        (bytes([2 * 6]) + b"\0\0\0\x01\x01\x03", 1),
        (bytes([2 * 11]) + b"\0\0\0\x01\x01" + b"\xfe\xff\xff\xff\x0f\0", 1),
    ],
    ids=[
        "count",
        "huge count",
        "empty",
        "negative length",
        "varint",
        "key length",
        "value length",
        "header count",
        "huge header count",
    ],
)
def test_a_batch_that_cannot_be_read_is_an_error_and_the_next_is_read(records, n_records):
    first, second = open_record_set(batch(records, n_records) + batch(RECORD, 1))
    assert first.error is not None
    assert first.error.kind == "malformed_record"
    assert first.records == ()
    assert second.error is None
    assert [(r.key, r.value) for r in second.records] == [(b"k", b"vv")]


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_kafka_does_not_have(codec):
    (one,) = open_record_set(batch(RECORD, 1, codec))
    assert one.error is not None
    assert one.error.kind == "unknown_codec"


def message(value: bytes, attributes: int, magic: int = 1) -> bytes:
    body = bytes([magic, attributes]) + bytes(8 * magic) + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", 9, len(body) + 4, zlib.crc32(body)) + body


def test_compressed_messages_do_not_nest():
    inner = message(gzip.compress(message(b"x", 0)), 1)
    (one,) = open_record_set(message(gzip.compress(inner), 1))
    assert one.crc_valid
    assert one.error is not None
    assert one.error.kind == "malformed_record"
    (one,) = open_record_set(message(gzip.compress(message(b"x", 0, 0)), 1, 1))
    assert one.error is not None
    (one,) = open_record_set(message(zstandard.compress(message(b"x", 0)), 4))
    assert one.error is not None
    assert one.error.kind == "unknown_codec"
