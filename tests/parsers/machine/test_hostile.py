"""Bytes that broke other decoders: counts, lengths, strings, tags, keys and versions that cannot be. Nothing may
raise, grow or hang."""

import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.machine import FAILURE_KINDS, decode_messages, strings, to_arrow
from kafkascope_parsers.schema import api_keys, message_type

HEADER_V1 = struct.pack(">hhih", 0, 0, 1, -1)
VARINTS = {
    "2^31-1": (b"\xff\xff\xff\xff\x07", "length_beyond_end"),
    "2^32-1": (b"\xff\xff\xff\xff\x0f", "length_beyond_end"),
    "over 32 bits": (b"\xff\xff\xff\xff\x7f", "length_beyond_end"),
    "2^64-1": (b"\xff" * 9 + b"\x01", "varint_too_long"),
    "11 bytes": (b"\x80" * 10 + b"\x01", "varint_too_long"),
    "without end": (b"\x80\x80", "truncated"),
}


def one_failure(decode, message, raw: bytes, version: int) -> tuple[str, str]:
    (columns,) = decode(message, [raw], [version])
    assert len(columns) == 0
    assert columns.counts_by_level.sum() == 0
    (failure,) = columns.failures
    return failure.kind, failure.path


@pytest.mark.parametrize("name", VARINTS)
def test_compact_counts(decode, name):
    varint, kind = VARINTS[name]
    metadata = message_type(3, "request")
    tail = b"" if kind == "truncated" else bytes(20)
    raw = HEADER_V1 + b"\0" + varint + tail
    assert one_failure(decode, metadata, raw, 9) == (kind, "topics")


@pytest.mark.parametrize("name", VARINTS)
def test_compact_string_lengths(decode, name):
    varint, kind = VARINTS[name]
    heartbeat = message_type(12, "request")
    tail = b"" if kind == "truncated" else bytes(20)
    assert one_failure(decode, heartbeat, HEADER_V1 + b"\0" + varint + tail, 4) == (kind, "group_id")


@pytest.mark.parametrize("name", VARINTS)
def test_numbers_of_tags(decode, name):
    varint, kind = VARINTS[name]
    tail = b"" if kind == "truncated" else bytes(20)
    assert one_failure(decode, message_type(3, "request"), HEADER_V1 + varint + tail, 9) == (
        kind,
        "header.unknown_tagged_fields",
    )


@pytest.mark.parametrize(
    ("count", "kind"), [(2**31 - 1, "length_beyond_end"), (-2, "negative_length"), (-(2**31), "negative_length")]
)
def test_counts_of_old_versions(decode, count, kind):
    raw = HEADER_V1 + struct.pack(">i", count) + bytes(50)
    assert one_failure(decode, message_type(3, "request"), raw, 0) == (kind, "topics")


def test_a_count_is_held_to_the_least_size_of_its_elements(decode):
    """Partitions of Fetch v13 have 33 bytes or more: 10 of them are not in 329 bytes, so none is read."""
    topic = bytes(16) + b"\x0b"
    raw = HEADER_V1 + b"\0" + bytes(25) + b"\x02" + topic
    fetch = message_type(1, "request")
    assert one_failure(decode, fetch, raw + bytes(10 * 33 - 1), 13) == ("length_beyond_end", "topics[].partitions")
    assert one_failure(decode, fetch, raw + bytes(10 * 33), 13)[0] == "truncated"


@pytest.mark.parametrize(
    ("length", "kind"), [(-2, "negative_length"), (-32768, "negative_length"), (32767, "length_beyond_end")]
)
def test_string_lengths_of_old_versions(decode, length, kind):
    raw = struct.pack(">hhih", 12, 0, 1, length) + bytes(30)
    assert one_failure(decode, message_type(12, "request"), raw, 0) == (kind, "header.client_id")


@pytest.mark.parametrize(("length", "kind"), [(-2, "negative_length"), (2**31 - 1, "length_beyond_end")])
def test_bytes_lengths_of_old_versions(decode, length, kind):
    raw = HEADER_V1 + struct.pack(">i", length) + bytes(30)
    assert one_failure(decode, message_type(36, "request"), raw, 0) == (kind, "auth_bytes")


def test_client_ids_null_not_utf8_and_of_32_kb(decode):
    message = message_type(3, "request")
    ids = [None, b"\xff\xfe\xfd", b"k" * 32767, b""]
    raws = [
        struct.pack(">hhih", 3, 1, 1, -1 if i is None else len(i)) + (i or b"") + struct.pack(">i", -1) for i in ids
    ]
    (columns,) = decode(message, raws, [1] * 4)
    assert strings(columns, message.node("header.client_id")).to_pylist() == [None, "\ufffd" * 3, "k" * 32767, ""]


def test_zero_size_tags_end_with_the_frame(decode):
    """Two bytes a tag: as many as the frame has bytes for, all kept; one more than that is refused before the first
    is read."""
    message = message_type(42, "request")
    tags = b"".join(bytes([0x80 | n & 0x7F, n >> 7, 0]) for n in range(1, 5000))
    whole = HEADER_V1 + b"\x87\x27" + tags + b"\x01\0"
    (columns,) = decode(message, [whole], [2])
    assert len(to_arrow(columns)["unknown_tagged_fields"][0]) == 4999
    count = (len(tags) + 2) // 2 + 1
    too_many = HEADER_V1 + bytes([0x80 | count & 0x7F, count >> 7]) + tags + b"\x01\0"
    assert one_failure(decode, message, too_many, 2)[0] == "length_beyond_end"


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("direction", ["request", "response"])
def test_frames_shorter_than_their_header(decode, size, direction):
    for key in api_keys():
        message = message_type(key, direction)
        (columns,) = decode(message, [b"\0" * size] * 2, list(message.versions))
        done = set(columns.frame.tolist()) | {f.frame for f in columns.failures}
        assert done == {0, 1}


@pytest.mark.parametrize("version", [-32768, -1, 14, 127, 32767])
def test_versions_that_are_not_known_are_not_guessed(decode, version):
    assert one_failure(decode, message_type(0, "request"), bytes(100), version) == ("unknown_version", "")


@pytest.mark.parametrize("key", [-1, -32768, 95, 10_000, 32767])
def test_keys_that_are_not_known_have_no_message(key):
    assert message_type(key, "request") is None
    assert message_type(key, "response") is None


def test_controlled_shutdown_v0_has_no_client_id(decode):
    message = message_type(7, "request")
    (columns,) = decode(message, [struct.pack(">hhii", 7, 0, 5, 42)], [0])
    assert columns.values(message.node("broker_id")).tolist() == [42]
    assert columns.is_null(message.node("header.client_id")).tolist() == [True]


def test_look_alikes_end_as_failures(decode):
    for raw in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    ):
        for key in api_keys():
            message = message_type(key, "request")
            (columns,) = decode(message, [raw], [message.versions[1]])
            assert [f.kind for f in columns.failures] != ["ok"]
            assert len(columns) + len(columns.failures) == 1


@pytest.mark.slow
def test_memory_is_not_allocated_from_counts(decode):
    """100,000 frames that each promise 2^31-1 elements."""
    raw = HEADER_V1 + struct.pack(">i", 2**31 - 1) + bytes(8)
    buf = np.frombuffer(bytearray(raw * 100_000), np.uint8)
    ends = np.arange(1, 100_001) * len(raw)
    message = message_type(3, "request")
    list(decode_messages(message, buf[: len(raw)], ends[:1] - len(raw), ends[:1], np.zeros(1, np.int16)))
    tracemalloc.start()
    n = sum(
        len(c.failures) for c in decode_messages(message, buf, ends - len(raw), ends, np.zeros(len(ends), np.int16))
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 100_000
    assert peak < 100 << 20


@given(st.lists(st.tuples(st.binary(max_size=60), st.integers(-1, 20)), max_size=8), st.sampled_from(api_keys()))
def test_every_frame_is_a_row_or_a_failure(frames, key):
    message = message_type(key, "response")
    assert message is not None
    buf = np.frombuffer(bytearray(b"".join(raw for raw, _ in frames)), np.uint8)
    ends = np.cumsum([len(raw) for raw, _ in frames]).astype(np.int64)
    starts = ends - np.array([len(raw) for raw, _ in frames], np.int64)
    done: list[int] = []
    for columns in decode_messages(message, buf, starts, ends, np.array([v for _, v in frames], np.int16)):
        to_arrow(columns).validate(full=True)
        done += columns.frame.tolist() + [f.frame for f in columns.failures]
        assert all(f.kind in FAILURE_KINDS[1:] and 0 <= f.offset <= len(frames[f.frame][0]) for f in columns.failures)
    assert sorted(done) == list(range(len(frames)))
