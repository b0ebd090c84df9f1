"""pcap and pcapng readers, against files written by hand to the formats' drafts and by scapy."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter, PcapWriter

from kafkascope_parsers.capture import TLS_KEY_LOG, open_reader
from kafkascope_parsers.errors import CaptureError

PAYLOADS = [b"", b"a", b"bc" * 40, bytes(range(256))]
PCAP_KINDS = [(order, nano) for order in "<>" for nano in (False, True)]


def pcap(order, nano, packets, linktype=1, snaplen=65535):
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, linktype)
    for i, data in enumerate(packets):
        out += struct.pack(order + "IIII", 1_700_000_000 + i, 123, len(data), len(data) + i) + data
    return out


def block(order, kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def section(order):
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def interface(order, linktype=1, snaplen=0, options=b""):
    return block(order, 1, struct.pack(order + "HHI", linktype, 0, snaplen) + options)


def enhanced(order, number, units, data, wirelen=None):
    head = struct.pack(order + "IIIII", number, units >> 32, units & 0xFFFFFFFF, len(data), wirelen or len(data))
    return block(order, 6, head + data)


def read_all(data, step=None, name="x.pcap"):
    """Reads a capture in steps of that many bytes; gives rows (no, ts, bytes, wirelen, linktype), the
    reader and how many bytes its end left of a record."""
    buf = np.frombuffer(bytearray(data), np.uint8)
    reader = open_reader(data[:64], name)
    rows, start, end = [], 0, len(buf) if step is None else min(step, len(buf))
    while True:
        packets, consumed = reader.read_packets(buf, start, end, end == len(buf))
        for i in range(len(packets)):
            at = packets.offset[i]
            captured = buf[at : at + packets.caplen[i]].tobytes()
            rows.append(
                (
                    int(packets.packet_no[i]),
                    int(packets.ts_ns[i]),
                    captured,
                    int(packets.wirelen[i]),
                    int(packets.linktype[i]),
                )
            )
        start += consumed
        if consumed == 0:
            if end == len(buf):
                return rows, reader, len(buf) - start
            end = min(end + step, len(buf))


@pytest.mark.parametrize(("order", "nano"), PCAP_KINDS)
@pytest.mark.parametrize("step", [None, 64, 7])
def test_pcap_of_every_kind_in_any_portions(order, nano, step):
    rows, reader, rest = read_all(pcap(order, nano, PAYLOADS, linktype=113), step)
    unit = 1 if nano else 1000
    assert rows == [
        (i + 1, (1_700_000_000 + i) * 10**9 + 123 * unit, data, len(data) + i, 113) for i, data in enumerate(PAYLOADS)
    ]
    assert (reader.format, reader.linktypes, reader.snaplen, reader.n_dropped) == ("pcap", [113], 65535, None)
    assert (reader.n_packets, rest) == (4, 0)


@pytest.mark.parametrize("n_missing", [1, 255, 256, 270, 271])
def test_pcap_cut_in_its_last_packet_gives_the_others(n_missing):
    data = pcap("<", True, PAYLOADS)
    rows, reader, rest = read_all(data[:-n_missing])
    assert len(rows) == 3
    assert reader.position == len(data) - 256 - 16
    assert rest == 256 + 16 - n_missing


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\xd4\xc3\xb2", "too short"),
        (pcap("<", True, [])[:20], "24-byte pcap header"),
        (b"#!/bin/sh\n", "not a pcap or pcapng"),
        (b"PAR1" + bytes(40), "Parquet"),
        (section("<")[:20], "section header"),
        (b"\x0a\x0d\x0d\x0a" + bytes(60), "byte-order"),
    ],
)
def test_what_is_no_capture_is_refused_with_one_sentence(data, words):
    with pytest.raises(CaptureError, match=words) as error:
        open_reader(data[:64], "some/file.pcap")
    assert str(error.value).startswith("some/file.pcap: ")
    assert "\n" not in str(error.value)


def test_corrupt_pcap_record_is_named_after_the_packets_before_it():
    good = pcap("<", True, PAYLOADS)
    data = good + struct.pack("<IIII", 1, 1, 0x7FFFFFFF, 5) + bytes(100)
    buf = np.frombuffer(bytearray(data), np.uint8)
    reader = open_reader(data[:64], "x.pcap")
    packets, consumed = reader.read_packets(buf, 0, len(buf), True)
    assert (len(packets), consumed) == (4, len(good))
    with pytest.raises(CaptureError, match=f"byte {len(good)}"):
        reader.read_packets(buf, consumed, len(buf), True)


def test_pcap_of_the_modified_kind():
    """Records of 24 bytes: interface, protocol and packet type follow the lengths."""
    for order in "<>":
        data = struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, 1)
        for i, payload in enumerate(PAYLOADS):
            lengths = struct.pack(order + "IIII", 1_700_000_000 + i, 123, len(payload), len(payload))
            data += lengths + struct.pack(order + "IHBx", 3, 0x800, 4) + payload
        rows, reader, rest = read_all(data, 29)
        times = [(1_700_000_000 + i) * 10**9 + 123_000 for i in range(len(PAYLOADS))]
        assert [row[1:3] for row in rows] == list(zip(times, PAYLOADS, strict=True))
        assert (reader.format, rest) == ("pcap", 0)


def record(seconds, fraction, caplen, wirelen, data=b""):
    return struct.pack("<IIII", seconds, fraction, caplen, wirelen) + data


def test_class_16_odd_lengths_and_times_of_pcap():
    """No captured bytes, more than the snap length, more than there were on the wire, time that goes back."""
    data = pcap("<", False, [], snaplen=4)
    data += record(9, 1, 0, 60) + record(8, 2, 6, 60, b"abcdef") + record(7, 3, 3, 2, b"xyz") + record(7, 4, 0, 0)
    data += record(0xFFFFFFFF, 999_999, 1, 0xFFFFFFFF, b"!") + record(6, 1_500_000, 1, 1, b"?")
    assert read_all(data)[0] == [
        (1, 9_000_001_000, b"", 60, 1),
        (2, 8_000_002_000, b"abcdef", 60, 1),
        (3, 7_000_003_000, b"xyz", 3, 1),
        (4, 7_000_004_000, b"", 0, 1),
        (5, 0xFFFFFFFF * 10**9 + 999_999_000, b"!", 0x7FFFFFFF, 1),
        (6, 7_500_000_000, b"?", 1, 1),
    ]


@pytest.mark.parametrize("caplen", [262_145, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_an_impossible_length_is_not_believed(caplen):
    data = pcap("<", True, PAYLOADS) + record(1, 1, caplen, caplen) + bytes(300)
    with pytest.raises(CaptureError, match="more than 262144 bytes"):
        read_all(data)


def test_a_long_packet_is_believed_where_the_snap_length_allows_it():
    long = bytes(300_000)
    assert [row[2] for row in read_all(pcap("<", True, [long], snaplen=400_000))[0]] == [long]


def test_zeros_are_no_packets():
    """What is left of a file whose last pages were never written."""
    data = pcap("<", True, PAYLOADS) + bytes(1000)
    with pytest.raises(CaptureError, match="zeros") as error:
        read_all(data)
    assert error.value.byte == len(data) - 1000


def resumed(data, spoil, final=True):
    """Reads spoilt data as far as it goes; gives how many bytes behind the corrupt place are passed over, or None."""
    buf = np.frombuffer(bytearray(spoil), np.uint8)
    reader = open_reader(data[:64], "x")
    packets, at = reader.read_packets(buf, 0, len(buf), final)
    assert len(packets)
    with pytest.raises(CaptureError):
        reader.read_packets(buf, at, len(buf), final)
    n, found = reader.pass_over(buf, at, len(buf), final)
    return (at, n, found, len(reader.read_packets(buf, at + n, len(buf), final)[0]))


def steady(order, n):
    """A pcap of n packets of noise, and where each record begins."""
    rng = np.random.default_rng(4)
    out, places = pcap(order, True, []), []
    for i in range(n):
        places.append(len(out))
        data = rng.bytes(int(rng.integers(40, 300)))
        out += struct.pack(order + "IIII", 1_700_000_000 + i, i, len(data), len(data)) + data
    return out, places


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_goes_on_behind_a_corrupt_place(order):
    data, places = steady(order, 40)
    spoilt = bytearray(data)
    spoilt[places[10] + 8 : places[12] + 7] = b"\xff" * (places[12] - places[10] - 1)
    assert resumed(data, spoilt) == (places[10], places[13] - places[10], True, 27)


def test_pcap_takes_no_place_that_is_not_proved():
    data, places = steady("<", 40)
    for after in (0, 1):
        spoilt = data[: places[10]] + b"\xff" * 20 + data[places[11] : places[11 + after]]
        assert resumed(data, spoilt) == (places[10], len(spoilt) - places[10], False, 0)
    one_header_left = data[: places[10]] + b"\xff" * 20 + data[places[11] : places[12]]
    at, n, found, _ = resumed(data, one_header_left, final=False)
    assert (found, at + n + 1) == (False, places[10] + 20)


def test_pcapng_goes_on_behind_a_corrupt_block():
    blocks = [enhanced("<", 0, 1000 + i, bytes([i]) * (20 + i)) for i in range(20)]
    start = section("<") + interface("<")
    data = start + b"".join(blocks)
    at = len(start) + sum(map(len, blocks[:5]))
    for place, value in ((4, 0x7FFFFFF0), (4, 8), (4, 200), (8, 5), (20, 9000)):
        spoilt = bytearray(data)
        spoilt[at + place : at + place + 4] = struct.pack("<I", value)
        assert resumed(data, spoilt) == (at, len(blocks[5]), True, 14)


def test_secrets_and_names_are_kept_and_secrets_not_shown():
    lines = b"CLIENT_RANDOM 0011 2233\n"
    names = struct.pack("<HH", 1, 4 + 9) + bytes([10, 0, 0, 1]) + b"broker-1\0" + bytes(3)
    names += struct.pack("<HH", 2, 16 + 4) + bytes(15) + b"\1" + b"a\0b\0" + struct.pack("<HH", 0, 0)
    data = section("<") + block("<", 10, struct.pack("<II", 0x544C534B, len(lines)) + lines)
    data += interface("<") + block("<", 4, names) + block("<", 10, struct.pack("<II", 7, 1000))
    data += section(">") + block(">", 10, struct.pack(">II", 0x57474B4C, 2) + b"wg")
    data += interface(">") + enhanced(">", 0, 1, b"abc")
    rows, reader, _ = read_all(data, 33)
    assert len(rows) == 1
    assert [(s.kind, s.data) for s in reader.secrets] == [(TLS_KEY_LOG, lines), (0x57474B4C, b"wg")]
    assert "2233" not in repr(reader.secrets)
    assert reader.names == [("10.0.0.1", "broker-1"), ("::1", "a"), ("::1", "b")]


def test_secrets_are_limited():
    big = block("<", 10, struct.pack("<II", 1, 9 << 20) + bytes(9 << 20))
    _, reader, _ = read_all(section("<") + big + big)
    assert [len(s.data) for s in reader.secrets] == [9 << 20]


RESOLUTIONS = [
    (b"\x06", 10**6, 1_700_000_000_000_123, 1_700_000_000_000_123_000),
    (b"\x09", 10**9, 1_700_000_000_000_000_123, 1_700_000_000_000_000_123),
    (b"\x00", 1, 1_700_000_000, 1_700_000_000 * 10**9),
    (b"\x14", 10**20, 12_345_678_901_234_567_890 % 2**63, (12_345_678_901_234_567_890 % 2**63) // 10**11),
    (b"\x30", 10**48, 1_700_000_000, 0),
    (b"\xc0", 1 << 64, 1_700_000_000, 0),
    (b"\x0b", 10**11, 12_345_678_901_234, 123_456_789_012),
    (b"\x80", 1, 1_700_000_000, 1_700_000_000 * 10**9),
    (b"\x8a", 1 << 10, (5 << 10) + 512, 5_500_000_000),
    (b"\xa0", 1 << 32, (7 << 32) + (1 << 31), 7_500_000_000),
    (b"\xb8", 1 << 56, (7 << 56) + (1 << 55), 7_500_000_000),
]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("resolution", "_unit", "units", "ts_ns"), RESOLUTIONS)
def test_pcapng_time_resolutions(order, resolution, _unit, units, ts_ns):
    options = option(order, 9, resolution) + option(order, 14, struct.pack(order + "q", -3)) + option(order, 0, b"")
    rows, _, _ = read_all(section(order) + interface(order, options=options) + enhanced(order, 0, units, b"abc"))
    assert rows == [(1, (ts_ns - 3 * 10**9) % 2**63, b"abc", 3, 1)]


@pytest.mark.parametrize("step", [None, 50, 9])
def test_pcapng_sections_interfaces_and_blocks_of_every_kind(step):
    drops = (
        option("<", 4, struct.pack("<Q", 10))
        + option("<", 5, struct.pack("<Q", 3))
        + option("<", 7, struct.pack("<Q", 4))
    )
    data = section("<") + interface("<", 1, 96) + interface("<", 276)
    data += enhanced("<", 1, 5, b"one", 99) + block("<", 0x40000BAD, b"unknown block")
    data += block("<", 3, struct.pack("<I", 300) + bytes(300))
    data += block("<", 2, struct.pack("<HHIIII", 1, 0, 0, 7, 2, 44) + b"ab")
    data += block("<", 5, struct.pack("<III", 0, 0, 0) + option("<", 5, struct.pack("<Q", 1)))
    data += block("<", 5, struct.pack("<III", 0, 0, 0) + drops)
    data += section(">") + interface(">", 101) + enhanced(">", 0, 9, b"two")
    data += block(">", 5, struct.pack(">III", 0, 0, 0) + option(">", 5, struct.pack(">Q", 20)))
    rows, reader, _ = read_all(data, step)
    assert rows == [
        (1, 5000, b"one", 99, 276),
        (2, 5000, bytes(96), 300, 1),
        (3, 7000, b"ab", 44, 276),
        (4, 9000, b"two", 3, 101),
    ]
    assert (reader.linktypes, reader.snaplen, reader.n_dropped, reader.n_packets) == ([1, 276, 101], 96, 27, 4)
    assert read_all(data[:-5], step)[2] == 12 + 12 + 12 - 5


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (struct.pack("<II", 6, 8) + bytes(40), "impossible length"),
        (struct.pack("<II", 99, 0x7FFFFFFF) + bytes(40), "impossible length"),
        (struct.pack("<II", 99, 16) + bytes(8), "two lengths differ"),
        (enhanced("<", 1, 0, b"abc"), "does not describe"),
        (block("<", 6, struct.pack("<IIIII", 0, 0, 0, 100, 100)), "longer than its pcapng block"),
        (block("<", 6, b""), "impossible length"),
    ],
)
def test_corrupt_pcapng_block_is_named(tail, words):
    good = section("<") + interface("<") + enhanced("<", 0, 1, b"abc")
    with pytest.raises(CaptureError, match=words) as error:
        read_all(good + tail)
    assert error.value.byte == len(good)


def test_what_scapy_writes(tmp_path):
    frames = [bytes(Ether(dst="02:00:00:00:00:01") / data) for data in PAYLOADS]
    for writer, options in ((PcapWriter, {"nano": True, "linktype": 1}), (PcapNgWriter, {})):
        path, wanted = tmp_path / writer.__name__, []
        with writer(str(path), **options) as out:
            for i, frame in enumerate(frames):
                packet = Ether(frame)
                packet.time = 1_000_000 + i
                out.write(packet)
                wanted.append((i + 1, (1_000_000 + i) * 10**9, frame, len(frame), 1))
        assert read_all(path.read_bytes())[0] == wanted


@settings(max_examples=150)
@given(st.data())
def test_random_bytes_end_in_packets_or_a_capture_error(data):
    good = data.draw(
        st.sampled_from([pcap("<", True, PAYLOADS), section("<") + interface("<") + enhanced("<", 0, 1, b"abcd") * 3])
    )
    spoilt = bytearray(good)
    for _ in range(data.draw(st.integers(0, 4))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    spoilt += data.draw(st.binary(max_size=80))
    try:
        rows, reader, _ = read_all(bytes(spoilt), data.draw(st.sampled_from([None, 33])))
    except CaptureError:
        return
    assert reader.n_packets == len(rows)
    assert sum(len(row[2]) for row in rows) <= len(spoilt)
