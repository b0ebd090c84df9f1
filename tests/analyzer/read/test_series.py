"""Rotated files and capture points: one series gives what the whole file gives, whatever the names and the order."""

import json
import os
import random
import struct
import threading
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import CAPTURES, INGEST_TABLES, ROLE_ROWS, TOPOLOGY
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.series import SeriesFinder, in_time_order
from kafkascope_analyzer.read.source import CaptureInfo
from kafkascope_parsers.errors import UsageError

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
SECOND = 10**9


@pytest.fixture(scope="module")
def raw():
    with CAPTURE.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


@pytest.fixture(scope="module")
def records(raw):
    at, found = 24, []
    while at < len(raw):
        n = 16 + int.from_bytes(raw[at + 8 : at + 12], "little")
        found.append(raw[at : at + n])
        at += n
    return found


@pytest.fixture(scope="module")
def whole(raw, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "whole.pcap").write_bytes(raw)
    ingest([folder / "whole.pcap"], folder / "whole.kscope")
    return folder / "whole.kscope"


def rows(dataset, table, without=()):
    """The rows without what says where in which file something was."""
    place = {"capture_id", "packet_no", "request_packet_no", "response_packet_no", *without}
    names = [name for name in table.schema.names if name not in place]
    return Counter(
        json.dumps([row[name] for name in names], default=str)
        for row in Dataset.open(dataset).read(table.name).to_pylist()
    )


def assert_same(one, other, leave_out=(CAPTURES,)):
    for table in INGEST_TABLES:
        if table not in leave_out:
            # which requests prove a role depends on where blocks end
            without = ("evidence",) if table is ROLE_ROWS else ()
            assert rows(one, table, without) == rows(other, table, without), table.name
    ledgers = [json.loads((dataset / "_dataset.json").read_text())["ledger"] for dataset in (one, other)]
    assert ledgers[0] == ledgers[1]


def cut_up(raw, records, n_files):
    """The file in n_files pieces, each with the file's header."""
    size = -(-len(records) // n_files)
    return [raw[:24] + b"".join(records[i : i + size]) for i in range(0, len(records), size)]


@pytest.mark.slow
def test_a_rotated_series_is_one_capture_whatever_its_names(raw, records, whole, tmp_path):
    names = [f"trace.pcap{i}" for i in range(9)]
    random.Random(5).shuffle(names)
    for name, piece in zip(names, cut_up(raw, records, 9), strict=True):
        (tmp_path / name).write_bytes(piece)
    (tmp_path / "trace.pcap9").write_bytes(raw[:24])
    (tmp_path / "trace.pcap10").write_bytes(b"")
    paths = [tmp_path / f"trace.pcap{i}" for i in range(11)]
    ingest(paths, tmp_path / "out.kscope")
    assert_same(whole, tmp_path / "out.kscope")
    files = pq.read_table(tmp_path / "out.kscope" / "captures").to_pylist()
    assert [Path(file["path"]).name for file in files if file["n_packets"]] == names
    assert sum(file["n_packets"] for file in files) == len(records)
    empty = {Path(file["path"]).name: file["cut_why"] for file in files if not file["n_packets"]}
    assert empty == {"trace.pcap9": None, "trace.pcap10": "the file is empty"}


@pytest.mark.slow
def test_workers_agree_on_the_series(raw, records, whole, tmp_path, monkeypatch):
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    paths = []
    for i, piece in enumerate(cut_up(raw, records, 3)):
        paths.append(tmp_path / f"{9 - i}.pcap")
        paths[-1].write_bytes(piece)
    ingest(paths, tmp_path / "out.kscope", IngestOptions(jobs=2))
    assert_same(whole, tmp_path / "out.kscope")


def ends(record):
    """Both endpoints of a TCP packet in Ethernet and IPv4."""
    packet = record[16:]
    if packet[12:14] != b"\x08\x00":
        return frozenset({b"\0"})
    ports = 14 + 4 * (packet[14] & 15)
    return frozenset({packet[26:30] + packet[ports : ports + 2], packet[30:34] + packet[ports + 2 : ports + 4]})


@pytest.mark.slow
def test_capture_points_that_overlap_are_apart(raw, records, whole, tmp_path):
    """Two hosts recorded different connections at the same time, each in three files."""
    parts = [[], []]
    for record in records:
        parts[sum(map(sum, ends(record))) // 2 % 2].append(record)
    assert all(len(part) > 1000 for part in parts)
    paths = []
    for point, part in enumerate(parts):
        for i, piece in enumerate(cut_up(raw, part, 3)):
            paths.append(tmp_path / f"host{point}_{i}.pcap")
            paths[-1].write_bytes(piece)
    ingest(paths[::-1], tmp_path / "out.kscope")
    # what is news about the cluster depends on who else has said it before
    assert_same(whole, tmp_path / "out.kscope", leave_out=(CAPTURES, TOPOLOGY))


def test_a_copy_is_refused(raw, tmp_path):
    (tmp_path / "a.pcap").write_bytes(raw)
    with pytest.raises(UsageError, match="begin with the same packet"):
        ingest([tmp_path / "a.pcap", CAPTURE], tmp_path / "out.kscope")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


@pytest.mark.slow
def test_a_pipe_gives_what_the_file_gives(raw, whole, tmp_path):
    """Through a named pipe, packed, in portions that end anywhere."""
    packed = zstandard.ZstdCompressor().compress(raw)
    os.mkfifo(tmp_path / "pipe")

    def write():
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            for at in range(0, len(packed), 50_001):
                pipe.write(packed[at : at + 50_001])

    writer = threading.Thread(target=write)
    writer.start()
    ingest([tmp_path / "pipe"], tmp_path / "out.kscope")
    writer.join()
    assert_same(whole, tmp_path / "out.kscope")
    (file,) = pq.read_table(tmp_path / "out.kscope" / "captures").to_pylist()
    assert file["size_bytes"] == len(packed)


def empty_pcap(first_s):
    return struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1, first_s, 0, 1, 1) + b"x"


def test_time_decides_and_then_numbers_in_names(tmp_path):
    times = {"a10.pcap": 5, "a2.pcap": 5, "b.pcap": 4, "c.pcap": 5}
    for i, (name, first_s) in enumerate(times.items()):
        (tmp_path / name).write_bytes(empty_pcap(first_s)[:-1] + bytes([i]))
    (tmp_path / "z.pcap").write_bytes(empty_pcap(0)[:24])
    paths = [tmp_path / name for name in ("z.pcap", *times)]
    assert [path.name for path in in_time_order(paths)] == ["z.pcap", "b.pcap", "a2.pcap", "a10.pcap", "c.pcap"]


def series_of(*files):
    """The series of files (name, first second, last second), in time order."""
    finder, found = SeriesFinder(), []
    for name, first_s, last_s in files:
        found.append(finder.series_of(Path(name), int(first_s * SECOND)))
        finder.ended(found[-1], CaptureInfo(name, end_ts_ns=int(last_s * SECOND)))
    return found


def test_which_series_a_file_continues():
    assert series_of(("a", 10, 20), ("b", 20, 30), ("c", 45, 50)) == [0, 0, 0]
    assert series_of(("a", 10, 20), ("b", 19.5, 30), ("c", 29.9, 50)) == [0, 0, 0]
    assert series_of(("a", 10, 20), ("b", 18, 30), ("c", 21, 50)) == [0, 1, 0]
    assert series_of(("a", 10, 10.4), ("b", 10.1, 10.4)) == [0, 1]
    lockstep = (("x1", 10, 20), ("y1", 11, 21), ("y2", 21, 30), ("x2", 22, 31), ("x3", 31, 32), ("y3", 32, 33))
    assert series_of(*lockstep) == [0, 1, 1, 0, 0, 1]
    by_day = (("h1/a.pcap", 10, 20), ("h2/a.pcap", 11, 12), ("h2/b.pcap", 30, 40), ("h1/b.pcap", 31, 40))
    assert series_of(*by_day) == [0, 1, 1, 0]
