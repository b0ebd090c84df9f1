"""Batches that inflate to far more than they take: whatever their number, what was inflated is released at once."""

import gc
import gzip
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from kafkascope_parsers.records import OpenLimits, RecordBatch, Unreadable, open_batch, open_record_set, read_batches
from kafkascope_parsers.records.codecs import inflate

from .test_open_batches import RECORD, batch, bomb, lz4_frame, message

CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
N_BOMBS, INFLATED = 200, 4 << 20
LIMITS = OpenLimits(INFLATED // 4)
HELD = 4 << 20
"""What all results together may hold, and what inflating one batch may take beside."""


@pytest.fixture
def traced() -> Iterator[None]:
    """Counts memory; cycles of objects stay where they are, as during ingest."""
    opened(batch(RECORD, 1), OpenLimits())  # loads kernels
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def opened(raw: bytes, limits: OpenLimits) -> list[RecordBatch]:
    """The batches of a set, each opened by a generator as ingest does: its frame holds the batch and its error."""
    buf = np.frombuffer(raw, np.uint8)

    def one_by_one() -> Iterator[RecordBatch]:
        for row in read_batches(buf, np.zeros(1, np.int64), np.array([len(buf)], np.int32)):
            result = open_batch(row, buf, limits)
            yield result

    return list(one_by_one())


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.usefixtures("traced")
def test_what_a_bomb_inflates_to_is_released(codec: str, magic: int) -> None:
    packed = bomb(codec, INFLATED)
    one = batch(packed, 1, CODECS[codec]) if magic == 2 else message(packed, CODECS[codec], magic)
    raw = one * N_BOMBS
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    batches = opened(raw, LIMITS)
    held, peak = (n - before for n in tracemalloc.get_traced_memory())
    assert len(batches) == N_BOMBS
    assert all(isinstance(each.error, Unreadable) for each in batches)
    assert held < HELD
    assert peak < HELD + INFLATED


@pytest.mark.usefixtures("traced")
def test_what_does_not_decompress_is_released_too() -> None:
    zeros = bytes(INFLATED // 8)
    broken = gzip.compress(zeros)[:-8] + b"\0" * 8
    before = tracemalloc.get_traced_memory()[0]
    batches = opened(batch(broken, 1, 1) * N_BOMBS, OpenLimits())
    assert {str(each.error).partition(":")[0] for each in batches} == {"malformed_compression"}
    assert tracemalloc.get_traced_memory()[0] - before < HELD


@pytest.mark.parametrize("codec", CODECS)
def test_a_set_that_is_held_whole_has_a_limit_of_its_own(codec: str) -> None:
    value = bytes(100_000)
    size = len(value) + 8
    record = _varint(size) + b"\0\0\0\x01" + _varint(len(value)) + value + b"\0"
    packed = {"gzip": gzip.compress, "lz4": lz4_frame, "zstd": zstandard.compress}.get(codec, _snappy)(record)
    batches = open_record_set(batch(packed, 1, CODECS[codec]) * 10 + batch(RECORD, 1), in_all=350_000)
    assert [each.error is None for each in batches] == [True] * 3 + [False] * 7 + [True]
    assert {each.error.kind for each in batches if each.error is not None} == {"inflate_limit"}


def test_headers_are_counted_like_records() -> None:
    n = 3_000
    content = b"\0\0\0\x01\x01" + _varint(n) + b"\0\x01" * n
    raw = batch(_varint(len(content)) + content, 1)
    (fits,) = opened(raw, OpenLimits(records=n))
    assert [len(record.headers) for record in fits.records] == [n]
    (more,) = opened(raw, OpenLimits(records=n - 1))
    assert str(more.error) == f"inflate_limit: more than {n - 1} headers"


def test_many_small_members_of_gzip_take_time_in_proportion_to_their_bytes() -> None:
    """Each member was given all bytes that follow, and returned them: 20,000 members copied 4 GB."""
    member = gzip.compress(b"ab")
    assert inflate("gzip", 2, member * 20_000) == b"ab" * 20_000


def _snappy(data: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(data, asbytes=True))


def _varint(n: int) -> bytes:
    """A length as records have it: zigzag."""
    n, out = 2 * n, b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])
