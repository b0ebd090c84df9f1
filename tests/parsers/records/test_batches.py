"""Batch headers and checksums: against Kafka's own classes, the slow twin, zlib, and headers that cannot be."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.records import CODECS, CONTROL_TYPES, read_batches
from kafkascope_parsers.records.checksums import CASTAGNOLI_TABLES, ISO_3309_TABLES, crc32c, crc_by_tables


def rows_of(*sets: bytes) -> list[dict[str, int]]:
    """The batches of several sets, with bytes of other sets around each; positions count from the set's first byte."""
    buf = np.frombuffer(bytearray(b"\x02" + b"\x02".join(sets) + b"\x02"), np.uint8)
    lengths = np.array([len(s) for s in sets], np.int32)
    offsets = np.cumsum(lengths + 1) - lengths
    rows = read_batches(buf, offsets, lengths)
    out = [dict(zip(rows.dtype.names, row.tolist(), strict=True)) for row in rows]
    return [{**row, "position": row["position"] - int(offsets[row["record_set"]])} for row in out]


def in_kafkas_words(row: dict[str, int]) -> dict[str, object]:
    attributes = row["attributes"]
    return {
        "position": row["position"],
        "size_bytes": row["size"],
        "magic": row["magic"],
        "codec": CODECS[attributes & 7],
        "last_offset": row["last_offset"],
        "crc": row["crc"],
        "crc_valid": bool(row["crc_valid"]),
        "max_timestamp": row["max_timestamp"],
        "producer_id": row["producer_id"],
        "producer_epoch": row["producer_epoch"],
        "base_sequence": row["base_sequence"],
        "partition_leader_epoch": row["leader_epoch"],
        "is_transactional": bool(attributes & 16),
        "is_control": bool(attributes & 32),
    }


def test_headers_are_those_kafka_reads(vectors):
    rows = rows_of(*(bytes.fromhex(v["records_hex"]) for v in vectors))
    batches = [b for v in vectors for b in v["batches"]]
    assert len(rows) == len(batches) > 150
    for row, b in zip(rows, batches, strict=True):
        got = in_kafkas_words(row)
        assert got == {name: b[name] for name in got}
        control = b["control_type"]
        assert row["control_type"] == (-1 if not b["is_control"] else -2 if not control else index_of(control))
        if b["magic"] == 2:
            assert (row["base_offset"], row["n_records"]) == (b["base_offset"], b["n_records"])
            assert row["base_timestamp"] == b["base_timestamp"]
        elif not b["compressed"]:
            assert (row["base_offset"], row["n_records"]) == (b["base_offset"], 1)
            assert row["base_timestamp"] == b["first_timestamp"]
        else:
            assert row["n_records"] == -1
    assert {b["crc_valid"] for b in batches} == {True, False}
    assert {"COMMIT", "ABORT", "LEADER_CHANGE"} <= {b["control_type"] for b in batches}


def index_of(control: str) -> int:
    return CONTROL_TYPES.index(control.lower())


@given(st.lists(st.binary(max_size=120), max_size=4), st.data())
def test_the_twin_finds_the_same_batches(vectors, slow_headers, tails, data):
    sets = []
    for tail in tails:
        raw = bytearray(bytes.fromhex(data.draw(st.sampled_from(vectors))["records_hex"]) + tail)
        if raw and data.draw(st.booleans()):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        sets.append(bytes(raw))
    want = [(i, *header) for i, raw in enumerate(sets) for header in slow_headers.list_batches(raw)]
    names = ("record_set", *slow_headers.Header._fields)
    got = [tuple(row[name] for name in names) for row in rows_of(*sets)] if sets else []
    assert got == want


@given(st.binary(max_size=70), st.integers(0, 9), st.integers(0, 9))
def test_crc_32_is_zlibs(raw, before, after):
    buf = np.frombuffer(bytearray(b"\xaa" * before + raw + b"\xbb" * after), np.uint8)
    assert crc_by_tables(buf, before, before + len(raw), ISO_3309_TABLES) == zlib.crc32(raw)


# RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
RFC_3720 = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (b"123456789", 0xE3069283),
    (b"", 0),
]


@pytest.mark.parametrize("crc", [crc32c, crc_by_tables], ids=["fastest", "tables"])
@pytest.mark.parametrize(("raw", "want"), RFC_3720, ids=["zeros", "ones", "up", "down", "digits", "empty"])
def test_crc_32c_is_that_of_the_rfc(crc, raw, want):
    buf = np.frombuffer(bytearray(b"\x01\x02\x03" + raw + b"\x04"), np.uint8)
    assert crc(buf, 3, 3 + len(raw), CASTAGNOLI_TABLES) == want


@given(st.binary(max_size=70), st.integers(0, 9))
def test_both_ways_to_crc_32c_agree(raw, before):
    buf = np.frombuffer(bytearray(b"\xaa" * before + raw + b"\xbb"), np.uint8)
    end = before + len(raw)
    assert crc32c(buf, before, end, CASTAGNOLI_TABLES) == crc_by_tables(buf, before, end, CASTAGNOLI_TABLES)


def control_batch(key: bytes, records: bytes | None = None) -> bytes:
    record = b"\0\0\0" + bytes([len(key) * 2]) + key + b"\x01\0"
    records = bytes([len(record) * 2]) + record if records is None else records
    body = struct.pack(">ibIhiqqqhii", -1, 2, 0, 0x30, 0, 0, 0, -1, -1, -1, 1) + records
    return struct.pack(">qi", 0, len(body)) + body


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (control_batch(b"\0\0\0\0"), 0),
        (control_batch(b"\0\0\0\1"), 1),
        (control_batch(b"\0\0\0\x06"), 6),
        (control_batch(b"\0\0\0\x07"), -2),
        (control_batch(b"\0\0\xff\xff"), -2),
        (control_batch(b"", b"\x0e\0\0\0\0\x01\0"), -2),
        (control_batch(b"", b"\xff" * 12), -2),
        (control_batch(b"", b"\x80" * 7), -2),
    ],
    ids=["abort", "commit", "voters", "newer", "negative", "no key", "long varints", "cut varint"],
)
def test_control_types(raw, want):
    (row,) = rows_of(raw)
    assert row["control_type"] == want


def test_none_of_a_null_or_an_empty_set():
    assert len(read_batches(np.zeros(8, np.uint8), np.array([-1, 0, 3]), np.array([-1, 0, 5], np.int32))) == 0
