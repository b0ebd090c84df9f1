"""Levels, rows and parents of columns; batches; what a failing frame leaves behind."""

import struct
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_parsers.machine import decode as decode_module
from kafkascope_parsers.machine import decode_messages, gather, strings, to_arrow, to_rows
from kafkascope_parsers.machine.kernel import run
from kafkascope_parsers.records import summarize_record_sets, summary
from kafkascope_parsers.schema import message_type

METADATA = message_type(3, "response")


def string(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else struct.pack(">h", len(text)) + text.encode()


def metadata_v1(topics: dict[str, list[int]], correlation_id: int = 7) -> bytes:
    """A Metadata v1 response by hand: one broker, per topic its partitions' error codes."""
    out = (
        struct.pack(">ii", correlation_id, 1)
        + struct.pack(">i", 1)
        + string("b")
        + struct.pack(">i", 9092)
        + string(None)
    )
    out += struct.pack(">ii", 1, len(topics))
    for name, errors in topics.items():
        out += struct.pack(">h", 0) + string(name) + b"\0" + struct.pack(">i", len(errors))
        for partition, error in enumerate(errors):
            out += struct.pack(">hiiiiii", error, partition, 1, 1, 1, 1, 1)
    return out


THREE = [metadata_v1({"a": [3, 0], "bb": []}), metadata_v1({}), metadata_v1({"c": [5], "d": [6, 7]})]


def test_rows_and_parents_lead_from_a_partition_to_its_topic_and_message(decode):
    (columns,) = decode(METADATA, THREE, [1, 1, 1])
    error = METADATA.node("topics[].partitions[].error_code")
    name = METADATA.node("topics[].name")
    assert columns.values(error).tolist() == [3, 0, 5, 6, 7]
    assert columns.row(error).tolist() == [0, 0, 2, 2, 2]
    topic = columns.parent(error)
    assert strings(columns, name).take(pa.array(topic)).to_pylist() == ["a", "a", "c", "d", "d"]
    assert columns.row(name).tolist() == [0, 0, 2, 2]
    assert columns.counts(METADATA.node("topics[].partitions")).tolist() == [2, 0, 1, 2]
    replicas = METADATA.node("topics[].partitions[].replica_nodes[]")
    assert columns.values(replicas).tolist() == [1, 1, 1, 1, 1]
    assert columns.row(replicas).tolist() == [0, 0, 2, 2, 2]
    assert columns.values(METADATA.node("header.correlation_id")).tolist() == [7, 7, 7]


def test_values_have_their_own_width(decode):
    (columns,) = decode(METADATA, THREE, [1, 1, 1])
    widths = {
        p: columns.values(METADATA.node(p)).dtype
        for p in ("controller_id", "topics[].error_code", "topics[].is_internal")
    }
    assert widths == {"controller_id": np.int32, "topics[].error_code": np.int16, "topics[].is_internal": np.int8}


def test_a_field_of_other_versions_is_null_and_has_no_cells(decode):
    (columns,) = decode(METADATA, THREE, [1, 1, 1])
    for path in ("cluster_id", "topics[].topic_id", "topics[].partitions[].leader_epoch", "throttle_time_ms"):
        node = METADATA.node(path)
        assert not columns.has(node)
        assert columns.is_null(node).all()
        assert len(columns.is_null(node)) == columns.size(node)
    assert columns.is_null(METADATA.node("brokers[].rack")).tolist() == [True] * 3
    assert columns.lengths(METADATA.node("brokers[].rack")).tolist() == [-1] * 3


def test_mixed_versions_fill_one_column(decode):
    v0 = struct.pack(">iii", 7, 0, 0)  # no controller id
    (columns,) = decode(METADATA, [v0, THREE[0], v0], [0, 1, 0])
    controller = METADATA.node("controller_id")
    assert columns.is_null(controller).tolist() == [True, False, True]
    assert columns.values(controller).tolist() == [0, 1, 0]
    assert columns.version_used.tolist() == [0, 1, 0]


def test_a_failing_frame_leaves_nothing_and_shifts_nothing(decode):
    cut = THREE[0][:-3]
    (columns,) = decode(METADATA, [THREE[0], cut, THREE[2], cut], [1, 1, 1, 1])
    assert columns.frame.tolist() == [0, 2]
    assert [(f.frame, f.kind) for f in columns.failures] == [(1, "truncated"), (3, "truncated")]
    (alone,) = decode(METADATA, [THREE[0], THREE[2]], [1, 1])
    assert to_arrow(columns).equals(to_arrow(alone))
    assert columns.counts_by_level.tolist() == alone.counts_by_level.tolist()


def test_failures_name_the_byte_and_the_field(decode):
    raw = bytearray(THREE[0])
    at = raw.index(b"\0\x01a") + 3 + 1
    raw[at : at + 4] = struct.pack(">i", 1000)
    (columns,) = decode(METADATA, [bytes(raw)], [1])
    (failure,) = columns.failures
    assert (failure.frame, failure.kind, failure.offset, failure.path) == (
        0,
        "length_beyond_end",
        at,
        "topics[].partitions",
    )


def test_batches_are_small_in_order_and_say_the_same(decode):
    raws = [metadata_v1({f"t{i}": list(range(i % 5))}, i) for i in range(200)] + [b"\0"]
    versions = [1] * 201
    (whole,) = decode(METADATA, raws, versions)
    parts = decode(METADATA, raws, versions, batch_bytes=2000)
    assert len(parts) > 10
    assert [f for c in parts for f in c.frame.tolist()] == list(range(200))
    assert [(c.first_frame, c.n_frames) for c in parts] == [
        (sum(p.n_frames for p in parts[:i]), c.n_frames) for i, c in enumerate(parts)
    ]
    assert [f.frame for c in parts for f in c.failures] == [200]
    assert pa.concat_tables([to_arrow(c) for c in parts]).equals(to_arrow(whole))
    assert [r for c in parts for r in to_rows(c)] == to_rows(whole)


def test_a_frame_that_would_need_too_much_memory_is_a_failure(decode, monkeypatch):
    monkeypatch.setattr(decode_module, "FRAME_BYTES", 3000)
    large = metadata_v1({"t": [0] * 500})
    (columns,) = decode(METADATA, [THREE[0], large, THREE[1]], [1, 1, 1])
    assert columns.frame.tolist() == [0, 2]
    assert [(f.frame, f.kind) for f in columns.failures] == [(1, "too_large")]


def test_no_frames_give_no_batches():
    nothing = np.zeros(0, np.int64)
    assert list(decode_messages(METADATA, np.zeros(0, np.uint8), nothing, nothing, np.zeros(0, np.int16))) == []


def test_a_null_that_kafka_does_not_allow_is_kept_and_reported(decode):
    raw = struct.pack(">iii", 7, 0, 1) + struct.pack(">h", 3) + string(None) + struct.pack(">i", 0)
    (columns,) = decode(METADATA, [raw], [0])
    assert columns.is_null(METADATA.node("topics[].name")).tolist() == [True]
    assert [(n.frame, n.path) for n in columns.unexpected_nulls] == [(0, "topics[].name")]


@pytest.mark.parametrize(
    ("starts", "ends"), [([-1], [3]), ([0], [11]), ([5], [4]), ([0, 1], [3]), ([np.iinfo(np.int64).max], [3])]
)
def test_frames_outside_the_buffer_are_refused(starts, ends):
    with pytest.raises(ValueError, match=r"outside|differ"):
        next(decode_messages(METADATA, np.zeros(10, np.uint8), np.array(starts), np.array(ends), np.zeros(1, np.int16)))


API_VERSIONS = message_type(18, "response")
REFUSED_V0 = struct.pack(">ihihhh", 9, 35, 1, 18, 0, 3)
V3 = struct.pack(">ih", 9, 0) + b"\x02" + struct.pack(">hhh", 18, 0, 3) + b"\0" + struct.pack(">i", 0) + b"\0"


def test_api_versions_is_read_as_v0_where_the_broker_answered_in_v0(decode):
    unknown_to_us = 99
    (columns,) = decode(API_VERSIONS, [REFUSED_V0, V3, REFUSED_V0, V3], [3, 3, unknown_to_us, 0])
    assert columns.frame.tolist() == [0, 1, 2]
    assert columns.version_used.tolist() == [0, 3, 0]
    assert columns.values(API_VERSIONS.node("error_code")).tolist() == [35, 0, 35]
    assert columns.values(API_VERSIONS.node("api_keys[].max_version")).tolist() == [3, 3, 3]
    assert [f.frame for f in columns.failures] == [3]


def test_api_versions_with_error_35_in_the_asked_layout_is_still_read(decode):
    raw = bytearray(V3)
    raw[5] = 35
    (columns,) = decode(API_VERSIONS, [bytes(raw), REFUSED_V0[:5], b""], [3, 3, 3])
    assert columns.version_used.tolist() == [3]
    assert [f.frame for f in columns.failures] == [1, 2]


def test_only_api_versions_falls_back(decode):
    assert replace(API_VERSIONS, fallback_version=None).versions == API_VERSIONS.versions
    (columns,) = decode(replace(API_VERSIONS, fallback_version=None), [REFUSED_V0], [3])
    assert columns.failures


def test_kernels_compile_for_one_kind_of_input():
    """Compiling takes seconds: read-only buffers, views with strides, other integer types must not add to them."""
    raw = np.frombuffer(bytearray(b"".join(THREE)), np.uint8)
    ends = np.cumsum([len(r) for r in THREE])
    starts = ends - np.array([len(r) for r in THREE])
    versions = np.ones(3, np.int16)
    name = METADATA.node("topics[].name")
    for buf in (raw, raw.copy(), np.repeat(raw, 2)[::2]):
        for kind in (np.int64, np.int32):
            (columns,) = decode_messages(METADATA, buf, starts.astype(kind), ends.astype(kind), versions)
            assert strings(columns, name).to_pylist() == ["a", "bb", "c", "d"]
            summarize_record_sets(buf, columns.offsets(name), columns.lengths(name))
    for kernel in (run, gather._copy, summary._summarize):
        assert len(set(getattr(kernel, "_codes", {1: kernel}).values())) == 1, kernel
