"""What `openssl s_client` and `s_server -rev` said to each other, recorded with tcpdump: the server sends each line
backwards. Updated keys (K and k of s_client), resumed sessions, a hello that had to be sent again, early data.
"""

from pathlib import Path

import pytest
import zstandard

from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tls import KeyLog, ResumedSessions, TlsStreams, session_messages

FIXTURES = Path(__file__).parents[3] / "fixtures" / "tls"
SAID = [
    b"before the update\nafter the update\nafter another\n",
    b"resumed\n",
    b"resumed in 1.2\n",
    b"resumed in 1.2\n",
    b"by retry\n",
]


def backwards(text):
    return b"".join(line[::-1] + b"\n" for line in text.splitlines())


class Capture:
    """Decrypts a capture of one block with a key log. texts: what each direction of a decrypted connection said."""

    def __init__(self, path, key_log_text):
        log = KeyLog()
        log.add(key_log_text)
        self.n_malformed = log.n_malformed
        link, tcp, self.tls, resumed = LinkReader(), TcpStreams(), TlsStreams(log), ResumedSessions(log)
        self.texts = {}
        for block in CaptureFile(path).blocks():
            buf, segments = link.read_segments(block.buf, block.packets)
            for _, message in session_messages(buf, segments):
                resumed.take(message)
            streams = tcp.push(buf, segments)
            self.tls.open_connections(tcp.connections["opened_by_syn"] != 0)
            self._take(tcp, streams, None)
        self._take(tcp, tcp.finish(), tcp.connections["close_ts_ns"] > 0)

    def _take(self, tcp, streams, is_closed):
        opened = self.tls.push(streams, is_closed=is_closed).streams
        for run, direction in enumerate(opened.direction.tolist()):
            if self.tls.is_decrypted[direction >> 1]:
                text = opened.data[opened.start[run] : opened.end[run]].tobytes()
                self.texts[direction] = self.texts.get(direction, b"") + text
        tcp.keep_rest(streams, self.tls.consumed(opened.end.copy()))


def test_both_sides_are_read():
    capture = Capture(FIXTURES / "openssl.pcap.zst", (FIXTURES / "openssl.keys").read_bytes())
    assert capture.n_malformed == 0
    for number, text in enumerate(SAID):
        assert capture.texts[2 * number] == text
        assert capture.texts[2 * number + 1] == backwards(text)


def test_a_resumed_session_needs_no_line_of_its_own():
    """Without the second CLIENT_RANDOM, its secret is that of the session whose ticket the client sends."""
    lines = (FIXTURES / "openssl.keys").read_bytes().splitlines(True)
    last = [line for line in lines if line.startswith(b"CLIENT_RANDOM")][-1]
    capture = Capture(FIXTURES / "openssl.pcap.zst", b"".join(line for line in lines if line != last))
    assert capture.texts[6] == b"resumed in 1.2\n"


def test_early_data_is_read_before_what_follows_the_handshake():
    capture = Capture(FIXTURES / "openssl_early.pcap.zst", (FIXTURES / "openssl_early.keys").read_bytes())
    assert capture.texts == {
        0: b"first session\n",
        1: b"server says one\n",
        2: b"sent early\nsent later\n",
        3: b"server says two\n",
    }


@pytest.mark.parametrize("cut", [40, 41, 60])
def test_a_capture_that_ends_early(cut, tmp_path):
    raw = zstandard.ZstdDecompressor().stream_reader((FIXTURES / "openssl.pcap.zst").open("rb")).read()
    at = 24
    for _ in range(cut):
        at += 16 + int.from_bytes(raw[at + 8 : at + 12], "little")
    (tmp_path / "cut.pcap").write_bytes(raw[:at])
    capture = Capture(tmp_path / "cut.pcap", (FIXTURES / "openssl.keys").read_bytes())
    for direction, text in capture.texts.items():
        said = SAID[direction >> 1]
        assert (said if direction % 2 == 0 else backwards(said)).startswith(text)
