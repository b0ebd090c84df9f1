"""Limits: what --max-memory takes, and that those which are hit say so."""

import json
import struct

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.memory.limits import LEAST_BYTES, Limits, limits_within, parse_size
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.framing import layout, pool

START_NS = 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("text", "n"), [("512M", 512 << 20), ("1G", 1 << 30), ("1.5GiB", 3 << 29), ("600mb", 600 << 20), ("7", 7)]
)
def test_sizes(text, n):
    assert parse_size(text) == n


@pytest.mark.parametrize("text", ["", "M", "-1M", "1T", "1e9", "512 MM"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="not a size"):
        parse_size(text)


def test_too_small_is_said():
    with pytest.raises(UsageError, match="at least 512M"):
        limits_within(LEAST_BYTES - 1)


def test_less_memory_means_less_at_a_time():
    small, half, whole = limits_within(LEAST_BYTES), limits_within(700 << 20), limits_within(None)
    assert whole == limits_within(4 << 30) == Limits()
    for name in ("block_bytes", "batch_bytes", "pending_bytes", "waiting_requests", "waiting_bytes"):
        assert 0 < getattr(small, name) < getattr(half, name) < getattr(whole, name)


def packet(port, seq, payload, flags=0x18):
    tcp = struct.pack(">HHIIBBHHH", port, 9092, seq, 1, 5 << 4, flags, 64000, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0, 64, 6, 0) + b"\x0a\0\0\x01\x0a\0\0\x02"
    return b"\2" * 12 + b"\x08\0" + ip + tcp + payload


def heartbeats(n, port=40000):
    """Requests that nobody answers: a capture of one direction."""
    seq = 1000
    yield packet(port, seq, b"", 0x02)
    for i in range(n):
        body = struct.pack(">hhih", 12, 1, i, 1) + b"c" + struct.pack(">h", 1) + b"g" + bytes(4) + b"\0\x01m"
        frame = struct.pack(">i", len(body)) + body
        yield packet(port, seq + 1, frame)
        seq += len(frame)


def write(path, packets):
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1))
        for i, raw in enumerate(packets):
            ns = START_NS + i * 1000
            out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(raw), len(raw)) + raw)
    return path


def read(place):
    manifest = json.loads((place / "_dataset.json").read_text())
    return manifest["limits_hit"], pq.read_table(place / "requests").to_pylist()


def test_requests_that_nobody_answers_are_given_up_one_by_one(tmp_path):
    n = pool.WAITING_LIMIT + 50
    ingest([write(tmp_path / "one.pcap", heartbeats(n))], tmp_path / "out.kscope", IngestOptions(jobs=1))
    hit, rows = read(tmp_path / "out.kscope")
    assert hit == {"waiting_requests": 50}
    assert len(rows) == n
    assert {row["status"] for row in rows} == {"unanswered"}
    assert max(row["in_flight"] for row in rows) == layout.WAITING_LIMIT


def test_those_of_all_connections_share_a_limit(tmp_path, monkeypatch):
    limits = Limits(block_bytes=1 << 16, waiting_requests=300)
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.limits_within", lambda _: limits)
    packets = [p for port in range(40000, 40004) for p in heartbeats(500, port)]
    ingest([write(tmp_path / "four.pcap", packets)], tmp_path / "out.kscope", IngestOptions(jobs=1))
    hit, rows = read(tmp_path / "out.kscope")
    assert hit["waiting_requests"] >= 2000 - 300 - 500
    assert {row["status"] for row in rows} == {"unanswered"}
    assert len(rows) == 2000


def test_a_capture_that_hits_no_limit_names_none(tmp_path):
    ingest([write(tmp_path / "few.pcap", heartbeats(5))], tmp_path / "out.kscope", IngestOptions(jobs=1))
    assert read(tmp_path / "out.kscope")[0] == {}
