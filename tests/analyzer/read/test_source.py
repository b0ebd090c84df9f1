"""Files, directories, globs and standard input; blocks of any size give the same packets in bounded memory."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.ranges import TIME_NS
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.source import CaptureFile, _with_earlier_times, iter_blocks
from kafkascope_parsers.capture import TLS_KEY_LOG
from kafkascope_parsers.errors import CaptureError, UsageError

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = FIXTURES / "captures"
FORMATS = FIXTURES / "wire" / "formats"
TSHARK = json.loads((FORMATS / "tshark.json").read_text())


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
    [
        ("a.pcap", bytes),
        ("a.pcap.gz", gzip.compress),
        ("a.pcap.zst", zstandard.ZstdCompressor().compress),
        ("misnamed.pcap", lz4.frame.compress),
        ("misnamed.zst", lzma.compress),
    ],
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


@pytest.mark.parametrize("block_bytes", [64, 333, 1 << 20])
@pytest.mark.parametrize("name", TSHARK)
def test_class_16_packets_of_every_format_are_those_of_tshark(name, block_bytes):
    file = CaptureFile(FORMATS / name, block_bytes)
    columns = ("packet_no", "ts_ns", "wirelen", "caplen")
    rows = [
        list(row)
        for block in file.blocks()
        for row in zip(*(getattr(block.packets, column).tolist() for column in columns), strict=True)
    ]
    assert rows == TSHARK[name]
    assert (file.info.cut_at_byte is None) == (name != "cut.pcapng")


@pytest.mark.parametrize("name", ["nano.lz4", "nano.xz"])
def test_what_the_programs_packed(name):
    assert captured(FORMATS / name, 500) == captured(FORMATS / "nano.pcap", 500)


def test_sections_keep_their_interfaces_and_secrets():
    file = CaptureFile(FORMATS / "sections.pcapng", 777)
    links = [link for block in file.blocks() for link in block.packets.linktype.tolist()]
    assert links == [1] * 40 + [276] * 20 + [1] * 20
    assert (file.info.linktypes, file.info.snaplen) == ([1, 276], 262144)
    secrets = file.take_secrets()
    ((kind, line),) = [(s.kind, s.data) for s in secrets]
    assert kind == TLS_KEY_LOG
    assert line.split() == [b"CLIENT_RANDOM", b"%064d" % 1, b"%096d" % 2]
    assert str(2) * 3 not in repr(file.info)
    assert "CLIENT_RANDOM" not in repr((file.info, secrets))


@pytest.mark.parametrize("block_bytes", [64, 700, 1 << 20])
def test_behind_a_corrupt_record_it_goes_on(tmp_path, block_bytes):
    packets = [bytes([i]) * (50 + i) for i in range(60)]
    data = bytearray(pcap(packets))
    places = np.cumsum([24, *(16 + len(packet) for packet in packets)]).tolist()
    for n in (20, 40):
        data[places[n] + 8 : places[n] + 12] = b"\xff" * 4
    (tmp_path / "a.pcap").write_bytes(data)
    file = CaptureFile(tmp_path / "a.pcap", block_bytes)
    found = [
        block.buf[at : at + n].tobytes()
        for block in file.blocks()
        for at, n in zip(block.packets.offset, block.packets.caplen, strict=True)
    ]
    assert found == packets[:20] + packets[21:40] + packets[41:]
    assert file.info.cut_at_byte == places[20]
    assert file.info.cut_why == "a packet that says it holds more than 262144 bytes (and 1 more place)"
    assert file.info.unread_bytes == places[21] - places[20] + places[41] - places[40]


def test_a_length_that_reaches_behind_the_end_is_not_believed(tmp_path):
    packets = [bytes([i]) * 100 for i in range(60)]
    data = bytearray(pcap(packets))
    data[24 + 20 * 116 + 8 : 24 + 20 * 116 + 12] = struct.pack("<I", 65535)
    (tmp_path / "a.pcap").write_bytes(data)
    file = CaptureFile(tmp_path / "a.pcap")
    assert sum(len(block.packets) for block in file.blocks()) == 59
    assert (file.info.cut_at_byte, file.info.unread_bytes) == (24 + 20 * 116, 116)
    assert file.info.cut_why == "a packet that says it is longer than the file"


def test_what_cannot_be_read_is_counted_to_the_end(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap(PACKETS) + b"\xff" * 5000)
    file = CaptureFile(tmp_path / "a.pcap", 1000)
    assert sum(len(block.packets) for block in file.blocks()) == 50
    assert (file.info.cut_at_byte, file.info.unread_bytes) == (len(pcap(PACKETS)), 5000)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_byte_of_a_spoilt_file_is_in_a_packet_or_counted(tmp_path, data):
    spoilt = bytearray(pcap([bytes([i]) * (20 + i % 7 * 30) for i in range(40)]))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(40, len(spoilt) - 1))
        spoilt[at : at + data.draw(st.sampled_from([0, 1, 4, 300]))] = data.draw(st.binary(max_size=20))
    (tmp_path / "a.pcap").write_bytes(spoilt)
    file = CaptureFile(tmp_path / "a.pcap", data.draw(st.sampled_from([64, 500, 1 << 20])))
    try:
        sizes = [16 + n for block in file.blocks() for n in block.packets.caplen.tolist()]
    except CaptureError:
        assert file.info.n_packets == 0
        return
    assert 24 + sum(sizes) + file.info.unread_bytes == len(spoilt)
    assert (file.info.unread_bytes == 0) == (file.info.cut_at_byte is None)


PACKERS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_data_that_is_cut_gives_its_whole_packets(tmp_path, kind):
    rng = np.random.default_rng(2)
    packets = [rng.bytes(1000) for _ in range(2000)]
    packed = PACKERS[kind](pcap(packets))
    (tmp_path / "a.pcap").write_bytes(packed[: len(packed) * 9 // 10])
    file = CaptureFile(tmp_path / "a.pcap", 100_000)
    n = sum(len(block.packets) for block in file.blocks())
    assert 900 < n <= 1800
    assert (file.info.compression, file.info.cut_at_byte) == (kind, 24 + n * 1016)
    assert f"{kind} data ends before its end" in file.info.cut_why
    assert file.info.unread_bytes < 1016


def test_a_disk_that_fails_leaves_what_was_read(monkeypatch):
    class Failing(io.BytesIO):
        def readinto(self, target):
            n = super().readinto(memoryview(target)[:500])
            if not n:
                raise OSError(5, "Input/output error")
            return n

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Failing(pcap(PACKETS)[:3000])))
    file = CaptureFile(Path("-"), 700)
    n = sum(len(block.packets) for block in file.blocks())
    assert 10 < n < 50
    assert file.info.cut_why == "reading failed: Input/output error"
    assert file.info.cut_at_byte == 24 + sum(16 + len(packet) for packet in PACKETS[:n])


def test_a_first_record_that_is_corrupt_is_an_error(tmp_path):
    data = bytearray(pcap(PACKETS))
    data[24 + 8 : 24 + 12] = b"\xff" * 4
    (tmp_path / "a.pcap").write_bytes(data)
    with pytest.raises(CaptureError, match=r"a\.pcap: byte 24: a packet that says"):
        list(iter_blocks(tmp_path / "a.pcap"))


BEGUN = [b"", b"\xd4\xc3", pcap([])[:20], gzip.compress(pcap([]), mtime=0)[:9], b"\x0a\x0d\x0d\x0a" + bytes(16)]


@pytest.mark.parametrize("data", BEGUN)
def test_a_file_that_was_just_begun_has_no_packets_where_others_have(tmp_path, data):
    (tmp_path / "a.pcap").write_bytes(data)
    with pytest.raises(CaptureError):
        list(iter_blocks(tmp_path / "a.pcap"))
    file = CaptureFile(tmp_path / "a.pcap", may_be_empty=True)
    assert list(file.blocks()) == []
    assert (file.info.n_packets, file.info.cut_at_byte) == (0, 0)


def test_what_is_no_capture_is_an_error_among_others_too(tmp_path):
    (tmp_path / "a.pcap").write_bytes(b"hello")
    with pytest.raises(CaptureError, match="not a pcap"):
        list(CaptureFile(tmp_path / "a.pcap", may_be_empty=True).blocks())


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
    (tmp_path / "trace1").write_bytes(lzma.compress(pcap([])))
    (tmp_path / "notes.gz").write_bytes(gzip.compress(b"notes"))
    names = ["a.PCAPNG", "b.pcap", "c.cap.gz", "sub/d.dmp.zst", "trace", "trace1"]
    wanted = [tmp_path / name for name in names]
    assert [place.local for place in expand_inputs([str(tmp_path)])] == wanted
    found = expand_inputs([str(tmp_path / "*.pcap"), str(tmp_path / "b.pcap"), "-"])
    assert [str(place) for place in found] == [str(tmp_path / "b.pcap"), "-"]
    assert [place.local for place in expand_inputs([tmp_path / "e.txt"])] == [tmp_path / "e.txt"]
    uris = [str(place) for place in expand_inputs([tmp_path.as_uri()])]
    assert uris == [path.as_uri() for path in wanted]
    with pytest.raises(CaptureError, match="no such file"):
        expand_inputs([str(tmp_path / "nothing")])
    for arguments in ([], [str(tmp_path / "*.md")], [str(tmp_path / "*.xyz")]):
        with pytest.raises(UsageError):
            expand_inputs(arguments)


def test_a_packet_whose_time_cannot_be_gets_that_of_the_packet_before_it() -> None:
    times = np.array([2**63 - 1, 5, -1, 2**62 + 2**62 - 1, 7], np.int64)
    outside = TIME_NS.outside(times)
    assert outside is not None
    assert _with_earlier_times(times, outside, None).tolist() == [5, 5, 5, 5, 7]
    assert _with_earlier_times(times, outside, 3).tolist() == [3, 5, 5, 5, 7]
    assert _with_earlier_times(times[:1], outside[:1], None).tolist() == [0]
