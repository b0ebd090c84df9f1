"""Files, directories, globs and standard input; blocks of any size give the same packets in bounded memory."""

import gzip
import hashlib
import io
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard

from kafkascope_analyzer.ingest.source import CaptureFile, expand_inputs, iter_blocks
from kafkascope_parsers.errors import CaptureError, UsageError

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def pcap(packets):
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for i, data in enumerate(packets):
        out += struct.pack("<IIII", 5000 - i, 5, len(data), len(data) + (i == 1)) + data
    return out


PACKETS = [bytes([i]) * (i * 37 % 300) for i in range(50)]


def captured(path, block_bytes):
    return [
        block.buf[at : at + n].tobytes()
        for block in iter_blocks(path, block_bytes)
        for at, n in zip(block.packets.offset, block.packets.caplen, strict=True)
    ]


@pytest.mark.parametrize("block_bytes", [64, 100, 1000, 1 << 20])
@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.pcap", bytes), ("a.pcap.gz", gzip.compress), ("a.pcap.zst", zstandard.ZstdCompressor().compress)],
)
def test_blocks_of_any_size_give_all_packets(tmp_path, block_bytes, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(pcap(PACKETS)))
    assert captured(path, block_bytes) == PACKETS


def test_info_tells_what_was_read(tmp_path):
    path = tmp_path / "a.pcap"
    data = pcap(PACKETS)
    path.write_bytes(data[:-3])
    file = CaptureFile(path, 500)
    numbers = [no for block in file.blocks() for no in block.packets.packet_no.tolist()]
    info = file.info
    assert numbers == list(range(1, 50))
    assert (info.format, info.compression, info.linktypes, info.snaplen) == ("pcap", "none", [1], 65535)
    assert (info.n_packets, info.n_truncated, info.n_dropped) == (49, 1, None)
    assert (info.first_ts_ns, info.last_ts_ns) == (4952 * 10**9 + 5, 5000 * 10**9 + 5)
    assert (info.cut_at_byte, info.unread_bytes) == (len(data) - len(PACKETS[-1]) - 16, len(PACKETS[-1]) + 16 - 3)
    assert "last packet is not whole" in info.cut_why
    assert info.size_bytes == len(data) - 3
    assert info.sha256 == hashlib.sha256(data[:-3]).hexdigest()


def test_digest_covers_the_first_and_the_last_mib(tmp_path):
    path = tmp_path / "a.pcap"
    data = bytearray(pcap([bytes(1 << 18)] * 12))
    digests = []
    for place in (None, 2_000_000, len(data) - 1, 100):
        path.write_bytes(data if place is None else data[:place] + b"\1" + data[place + 1 :])
        file = CaptureFile(path)
        assert len(list(file.blocks())) == 1
        digests.append(file.info.sha256)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_one_buffer_serves_all_blocks(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([bytes(100)] * 1000))
    places = {block.buf.__array_interface__["data"][0] for block in iter_blocks(path, 5000)}
    assert len(places) == 1


def test_standard_input(monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pipe(gzip.compress(pcap(PACKETS)))))
    file = CaptureFile(Path("-"), 200)
    assert sum(len(block.packets) for block in file.blocks()) == 50
    assert file.info.sha256 is None


def test_unreadable_inputs_are_capture_errors(tmp_path):
    (tmp_path / "empty.pcap").write_bytes(b"")
    for path in (tmp_path / "empty.pcap", tmp_path / "none.pcap", tmp_path):
        with pytest.raises(CaptureError, match=str(path)):
            list(iter_blocks(path))


def test_real_pcapng():
    file = CaptureFile(CAPTURES / "mid_stream-ng.pcapng.zst", 50_000)
    n = sum(len(block.packets) for block in file.blocks())
    assert (file.info.format, file.info.compression, file.info.n_packets) == ("pcapng", "zstd", n)
    assert n > 6000
    assert np.diff([file.info.first_ts_ns, file.info.last_ts_ns])[0] > 10**9


def test_expand_inputs(tmp_path):
    for name in ("b.pcap", "a.PCAPNG", "c.cap.gz", "sub/d.dmp.zst", "e.txt", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "trace").write_bytes(pcap([]))
    names = ["a.PCAPNG", "b.pcap", "c.cap.gz", "sub/d.dmp.zst", "trace"]
    wanted = [tmp_path / name for name in names]
    assert expand_inputs([str(tmp_path)]) == wanted
    assert expand_inputs([str(tmp_path / "*.pcap"), str(tmp_path / "b.pcap"), "-"]) == [tmp_path / "b.pcap", Path("-")]
    assert expand_inputs([tmp_path / "e.txt"]) == [tmp_path / "e.txt"]
    with pytest.raises(CaptureError, match="no such file"):
        expand_inputs([str(tmp_path / "nothing")])
    for arguments in ([], [str(tmp_path / "*.md")], [str(tmp_path / "*.xyz")]):
        with pytest.raises(UsageError):
            expand_inputs(arguments)
