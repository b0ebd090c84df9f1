"""Runs put together, windows, and the events of servers: against plain Python, and against packets read by dpkt."""

import io
import socket
from collections import Counter
from pathlib import Path

import dpkt
import numpy as np
import pyarrow.compute as pc
import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables.events import EVENT_ORDER
from kafkascope_analyzer.resolve.servers.activity import in_windows
from kafkascope_analyzer.resolve.servers.run_union import Runs, RunUnion, first_ending_after, united

CAPTURES = Path(__file__).parents[4] / "fixtures" / "captures"
S = 1_000_000_000


def random_runs(seed, n_subjects=4, n=60):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 100 * S, n)
    length = rng.choice([0, S // 10, 3 * S, 20 * S], n)
    packets = rng.permutation(2 * n).astype(np.int64)
    return Runs(rng.integers(0, n_subjects, n), first, packets[:n], first + length, packets[n:])


def plain(runs):
    return list(zip(*(column.tolist() for column in runs), strict=True))


def put_together(rows):
    """The same as `united`, one run after the other."""
    out = []
    for subject, first, first_packet, last, last_packet in sorted(rows, key=lambda r: (r[0], r[1], r[2])):
        if out and out[-1][0] == subject and first - out[-1][3] < S:
            if (last, last_packet) > (out[-1][3], out[-1][4]):
                out[-1][3:] = [last, last_packet]
        else:
            out.append([subject, first, first_packet, last, last_packet])
    return [tuple(row) for row in out]


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_put_together_whatever_the_batches(seed):
    runs = random_runs(seed)
    expected = put_together(plain(runs))
    assert plain(united(runs)) == expected
    union = RunUnion()
    for rows in np.array_split(np.random.default_rng(seed).permutation(len(runs.subject)), 5):
        union.add(runs.taken(rows))
        union.runs()
    assert plain(union.runs()) == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_first_run_that_ends_after_a_time(seed):
    runs = united(random_runs(seed, n=12))
    rng = np.random.default_rng(seed)
    subject, at = rng.integers(0, 6, 40), rng.choice([*runs.last_ns.tolist(), 0, 50 * S, 200 * S], 40)
    rows = plain(runs)
    expected = [
        next((i for i, row in enumerate(rows) if row[0] == s and row[3] >= t), -1)
        for s, t in zip(subject.tolist(), at.tolist(), strict=True)
    ]
    assert first_ending_after(runs, subject, at).tolist() == expected


@pytest.mark.parametrize("seed", range(30))
def test_runs_in_windows_and_their_neighbours(seed):
    runs, windows = united(random_runs(seed, n=80)), united(random_runs(seed + 1000, n_subjects=3, n=5))
    server_of = np.array([0, 1, 2, 2])
    kept = set(plain(in_windows(runs, server_of, windows)))
    assert kept <= set(plain(runs))
    for row in plain(windows):
        for subject in np.flatnonzero(server_of == row[0]).tolist():
            mine = [run for run in plain(runs) if run[0] == subject]
            assert {run for run in mine if run[1] <= row[3] and run[3] >= row[1]} <= kept
            assert set([run for run in mine if run[3] < row[1]][-1:]) <= kept
            assert set([run for run in mine if run[1] > row[3]][:1]) <= kept


def server_events(dataset):
    table = Dataset.open(dataset).read("events")
    rows = table.filter(pc.equal(table["key_kind"], "server")).to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in EVENT_ORDER])


@pytest.mark.parametrize("name", ["healthy_basic", "mid_stream-snap96", "txn"])
def test_healthy_traffic_adds_a_row_per_server_and_host(name, ingested):
    rows = server_events(ingested(CAPTURES / f"{name}.pcap.zst"))
    assert Counter(row["kind"] for row in rows).keys() == {"server_host"}
    assert len({(row["key"], row["client_ip"]) for row in rows}) == len(rows)


def refused_by_packets(name):
    """(server, host) of each SYN that was answered with RST, from the packets."""
    raw = zstandard.ZstdDecompressor().stream_reader((CAPTURES / f"{name}.pcap.zst").open("rb")).read()
    waiting, refused = set(), Counter()
    for _, data in dpkt.pcap.Reader(io.BytesIO(raw)):
        ip = dpkt.ethernet.Ethernet(data).data
        if not isinstance(ip, dpkt.ip.IP) or not isinstance(ip.data, dpkt.tcp.TCP):
            continue
        tcp, (a, b) = ip.data, (socket.inet_ntoa(ip.src), socket.inet_ntoa(ip.dst))
        if tcp.flags & dpkt.tcp.TH_SYN and not tcp.flags & dpkt.tcp.TH_ACK:
            waiting.add((b, tcp.dport, a, tcp.sport))
        elif (a, tcp.sport, b, tcp.dport) in waiting:
            waiting.remove((a, tcp.sport, b, tcp.dport))
            if tcp.flags & dpkt.tcp.TH_RST:
                refused[f"{a}:{tcp.sport}", b] += 1
    return refused


@pytest.mark.parametrize("name", ["leader_move", "pieces/path_cut"])
def test_every_refused_connection_is_an_event(name, ingested):
    found = server_events(ingested(CAPTURES / f"{name}.pcap.zst"))
    rows = [row for row in found if row["kind"] == "server_connection"]
    refused = [row for row in rows if row["server_connection"]["close_kind"] == "refused"]
    assert Counter((row["key"], row["client_ip"]) for row in refused) == refused_by_packets(name)
    assert len(refused) > 10
