"""Packets that took long against packets read by dpkt, one after the other, and against what the lab delayed."""

import json
import socket
from collections import defaultdict
from pathlib import Path
from statistics import median

import dpkt
import numpy as np
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.resolve.servers import delays
from kafkascope_analyzer.resolve.servers.kernels import mark_times

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
S = 1_000_000_000
NEAR_NS = 3 * S
QUICK_MS = 50


def round_trips(capture):
    """By sender and receiver, when each new segment was sent and how long it took until the other side acknowledged its
    end, in milliseconds."""
    reader = dpkt.pcap.Reader(zstandard.ZstdDecompressor().stream_reader(capture.open("rb")))
    reached, waiting, found = {}, defaultdict(list), defaultdict(list)
    for ts, data in reader:
        ip = dpkt.ethernet.Ethernet(data).data
        tcp, ts_ns = ip.data, round(ts * S)
        ends = (socket.inet_ntoa(ip.src), tcp.sport, socket.inet_ntoa(ip.dst), tcp.dport)
        back = ends[2:] + ends[:2]
        for behind, sent_ns in list(waiting[back]):
            if (tcp.ack - behind) % (1 << 32) < 1 << 31:
                waiting[back].remove((behind, sent_ns))
                found[ends[2], ends[0]].append((sent_ns, (ts_ns - sent_ns) / 1e6))
        behind = (tcp.seq + len(tcp.data)) % (1 << 32)
        if tcp.data and 0 < (behind - reached.get(ends, behind - 1)) % (1 << 32) < 1 << 31:
            reached[ends] = behind
            waiting[ends].append((behind, ts_ns))
    return found


def told(dataset):
    rows = Dataset.open(dataset).read("events").to_pylist()
    return [row["packet_delay"] | {"key": row["key"]} for row in rows if row["kind"] == "packet_delay"]


@pytest.mark.parametrize(
    ("name", "late_ms", "senders"),
    [("delayed_path", 700, {"host"}), ("delayed_broker", 600, {"host"}), ("delayed_host", 800, {"server"})],
)
def test_acknowledgments_are_as_late_as_they_were_made(ingested, name, late_ms, senders):
    found, measured = told(ingested(PIECES / f"{name}.pcap.zst")), round_trips(PIECES / f"{name}.pcap.zst")
    begin, end = (event["ts_ns"] for event in json.loads((PIECES / f"{name}.truth.json").read_text())["events"])
    assert {row["sender"] for row in found} == senders
    for row in found:
        server = row["key"].rpartition(":")[0]
        ends = (row["host"], server) if row["sender"] == "host" else (server, row["host"])
        during = [ms for sent_ns, ms in measured[ends] if row["first_ns"] <= sent_ns < end]
        before = [ms for sent_ns, ms in measured[ends] if sent_ns < begin]
        assert median(before) < QUICK_MS
        assert late_ms <= median(during) <= late_ms + 2 * QUICK_MS
        assert abs(row["middle_ms"] - median(during)) <= late_ms / 4
        assert begin - S < row["first_ns"] < row["last_ns"] < end + NEAR_NS


@pytest.mark.parametrize("name", ["lossy_path.pcapng", "narrow_host.pcap", "path_cut.pcap", "frozen_broker.pcap"])
def test_what_is_lost_or_not_there_is_not_late(ingested, name):
    assert told(ingested(PIECES / f"{name}.zst")) == []


def test_times_begin_after_a_pause_and_waits_at_one_moment_are_one_turn():
    subject = np.array([1, 1, 1, 1, 2], np.int64)
    from_ns = np.array([0, 1, 5, 30, 31], np.int64)
    to_ns = np.array([4, 3, 9, 33, 40], np.int64)
    begins, in_turn = np.zeros(5, np.bool_), np.zeros(5, np.bool_)
    mark_times(subject, from_ns, to_ns, 10, begins, in_turn)
    assert begins.tolist() == [True, False, False, True, True]
    assert in_turn.tolist() == [True, False, True, True, True]


def test_some_that_are_quick_or_much_later_than_others_show_no_delay():
    conn, late = np.zeros(10, np.int64), np.full(10, 700)
    assert delays._is_slow(conn, late, np.zeros(10, np.int64))
    assert not delays._is_slow(conn, late, np.full(10, delays.MOST_QUICK + 1))
    assert not delays._is_slow(conn, np.where(np.arange(10) < 7, 700, 2800), np.zeros(10, np.int64))
    assert delays._is_slow(conn, np.where(np.arange(10) < 7, 700, 300), np.zeros(10, np.int64))
    assert not delays._is_slow(conn, np.where(np.arange(10) < 6, 700, 300), np.where(np.arange(10) < 6, 0, 1))
    assert not delays._is_slow(np.arange(10), late, np.zeros(10, np.int64))
