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
S, MS = 1_000_000_000, 1_000_000
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
    [
        ("delayed_path", 700, {"host"}),
        ("delayed_broker", 600, {"host"}),
        ("delayed_host", 800, {"server"}),
        ("late_broker", 150, {"host"}),
    ],
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


@pytest.mark.parametrize(
    "name", ["lossy_path.pcapng", "narrow_host.pcap", "path_cut.pcap", "frozen_broker.pcap", "slow_broker.pcap"]
)
def test_what_is_lost_or_not_there_is_not_late(ingested, name):
    """Nor is a process whose kernel acknowledges as soon as ever."""
    assert told(ingested(PIECES / f"{name}.zst")) == []


def test_times_begin_after_a_pause_and_waits_at_one_moment_are_one_turn():
    subject = np.array([1, 1, 1, 1, 2], np.int64)
    from_ns = np.array([0, 1, 5, 30, 31], np.int64)
    to_ns = np.array([4, 3, 9, 33, 40], np.int64)
    begins, in_turn = np.zeros(5, np.bool_), np.zeros(5, np.bool_)
    mark_times(subject, from_ns, to_ns, 10, begins, in_turn)
    assert begins.tolist() == [True, False, False, True, True]
    assert in_turn.tolist() == [True, False, True, True, True]


def waits(took_ms, n_quick=0, conn=0, every_ms=1_000):
    """Waits one after the other; of several connections those of one list are at the same times."""
    took = np.asarray(took_ms, np.int64)
    first = np.arange(len(took)) * every_ms * MS
    columns = {"first_ns": first, "first_packet": np.arange(len(took)), "until_ns": first + took * MS}
    columns |= {"until_packet": np.arange(len(took)), "covered_ns": first + took * MS}
    columns |= {"conn": conn, "sender": 0, "n_quick": n_quick, "n_waits": 1, "n_quick_after": 0}
    return {name: np.broadcast_to(columns[name], len(took)).astype(np.int64) for name in delays._NAMES}


def test_some_that_are_quick_or_much_later_than_others_show_no_delay():
    late = np.full(10, 700)
    assert delays._is_slow(waits(late))
    assert not delays._is_slow(waits(late, n_quick=delays.MOST_QUICK + 1))
    assert not delays._is_slow(waits(np.where(np.arange(10) < 7, 700, 2800)))
    assert delays._is_slow(waits(np.where(np.arange(10) < 7, 700, 300)))
    assert not delays._is_slow(waits(np.where(np.arange(10) < 6, 700, 300), np.where(np.arange(10) < 6, 0, 1)))
    assert not delays._is_slow(waits(late, conn=np.arange(10)))


def test_waits_that_are_left_out_are_counted_by_those_before_them():
    every = waits(np.full(2_000, 300), n_quick=np.arange(2_000) % 2, every_ms=400)
    kept = delays._thinned(every)
    n_slices = 3
    assert len(kept["conn"]) == n_slices * (delays.FIRST_WAITS + 1)
    assert kept["n_waits"].sum() == len(every["conn"])
    assert kept["n_quick"].sum() + kept["n_quick_after"].sum() == every["n_quick"].sum()
    assert kept["covered_ns"].max() == every["until_ns"].max()
    again = delays._thinned(kept)
    assert all(np.array_equal(again[name], kept[name]) for name in delays._NAMES)


def test_a_pause_begins_a_time_of_its_own_also_where_most_waits_are_left_out():
    one = waits(np.full(200, 300), every_ms=400)
    later = one | {name: one[name] + 200 * S for name in ("first_ns", "until_ns", "covered_ns")}
    kept = delays._thinned(delays._joined([one, later]))
    assert len(kept["conn"]) == 2 * (delays.FIRST_WAITS + 1)
    begins, in_turn = np.zeros((2, len(kept["conn"])), np.bool_)
    mark_times(kept["conn"], kept["first_ns"], kept["covered_ns"], delays.APART_NS, begins, in_turn)
    assert np.flatnonzero(begins).tolist() == [0, delays.FIRST_WAITS + 1]
    assert in_turn.all()
