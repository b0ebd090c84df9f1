"""Lost packets against packets read by dpkt, one after the other, and against what the lab did to the path."""

import json
import socket
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import dpkt
import numpy as np
import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.resolve.servers.kernels import mark_unreported
from kafkascope_analyzer.resolve.servers.losses import Retransmissions, _lost_ns

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
PIECE = PIECES / "lossy_path.pcapng.zst"
NEAR_NS = 3_000_000_000


TO_CLIENT = PIECES / "lossy_to_client.pcap.zst"
READERS = {".pcapng": dpkt.pcapng.Reader, ".pcap": dpkt.pcap.Reader}


def lost_in(capture):
    """By sender and receiver, the times of the segments that were sent again and that no D-SACK reports."""
    reader = READERS[capture.suffixes[0]](zstandard.ZstdDecompressor().stream_reader(capture.open("rb")))
    reached, open_ones, lost = {}, defaultdict(list), defaultdict(list)
    for ts, data in reader:
        ip = dpkt.ethernet.Ethernet(data).data
        tcp = ip.data
        ends = (socket.inet_ntoa(ip.src), tcp.sport, socket.inet_ntoa(ip.dst), tcp.dport)
        length, behind = len(tcp.data), (tcp.seq + len(tcp.data)) % (1 << 32)
        if reports_twice(tcp):
            back = (ends[2], ends[3], ends[0], ends[1])
            if open_ones[back]:
                open_ones[back].pop()
        if length > 1 and ends in reached and 0 <= (reached[ends] - behind) % (1 << 32) < 1 << 31:
            open_ones[ends].append(ts)
        elif length:
            reached[ends] = behind
    for ends, times in open_ones.items():
        lost[ends[0], ends[2]] += times
    return lost


def reports_twice(tcp):
    blocks = [value for kind, value in dpkt.tcp.parse_opts(tcp.opts) if kind == dpkt.tcp.TCP_OPT_SACK]
    return bool(blocks) and 0 < (tcp.ack - int.from_bytes(blocks[0][:4], "big")) % (1 << 32) < 1 << 31


def events(dataset, kind):
    rows = Dataset.open(dataset).read("events").to_pylist()
    return [row[kind] | {"key": row["key"]} for row in rows if row["kind"] == kind]


def test_what_is_lost_is_what_was_sent_again_and_not_reported(ingested):
    expected = lost_in(PIECE)
    found = events(ingested(PIECE), "packet_loss")
    (dropped,), (restored,) = (
        [e["ts_ns"] for e in json.loads((PIECES / "lossy_path.truth.json").read_text())["events"] if e["kind"] == kind]
        for kind in ("path_lossy", "path_restored")
    )
    assert {(row["key"], row["host"], row["sender"]) for row in found} == {
        ("10.77.0.13:9092", "10.77.0.104", sender) for sender in ("host", "server")
    }
    ends = {"host": ("10.77.0.104", "10.77.0.13"), "server": ("10.77.0.13", "10.77.0.104")}
    for row in found:
        times = sorted(expected[ends[row["sender"]]])
        assert row["n_lost"] == len(times)
        assert row["n_bursts"] == 1 + sum(after - before >= 0.2 for before, after in pairwise(times))
        assert dropped < row["first_ns"] < row["last_ns"] < restored + NEAR_NS
        assert row["least_bytes"] < row["most_bytes"]
        assert row["n_lost"] / 2 <= row["n_segments"] <= row["n_lost"]


def test_a_host_that_never_reports_misses_what_is_sent_again_to_it(ingested):
    """A quarter of the broker's packets to the host were dropped, and none of the host's: nothing came to it twice."""
    (row,) = events(ingested(TO_CLIENT), "packet_loss")
    times = sorted(lost_in(TO_CLIENT)["10.77.0.13", "10.77.0.104"])
    assert (row["key"], row["host"], row["sender"]) == ("10.77.0.13:9092", "10.77.0.104", "server")
    assert row["n_lost"] == len(times)
    assert (row["first_ns"], row["last_ns"]) == tuple(round(ts * 1e6) * 1000 for ts in (times[0], times[-1]))


@pytest.mark.parametrize("name", ["healthy_basic", "leader_move", "txn"])
def test_what_is_only_repeated_is_not_lost(ingested, name):
    """Receivers that delay their acknowledgments make senders repeat what has arrived."""
    dataset = ingested(PIECES.parent / f"{name}.pcap.zst")
    kinds = pq.read_table(dataset / "tcp_events", partitioning=None)["event"].to_pylist()
    assert kinds.count("retransmit") == kinds.count("dsack") > 0
    assert not events(dataset, "packet_loss")
    assert not events(dataset, "slow_process")


@pytest.mark.parametrize("seed", range(20))
def test_each_report_is_about_the_last_that_is_not_reported(seed):
    rng = np.random.default_rng(seed)
    direction = np.sort(rng.integers(0, 5, 60))
    is_report = rng.random(60) < 0.4
    lost = np.zeros(60, np.bool_)
    mark_unreported(direction, is_report, np.empty(60, np.int64), lost)
    expected = []
    for number in range(5):
        waiting = []
        for at in np.flatnonzero(direction == number):
            if not is_report[at]:
                waiting.append(at)
            elif waiting:
                waiting.pop()
        expected += waiting
    assert np.flatnonzero(lost).tolist() == sorted(expected)


@pytest.mark.parametrize(
    ("attempts", "lost_s"),
    [
        ([(1, 10.0), (1, 10.2), (1, 11.0), (1, 14.2), (1, 27.0)], 14.2),
        ([(1, 10.0), (1, 14.2), (1, 27.0), (1, 27.01), (2, 20.0)], 14.2),
        ([(1, 10.0), (2, 16.0)], 10.0),
    ],
    ids=["the last attempt arrives", "with all else that was lost", "one attempt each"],
)
def test_what_is_sent_again_at_last_was_lost_before_the_pause(attempts, lost_s):
    """attempts: connections that sent again, and when."""
    conn, ts_s = (np.array(column) for column in zip(*sorted(attempts, key=lambda each: each[1]), strict=True))
    ts_ns, same = (ts_s * 1e9).astype(np.int64), np.zeros(len(conn), np.int64)
    again = Retransmissions(conn, same, ts_ns, same, same, same, same.astype(bool))
    assert _lost_ns(again, np.arange(len(conn))) == round(lost_s * 1e9)
