"""Spoilt captures: bytes of real packets changed, packets lost. Whatever comes, every byte is a frame or a row."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
HEADERS = 66
"""Ethernet, IPv4 and TCP with timestamps: payload begins behind them."""


@pytest.fixture(scope="module")
def packets():
    """(file header, [(packet header, packet)])."""
    raw = zstandard.ZstdDecompressor().stream_reader(CAPTURE.open("rb")).read()
    at, found = 24, []
    while at < len(raw):
        n = int.from_bytes(raw[at + 8 : at + 12], "little")
        found.append((raw[at : at + 16], raw[at + 16 : at + 16 + n]))
        at += 16 + n
    return raw[:24], found


def spoil(packet, rng):
    """Changes a few payload bytes, to values that make lengths and counts extreme as often as to any."""
    if len(packet) <= HEADERS:
        return packet
    out = bytearray(packet)
    for _ in range(int(rng.integers(1, 8))):
        at = HEADERS + int(rng.integers(0, len(out) - HEADERS))
        out[at] = int(rng.choice([0x00, 0x7F, 0x80, 0xFF, rng.integers(0, 256)]))
    return bytes(out)


def assert_every_byte_is_booked(dataset):
    ledger = json.loads((dataset / "_dataset.json").read_text())["ledger"]
    undecoded = pq.read_table(dataset / "undecoded", columns=["bytes"])["bytes"].to_pylist()
    assert ledger["stream_bytes"] == ledger["decoded_bytes"] + ledger["undecoded_bytes"]
    assert ledger["undecoded_bytes"] == sum(undecoded)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.lab) for seed in range(2, 6))])
def test_changed_bytes(packets, tmp_path, seed):
    header, found = packets
    rng = np.random.default_rng(seed)
    chosen = set(rng.choice(len(found), size=300, replace=False).tolist())
    spoilt = [head + (spoil(packet, rng) if i in chosen else packet) for i, (head, packet) in enumerate(found)]
    capture = tmp_path / "spoilt.pcap"
    capture.write_bytes(header + b"".join(spoilt))
    ingest([capture], tmp_path / "out.kscope")
    assert_every_byte_is_booked(tmp_path / "out.kscope")


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.lab) for seed in range(2, 4))])
def test_lost_packets(packets, tmp_path, seed):
    header, found = packets
    rng = np.random.default_rng(seed)
    kept = [head + packet for head, packet in found if rng.random() > 0.05]
    capture = tmp_path / "lossy.pcap"
    capture.write_bytes(header + b"".join(kept))
    ingest([capture], tmp_path / "out.kscope")
    dataset = tmp_path / "out.kscope"
    assert_every_byte_is_booked(dataset)
    ledger = json.loads((dataset / "_dataset.json").read_text())["ledger"]
    assert ledger["missing_bytes"] > 0
    requests = pq.read_table(dataset / "requests", columns=["status"])["status"].to_pylist()
    assert requests.count("ok") > 0.7 * len(requests)
