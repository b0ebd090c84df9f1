"""What record sets hold by their batch headers: against Kafka's MemoryRecordsBuilder, and against headers that cannot
be."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.records import summarize_record_sets
from kafkascope_parsers.records.summary import UNKNOWN

COUNTS = ["n_batches", "n_records", "record_bytes"]


def summarized(*sets: bytes) -> np.ndarray:
    buf = np.frombuffer(bytearray(b"\x02".join(sets) + b"\x02"), np.uint8)
    lengths = np.array([len(s) for s in sets], np.int32)
    return summarize_record_sets(buf, np.cumsum(lengths + 1) - lengths - 1, lengths)


def summary(*sets: bytes) -> list[tuple[int, int, int]]:
    return [tuple(int(row[name]) for name in COUNTS) for row in summarized(*sets)]


def headers_of(batches: list[dict]) -> dict:
    """What the headers say, from the batches as Kafka's classes read them."""
    data = [b for b in batches if not b["is_control"]]
    first = data[0] if data else {}
    if first.get("timestamp_type") == "LogAppendTime":
        time = first["max_timestamp"]
    elif first.get("magic") == 2:
        time = UNKNOWN if first["delete_horizon_ms"] is not None else first["base_timestamp"]
    else:
        time = first.get("max_timestamp", UNKNOWN)
    return {
        "first_offset": _first_offset(first),
        "last_offset": batches[-1]["last_offset"] if batches else UNKNOWN,
        "first_timestamp_ms": UNKNOWN if time is None else time,
        "max_timestamp_ms": max((b["max_timestamp"] for b in data), default=UNKNOWN),
        "producer_id": first.get("producer_id", UNKNOWN),
    }


def _first_offset(first: dict) -> int:
    """Of a compressed message of magic 0 or 1 the header has the offset of its last record."""
    if first.get("compressed") and first["magic"] < 2:
        return first["last_offset"]
    return first.get("base_offset", UNKNOWN)


def batch_v2(
    n_records: int = 1, length: int | None = None, last_delta: int = 0, codec: int = 0, payload: int = 10
) -> bytes:
    body = struct.pack(">ibIhiqqqhii", -1, 2, 0, codec, last_delta, 0, 0, -1, -1, -1, n_records) + bytes(payload)
    return struct.pack(">qi", 0, len(body) if length is None else length) + body


GOOD = batch_v2()


def test_batches_and_records_are_those_kafka_reads(vectors):
    raws = [bytes.fromhex(v["records_hex"]) for v in vectors]
    # A compressed message of magic 0 or 1 counts as one: nothing is decompressed.
    want = [
        (len(v["batches"]), sum(b["n_records"] if b["magic"] == 2 else 1 for b in v["batches"]), v["valid_bytes"])
        for v in vectors
    ]
    assert summary(*raws) == want
    assert {b["magic"] for v in vectors for b in v["batches"]} == {0, 1, 2}
    assert any(v["truncated_tail_bytes"] for v in vectors)


def test_headers_are_those_kafka_reads(vectors):
    found = summarized(*(bytes.fromhex(v["records_hex"]) for v in vectors))
    for row, vector in zip(found, vectors, strict=True):
        want = headers_of(vector["batches"])
        assert {name: row[name].item() for name in want} == want, vector["name"]
    batches = [b for v in vectors for b in v["batches"]]
    for seen in ("is_control", "is_transactional", "compressed"):
        assert {b[seen] for b in batches} == {True, False}
    assert {b["timestamp_type"] for b in batches} >= {"CreateTime", "LogAppendTime"}


def test_a_set_of_control_batches_alone_has_no_first_offset():
    marker = bytearray(GOOD)
    marker[22] |= 32 | 16
    (row,) = summarized(bytes(marker))
    assert (row["first_offset"], row["last_offset"], row["n_batches"]) == (UNKNOWN, 0, 1)
    assert (row["first_timestamp_ms"], row["max_timestamp_ms"]) == (UNKNOWN, UNKNOWN)
    (row,) = summarized(bytes(marker) + GOOD)
    assert row["first_offset"] == 0


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 1, 48, 60, 10_000, 2**31 - 12, 2**31 - 1])
def test_a_length_that_cannot_be_ends_the_set(length):
    assert summary(GOOD + batch_v2(length=length)) == [(1, 1, len(GOOD))]


@pytest.mark.parametrize(
    ("count", "last_delta", "want"),
    [(-1, 0, 0), (0, 0, 0), (2**31 - 1, 0, 1), (2**31 - 1, 2**31 - 1, 1), (-(2**31), -(2**31), 0), (5, 0, 1)],
)
def test_a_record_count_is_held_to_what_can_be(count, last_delta, want):
    assert summary(batch_v2(n_records=count, last_delta=last_delta)) == [(1, want, len(GOOD))]


def test_a_compressed_batch_is_held_to_its_offsets_only():
    assert summary(batch_v2(n_records=1000, last_delta=999, codec=4)) == [(1, 1000, len(GOOD))]


def test_a_batch_cut_short_is_not_counted():
    for n in range(len(GOOD)):
        assert summary(GOOD + GOOD[:n]) == [(1, 1, len(GOOD))]


def test_bytes_after_the_set_are_not_read():
    buf = np.frombuffer(bytearray(GOOD + GOOD), np.uint8)
    lengths = np.array([len(GOOD), len(GOOD) - 1, -1, 0], np.int32)
    out = summarize_record_sets(buf, np.zeros(4, np.int64), lengths)
    assert out["n_batches"].tolist() == [1, 0, 0, 0]
    assert out["last_offset"].tolist() == [0, UNKNOWN, UNKNOWN, UNKNOWN]


def test_a_magic_above_2_ends_the_set():
    other = bytearray(GOOD)
    other[16] = 3
    assert summary(GOOD + bytes(other) + GOOD) == [(1, 1, len(GOOD))]


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=5))
def test_counts_stay_within_the_bytes(sets):
    for (n_batches, n_records, n_bytes), raw in zip(summary(*sets), sets, strict=True):
        assert 0 <= n_bytes <= len(raw)
        assert n_batches <= len(raw) // 26
        assert n_records >= 0
