"""Which pauses between files are not captured: what the connections say of it, and what ends at such a time."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.resolve.find_uncovered import find_uncovered, pauses_between
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD
from kafkascope_parsers.tcp.state import E_GAP, E_SYN

S = 1_000_000_000
FROZEN = Path(__file__).parents[3] / "fixtures" / "service" / "frozen_broker.pcap.zst"


def test_pauses_lie_in_no_file():
    files = [(0, 10 * S), (30 * S, 40 * S), (5 * S, 12 * S), (40 * S + S // 2, 50 * S)]
    assert pauses_between(files) == Uncovered(((12 * S, 30 * S),))
    assert not pauses_between([(0, 90 * S), (10 * S, 20 * S)])
    assert not pauses_between([])


def found(tmp_path, connections, runs, gaps, end_s=30):
    """Files of 0 to 10 s and from end_s on. connections: first and last second; runs: connection, layer, second of its
    first packet; gaps: connection, second."""
    spill = Spill(tmp_path / "0")
    conn, layer, first = zip(*runs, strict=True) if runs else ((), (), ())
    ints = pa.int64()
    times = pa.array([round(at * S) for at in first], ints)
    spill.write(
        "facts.runs", pa.table({"conn": pa.array(conn, ints), "layer": pa.array(layer, pa.int8()), "first_ns": times})
    )
    events = [*((c, E_GAP, at) for c, at in gaps), (0, E_SYN, 0)]
    conn, kind, at = zip(*events, strict=True)
    at_ns = pa.array([round(each * S) for each in at], ints)
    spill.write(
        "tcp_events", pa.table({"conn": pa.array(conn, ints), "kind": pa.array(kind, pa.uint8()), "ts_ns": at_ns})
    )
    spill.close()
    first, last = zip(*connections, strict=True) if connections else ((), ())
    rows = {
        name: pa.array([at * S for at in values], ints) for name, values in (("first_ns", first), ("last_ns", last))
    }
    files = [(0, 10 * S), (end_s * S, (end_s + 30) * S)]
    return find_uncovered(files, {tmp_path / "0": pa.table(rows)}).times


def test_a_pause_of_a_month_is_not_captured_whatever_goes_on(tmp_path):
    runs = [(0, PAYLOAD, 1), (0, PAYLOAD, 30 * 86_400 + 11)]
    end_s = 30 * 86_400 + 10
    assert found(tmp_path, [(0, end_s + 20)], runs, [], end_s) == ((10 * S, end_s * S),)


def test_bytes_that_are_missing_after_a_pause_were_sent_in_it(tmp_path):
    runs = [(0, PAYLOAD, 1), (0, PAYLOAD, 31), (1, PAYLOAD, 2), (1, PAYLOAD, 33)]
    assert found(tmp_path, [(0, 59), (1, 59)], runs, [(0, 31.2)]) == ((10 * S, 30 * S),)


def test_a_quiet_network_has_pauses_between_files(tmp_path):
    """Connections go on without a missing byte; one packet was lost by the capturing program much later."""
    runs = [(0, PAYLOAD, 1), (0, PAYLOAD, 31), (0, PAYLOAD, 50), (1, PAYLOAD, 2), (1, PAYLOAD, 33)]
    assert found(tmp_path, [(0, 59), (1, 59)], runs, [(0, 50.1)]) == ()


def test_few_lost_packets_among_many_connections_are_no_missing_file(tmp_path):
    runs = [(conn, PAYLOAD, at) for conn in range(9) for at in (1, 31)]
    assert found(tmp_path, [(0, 59)] * 9, runs, [(3, 31.1)]) == ()


@pytest.mark.parametrize(("end_s", "times"), [(30, ((10 * S, 30 * S),)), (15, ())])
def test_where_no_connection_goes_on_the_files_say_it(tmp_path, end_s, times):
    runs = [(0, PAYLOAD, 1), (1, PAYLOAD, 40), (1, PACKETS, 39)]
    assert found(tmp_path, [(0, 9), (39, 59)], runs, [], end_s) == times


def parts_of(capture, folder, edges_s):
    """The capture cut into files at those seconds."""
    raw = zstandard.ZstdDecompressor().stream_reader(capture.open("rb")).read()
    divisor = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}[struct.unpack_from("<I", raw)[0]]
    files, at, begin = [bytearray(raw[:24]) for _ in range(len(edges_s) + 1)], 24, None
    while at < len(raw):
        seconds, fraction, size = struct.unpack_from("<III", raw, at)
        ts_ns = seconds * S + fraction * divisor
        begin = ts_ns if begin is None else begin
        which = int(np.searchsorted(edges_s, (ts_ns - begin) / S, side="right"))
        files[which] += raw[at : at + 16 + size]
        at += 16 + size
    paths = [folder / f"part{number}.pcap" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    return paths


@pytest.mark.slow
def test_a_file_that_is_missing_is_known_and_nothing_is_known_to_go_on_over_it(tmp_path):
    """The broker is frozen from 5 s to 17 s; the file of 10 s to 20 s is missing."""
    first, _, last = parts_of(FROZEN, tmp_path, [10, 20])
    ingest([first, last], tmp_path / "two.kscope", IngestOptions(jobs=1))
    dataset = Dataset.open(tmp_path / "two.kscope")
    ((begin, end),) = dataset.manifest.uncovered.times
    assert 9.5 * S < end - begin < 10.5 * S
    captures = pq.read_table(tmp_path / "two.kscope" / "captures").to_pylist()
    assert [row["uncovered_before_ns"] for row in captures] == [None, end - begin]
    events = Dataset.open(tmp_path / "two.kscope").read("events").to_pylist()
    waits = [row["server_wait"] for row in events if row["kind"] == "server_wait"]
    silences = [row["silence"] for row in events if row["kind"] == "silence"]
    assert len([wait for wait in waits if wait["until_ns"] == begin and wait["ended_by"] == "hidden"]) > 5
    over = [w for w in waits if w["first_ns"] <= begin and (w["until_ns"] is None or w["until_ns"] >= end)]
    over += [s for s in silences if s["first_ns"] <= begin and (s["last_ns"] is None or s["last_ns"] >= end)]
    assert over == []
    loops = [row["loop"] for row in events if row["kind"] == "loop" and row["loop"]["cadence"] == "heartbeat"]
    assert max(loop["max"] for loop in loops) < 9_500
    requests = pq.read_table(tmp_path / "two.kscope" / "requests", partitioning=None).to_pylist()
    closed = {
        row["conn_id"]: row["close_ns"] for row in pq.read_table(tmp_path / "two.kscope" / "connections").to_pylist()
    }
    open_then = [row for row in requests if row["ts_ns"] <= begin and (closed[row["conn_id"]] or end) >= end]
    assert "not_captured" in {row["status"] for row in open_then}
    assert "unanswered" not in {row["status"] for row in open_then}


@pytest.mark.slow
def test_files_of_one_capture_without_a_pause_cover_all_of_it(tmp_path):
    ingest(parts_of(FROZEN, tmp_path, [10, 20]), tmp_path / "all.kscope", IngestOptions(jobs=1))
    assert not Dataset.open(tmp_path / "all.kscope").manifest.uncovered
