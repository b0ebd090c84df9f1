"""Ranges of captures give together what one reading of the whole captures gives; where a range was proved to begin in
the wrong place, that is noticed, and another plan is right."""

import struct
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard

from kafkascope_analyzer.read import range_lead as tested
from kafkascope_analyzer.read.place import place_of
from kafkascope_analyzer.read.range_join import join
from kafkascope_analyzer.read.range_plan import plan_ranges, range_bytes_for
from kafkascope_analyzer.read.range_reading import RangeReading
from kafkascope_analyzer.read.reading import Reading, ToRead
from kafkascope_analyzer.read.window import OneBuffer
from kafkascope_parsers.errors import CaptureError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"
BLOCK_BYTES = 1 << 18


def unpacked(name):
    with (CAPTURES / f"{name}.pcap.zst").open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def records_of(raw):
    """Where the records of a little-endian pcap file begin, and where the last one ends."""
    places = [24]
    while places[-1] < len(raw):
        places.append(places[-1] + 16 + int.from_bytes(raw[places[-1] + 8 : places[-1] + 12], "little"))
    return places


def segments_of(block, packets_before=0):
    s = block.segments
    columns = (s.ts_ns, s.packet_no + packets_before, s.source_port, s.seq, s.ack, s.flags, s.length)
    rows = zip(*(column.tolist() for column in columns), s.offset.tolist(), s.captured.tolist(), strict=True)
    return [(block.capture_id, *row[:-2], block.buf[row[-2] : row[-2] + row[-1]].tobytes()) for row in rows]


def read_whole(places):
    reading = Reading(ToRead.of(places), OneBuffer(BLOCK_BYTES))
    found = [(block.series, *row) for block in reading.blocks() for row in segments_of(block)]
    return found, reading.captures


def read_ranges(places, range_bytes):
    """The same by ranges, and how many plans it took."""
    plan, joints, ends_ns = plan_ranges(ToRead(tuple(places)), range_bytes), frozenset(), None
    for n_plans in range(1, 5):
        parts = []
        for part in plan:
            reading = RangeReading(part, BLOCK_BYTES)
            parts.append((part, [segments_of(block) for block in reading.blocks()], reading.summary))
        joined = join([summary for _, _, summary in parts])
        if joined.is_right:
            found = []
            for part, blocks, _ in parts:
                before = joined.packets_before[part.capture_id, part.number]
                rows = (row for block in blocks for row in block)
                found += [(joined.series[row[0]], *row[:2], row[2] + before, *row[3:]) for row in rows]
            return found, joined.captures, n_plans
        joints, ends_ns = joints | joined.wrong_joints, joined.wrong_ends or ends_ns
        plan = plan_ranges(ToRead(tuple(places)), range_bytes, ends_ns=ends_ns, joints=joints)
    raise AssertionError("no plan is right")


def assert_same(places, range_bytes):
    """Compares both ways. Returns the number of plans and of segments."""
    places = [place_of(place) for place in places]
    whole, captures = read_whole(places)
    found, joined, n_plans = read_ranges(places, range_bytes)
    assert found == whole
    assert joined == captures
    return n_plans, len(whole)


@pytest.mark.parametrize("name", ["healthy_basic", "mid_stream-any", "mid_stream-snap96"])
@pytest.mark.parametrize("range_bytes", [70_001, 300_000])
def test_ranges_of_a_file(tmp_path, name, range_bytes):
    path = tmp_path / "a.pcap"
    path.write_bytes(unpacked(name))
    n_plans, n = assert_same([path], range_bytes)
    assert (n_plans, n > 1000) == (1, True)
    assert len(plan_ranges(ToRead.of([path]), range_bytes)) > 1


def test_a_range_shorter_than_a_record(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(unpacked("healthy_basic")[:200_000])
    assert_same([path], 1000)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_record_longer_than_what_is_read_behind_a_range(tmp_path, is_cut):
    raw = unpacked("healthy_basic")
    size, header = 2 << 20, raw[:16] + (4 << 20).to_bytes(4, "little") + raw[20:24]
    path = tmp_path / "a.pcap"
    data = header + raw[24:] + raw[24:32] + size.to_bytes(4, "little") * 2 + bytes(size) + raw[24:]
    path.write_bytes(data[: len(raw) + size // 2] if is_cut else data)
    for behind in (0, size // 4, size - 1000):
        assert_same([path], len(raw) + behind)


def test_a_range_begins_where_a_record_begins(tmp_path):
    raw = unpacked("healthy_basic")
    place = records_of(raw)[40]
    path = tmp_path / "a.pcap"
    path.write_bytes(raw[: place * 3])
    assert assert_same([path], place)[0] == 1


@pytest.mark.parametrize("damage", ["cut", "zeros", "too long", "at a joint"])
def test_damaged_files(tmp_path, damage):
    raw = bytearray(unpacked("healthy_basic"))
    places = records_of(raw)
    if damage == "cut":
        del raw[places[-2] + 30 :]
    elif damage == "zeros":
        raw[places[700] : places[760]] = bytes(places[760] - places[700])
    elif damage == "too long":
        raw[places[700] + 8 : places[700] + 16] = struct.pack("<II", 250_000, 250_000)
    else:
        at = next(place for place in places if place >= 300_000)
        raw[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    path = tmp_path / "a.pcap"
    path.write_bytes(bytes(raw))
    n_plans, n = assert_same([path], 300_000)
    assert n > 5000
    assert n_plans <= 2


def test_a_capture_inside_of_a_capture_is_not_taken_for_it(tmp_path, monkeypatch):
    """Someone sends a capture through the network: its records look like records."""
    for name, value in {"_LEAD_BYTES": 20_000, "_LEAST_LEAD_PACKETS": 1, "_LEAD_NS": 0}.items():
        monkeypatch.setattr(tested, name, value)  # so that the search begins inside of the large packet
    raw = unpacked("healthy_basic")
    places = records_of(raw)
    at = places[300]
    header = raw[at : at + 8]
    inner = raw[places[10] :][:150_000]
    packet = header + struct.pack("<II", len(inner), len(inner)) + inner
    path = tmp_path / "a.pcap"
    path.write_bytes(raw[:at] + packet + raw[at:])
    n_plans, _ = assert_same([path], at + 75_000)
    assert n_plans == 2


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_rotated_series_with_copies_at_its_joints(tmp_path, is_packed):
    """Each packet is there twice, and the copy of a file's last one is the first of the next."""
    raw = unpacked("mid_stream-any")
    records = [raw[first:end] for first, end in pairwise(records_of(raw)) for _ in range(2)]
    names = []
    for i, (first, end) in enumerate(pairwise([0, 1001, 2403, 4001, len(records)])):
        names.append(tmp_path / f"trace.pcap{i}")
        data = raw[:24] + b"".join(records[first:end])
        names[-1].write_bytes(zstandard.compress(data) if is_packed else data)
    n_plans, n = assert_same(names, 40_000)
    assert n_plans == 1
    assert n <= len(records) // 2  # a copy that is not recognised would count


def test_two_capture_points_whose_packed_files_look_like_one_series(tmp_path):
    """The end of a packed file is known when it has been read: the first plan takes one for the other's next."""
    raw = unpacked("healthy_basic")
    places = records_of(raw)
    parts = [[], []]
    for i, (first, end) in enumerate(pairwise(places)):
        parts[i % 2].append(raw[first:end])
    names = []
    for i, part in enumerate(parts):
        names.append(tmp_path / f"point{i}.pcap.zst")
        names[-1].write_bytes(zstandard.compress(raw[:24] + b"".join(part)))
    assert assert_same(names, 100_000)[0] == 2


def test_packed_files_and_pcapng_are_one_range():
    for name in ("healthy_basic.pcap.zst", "mid_stream-ng.pcapng.zst"):
        assert len(plan_ranges(ToRead.of([CAPTURES / name]), 1000)) == 1


def test_a_file_that_is_no_capture_is_an_error_before_anything_is_read(tmp_path):
    (tmp_path / "notes.txt").write_text("no capture")
    with pytest.raises(CaptureError, match=r"notes\.txt"):
        plan_ranges(ToRead.of([tmp_path / "notes.txt"]), 1000)


@pytest.mark.parametrize(
    ("n_bytes", "n_tasks", "megabytes"),
    [
        (1 << 20, 8, 128),  # one range
        (2 << 30, 2, 256),  # four for each task
        (2 << 30, 64, 128),  # fewer than the tasks that could run
        (4 << 40, 2, 512),  # more than four for each task
    ],
)
def test_each_task_reads_some_ranges(n_bytes, n_tasks, megabytes):
    assert range_bytes_for(n_bytes, n_tasks) == megabytes << 20
