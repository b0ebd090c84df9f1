"""Redacted pieces: tshark reads them as it reads the piece itself, but for addresses and payload."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cut.bare_packets import only_numbers
from kafkascope_analyzer.cut.message_heads import Heads
from kafkascope_analyzer.cut.redacted import write_redacted
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.capture.pcapng_writer import Section
from kafkascope_parsers.link import LinkReader

FIXTURES = Path(__file__).parents[3] / "fixtures"
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
SAME = (
    "frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.flags.syn",
    "tcp.flags.ack", "tcp.flags.fin", "tcp.flags.reset", "tcp.flags.push", "tcp.window_size_value",
    "tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le", "tcp.options.sack_re",
)  # fmt: skip


def cut(out, *words):
    result = CliRunner().invoke(app, [str(word) for word in ("cut", *words, "-o", out)])
    assert result.exit_code == 0, result.output
    return result.output


def shown(path, fields, only="tcp", *more):
    command = [
        "tshark",
        "-n",
        "-r",
        path,
        "-o",
        "tcp.relative_sequence_numbers:FALSE",
        *more,
        "-Y",
        only,
        "-T",
        "fields",
    ]
    command += [word for field in fields for word in ("-e", field)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [tuple(line.split("\t")) for line in text.splitlines()]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A piece as it is, the same redacted, and the key file."""
    folder = tmp_path_factory.mktemp("redacted")
    chosen = (FIXTURES / "captures" / "leader_move.pcap.zst", "--packets", "1-900")
    cut(folder / "whole.pcapng", *chosen, "--with-secrets")
    said = cut(folder / "shown.pcapng", *chosen, "--redact", folder / "redaction.key")
    assert "resolves its pseudonyms" in said
    return folder


@pytest.mark.slow
@needs_tshark
def test_tshark_sees_the_same_segments_of_other_addresses(pieces):
    whole, redacted = (shown(pieces / name, SAME) for name in ("whole.pcapng", "shown.pcapng"))
    assert len(whole) > 800
    assert whole == redacted
    old, new = (shown(pieces / name, ("ip.src", "ip.dst")) for name in ("whole.pcapng", "shown.pcapng"))
    pseudonyms = dict(pair for one, two in zip(old, new, strict=True) for pair in zip(one, two, strict=True))
    assert [tuple(pseudonyms[address] for address in ends) for ends in old] == new
    others = {old: new for old, new in pseudonyms.items() if not old.startswith("127.")}
    assert len(set(others.values())) == len(others) > 2
    assert not set(others).intersection(others.values())


@needs_tshark
def test_tshark_reads_which_requests_there_are_and_finds_no_malformed_segment(pieces):
    ports = ("19092", "19093", "19094", "9092", "9093", "9094")
    more = [word for port in ports for word in ("-d", f"tcp.port=={port},kafka")]
    fields = ("kafka.api_key", "kafka.request.version", "kafka.correlation_id")
    whole, redacted = (shown(pieces / name, fields, "kafka", *more) for name in ("whole.pcapng", "shown.pcapng"))
    assert len(whole) > 100
    asked = [[row for row in rows if row[1]] for rows in (whole, redacted)]  # of few responses tshark says the API
    answered = [[row[2] for row in rows if not row[1]] for rows in (whole, redacted)]
    assert asked[0] == asked[1]
    assert answered[0] == answered[1]
    wrong = "ip.checksum.status==0 or (_ws.malformed and not kafka)"
    assert not shown(pieces / "shown.pcapng", ("frame.number",), wrong, "-o", "ip.check_checksum:TRUE")


def test_nothing_else_is_in_the_piece(pieces):
    """No address, and of each segment's payload at most the head of a message in front, the rest zeros."""
    raw = (pieces / "shown.pcapng").read_bytes()
    whole = list(segments(pieces / "whole.pcapng"))
    assert not any(address in raw for address, _ in whole if address[0] != 127)
    kept = 0
    for (_, old), (_, new) in zip(whole, segments(pieces / "shown.pcapng"), strict=True):
        assert len(old) == len(new)
        differing = [i for i, byte in enumerate(new) if byte and byte != old[i]]
        assert not differing
        kept += sum(map(bool, new))
    assert kept < 12 * len(whole)
    assert not {text for text in (b"clicks", b"svc-a", b"order-api", b"fetcher", b"10.77.0.12", b"xxx") if text in raw}


def segments(path):
    """IPv4 source address and payload of each TCP segment."""
    link = LinkReader()
    for block in CaptureFile(path).blocks():
        buf, found = link.read_segments(block.buf, block.packets)
        for row in range(len(found)):
            at = int(found.offset[row])
            address = struct.pack(">I", int(found.source[row, 1]) & 0xFFFFFFFF)
            yield address, buf[at : at + int(found.captured[row])].tobytes()


@pytest.mark.slow
def test_the_key_file_resolves_addresses_and_gives_them_again(pieces, tmp_path):
    chosen = (FIXTURES / "captures" / "leader_move.pcap.zst", "--packets", "1-900")
    cut(tmp_path / "again.pcapng", *chosen, "--redact", pieces / "redaction.key")
    assert (tmp_path / "again.pcapng").read_bytes() == (pieces / "shown.pcapng").read_bytes()
    cut(tmp_path / "other.pcapng", *chosen, "--redact", tmp_path / "other.key")
    assert (tmp_path / "other.pcapng").read_bytes() != (pieces / "shown.pcapng").read_bytes()
    lines = (pieces / "redaction.key").read_text().splitlines()
    assert len(lines) > 2
    assert (pieces / "redaction.key").stat().st_mode & 0o77 == 0


@pytest.mark.slow
@needs_tshark
@pytest.mark.parametrize("name", ["mid_stream-snap96.pcap.zst", "mid_stream-any.pcap.zst", "tunnels"])
def test_cut_packets_other_links_and_tunnels(name, tmp_path):
    """Without a look at messages. tshark reads the inner segments of tunnels from the original."""
    capture = tmp_path / "tunnels.pcap" if name == "tunnels" else FIXTURES / "captures" / name
    if name == "tunnels":
        capture.write_bytes(tunnels())
    nothing = Heads(np.zeros(0, np.int64), np.zeros(0, np.int64), [])
    with (tmp_path / "shown.pcapng").open("wb") as file:
        done = write_redacted(capture, nothing, file, Section("test", "test"), bytes(32))
    fields = [field for field in SAME if field not in ("frame.time_epoch",)]
    whole, redacted = shown(capture, fields)[:400], shown(tmp_path / "shown.pcapng", fields)[:400]
    assert done.n_packets > 2
    assert whole == redacted
    assert sum(map(len, segments(tmp_path / "shown.pcapng"))) > 0
    assert not any(any(payload) for _, payload in segments(tmp_path / "shown.pcapng"))


def tunnels():
    """IPv6, VXLAN and VLAN, with options, as a pcap of Ethernet."""
    tcp = TCP(sport=9092, dport=40000, seq=7, ack=9, flags="PA", options=[("Timestamp", (5, 6)), ("MSS", 1400)])
    packets = [
        Ether() / IPv6(src="2001:db8::1", dst="fd00::2") / tcp / b"secret",
        Ether() / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="10.0.0.2") / tcp / b"secret",
        Ether()
        / IP(src="192.0.2.1", dst="192.0.2.2")
        / UDP(sport=4789, dport=4789)
        / VXLAN(vni=3)
        / Ether()
        / IP(src="10.0.0.3", dst="10.0.0.4")
        / tcp
        / b"secret",
    ]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    raws = map(bytes, packets)
    return head + b"".join(struct.pack("<IIII", i, 0, len(raw), len(raw)) + raw for i, raw in enumerate(raws))


def test_a_piece_is_redacted_or_has_its_secrets(tmp_path):
    words = ["cut", FIXTURES / "captures" / "leader_move.pcap.zst", "--packets", "1-9", "-o", tmp_path / "a.pcapng"]
    result = CliRunner().invoke(app, [*map(str, words), "--with-secrets", "--redact", str(tmp_path / "a.key")])
    assert result.exit_code == 2
    assert not any(tmp_path.iterdir())


def test_options_that_are_no_numbers_become_padding():
    mss, scale, sack = b"\x02\x04\x05\xb4", b"\x03\x03\x07", b"\x05\x0a" + bytes(range(1, 9))
    fast_open, md5 = b"\x22\x0acookie12", b"\x13\x12" + b"m" * 16
    assert only_numbers(mss + fast_open + scale + b"\x00") == mss + b"\x01" * 10 + scale + b"\x01"
    assert only_numbers(md5 + sack) == b"\x01" * 18 + sack
    assert only_numbers(b"\x08\x0b" + b"x" * 9) == b"\x01" * 11
    for n in range(2000):
        raw = random.Random(n).randbytes(n % 41)
        assert len(only_numbers(raw)) == len(raw)
