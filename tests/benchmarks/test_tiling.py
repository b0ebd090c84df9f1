"""Tiled captures are sane: every copy is the source with addresses, ports and times of its own."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dpkt
import numpy as np
import pytest
import zstandard
from benchmarks.tiling import MOST_TILES, SIDE_BY_SIDE, load_source, tiles_for, write_tiles
from benchmarks.traffic import KINDS, piece

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.run import ingest

ROOT = Path(__file__).parents[2]


def rows(dataset: Path, table: str = "requests") -> int:
    return Dataset.open(dataset).rows(table)


def packets(path: Path) -> list[tuple[float, bytes]]:
    with path.open("rb") as file:
        return list(dpkt.pcap.Reader(file))


def read(data: bytes) -> tuple[tuple[bytes, int], tuple[bytes, int], bytes]:
    ip = dpkt.ethernet.Ethernet(data).data
    return (ip.src, ip.data.sport), (ip.dst, ip.data.dport), bytes(ip.data.data)


def internet_sum(data: bytes) -> int:
    words = np.frombuffer(data + bytes(len(data) % 2), ">u2").astype(np.int64)
    total = int(words.sum())
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiles") / "short.pcap"
    write_tiles(load_source(piece("short")), path, SIDE_BY_SIDE + 2)
    return path


@pytest.mark.slow
def test_requests_are_those_of_one_times_the_copies(short: Path, tmp_path: Path) -> None:
    ingest([short], tmp_path / "all.kscope")
    ingest([piece("short")], tmp_path / "one.kscope")
    for table in ("requests", "connections", "errors"):
        assert rows(tmp_path / "all.kscope", table) == (SIDE_BY_SIDE + 2) * rows(tmp_path / "one.kscope", table)
    ledgers = [
        json.loads((tmp_path / name / "_dataset.json").read_text())["ledger"] for name in ("all.kscope", "one.kscope")
    ]
    assert ledgers[0] == {name: (SIDE_BY_SIDE + 2) * n for name, n in ledgers[1].items()}


def test_connections_are_new_ones_with_the_same_payload(short: Path) -> None:
    found = [read(data) for _, data in packets(short)]
    flows = Counter(frozenset((one, other)) for one, other, _ in found)
    payloads = Counter(payload for _, _, payload in found)
    source = load_source(piece("short"))
    assert len(found) == (SIDE_BY_SIDE + 2) * len(source.at)
    assert len(flows) == (SIDE_BY_SIDE + 2) * 53
    assert all(n % (SIDE_BY_SIDE + 2) == 0 for n in payloads.values())
    ports = {end[1] for flow in flows for end in flow}
    assert len(ports) > 200


def test_times_go_on_and_checksums_follow(short: Path) -> None:
    found = packets(short)
    times = [ts for ts, _ in found]
    assert times == sorted(times)
    for _, data in found[::13]:
        ip = data[14:34]
        segment = data[34:]
        pseudo = ip[12:20] + b"\0\x06" + len(segment).to_bytes(2, "big")
        assert internet_sum(ip) == 0xFFFF
        assert internet_sum(pseudo + segment) == 0xFFFF


def test_sizes_are_what_is_asked_for(tmp_path: Path) -> None:
    source = load_source(piece("short"))
    out = tmp_path / "two.pcap"
    write_tiles(source, out, tiles_for(source, 2))
    assert out.stat().st_size == pytest.approx(2e6, rel=0.1)
    assert tiles_for(source, 0.001) == 1
    with pytest.raises(SystemExit, match="more than"):
        tiles_for(source, MOST_TILES * source.file_bytes / 1e6 + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_pieces_is_left_out(kind: str) -> None:
    with piece(kind).open("rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file).read()
    blocks, at = 0, 0
    while at < len(data):
        blocks += int.from_bytes(data[at : at + 4], "little") == 6
        at += int.from_bytes(data[at + 4 : at + 8], "little")
    assert len(load_source(piece(kind)).at) == blocks


def test_every_piece_is_described() -> None:
    text = (ROOT / "benchmarks" / "data" / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "benchmarks" / "data").iterdir()} - {"README.md"}
    assert names == {piece(kind).name for kind in KINDS}
    assert [name for name in names if f"`{name}`" not in text] == []


def test_it_is_a_command(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "benchmarks.tiling", "short", "0.5", str(tmp_path / "a.pcap")]
    said = subprocess.run(program, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    result = json.loads(said.stdout)
    assert result == {"tiles": 2, "packets": len(packets(tmp_path / "a.pcap"))}
