"""TLS sessions of OpenSSL, in memory: what each side writes, and the key log that it wrote.

`Line` carries the bytes of a connection to `TlsStreams`, block by block, as tcp.TcpStreams would, with packets lost.
"""

import datetime
import ssl
from dataclasses import dataclass, field

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, Streams
from kafkascope_parsers.tls import KeyLog, TlsStreams

NO_ENCRYPT_THEN_MAC = 1 << 19
"""OpenSSL's SSL_OP_NO_ENCRYPT_THEN_MAC."""


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A file with a key and a certificate of its own."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker.example")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    path = tmp_path_factory.mktemp("tls") / "broker.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return path


class Pair:
    """A client and a server of OpenSSL. `packets`: (side, bytes) as they were written; `texts`: what each side sent."""

    def __init__(self, certificate, folder, version, ciphers=None, options=0):
        self.key_log = folder / "keys.txt"
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        server.load_cert_chain(certificate)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.keylog_filename = str(self.key_log)
        for context in (client, server):
            context.minimum_version = context.maximum_version = version
            context.options |= options
            if ciphers is not None:
                context.set_ciphers(ciphers + ":@SECLEVEL=0")
        self._bios = [ssl.MemoryBIO() for _ in range(4)]
        to_client, from_client, to_server, from_server = self._bios
        self._sides = [
            client.wrap_bio(to_client, from_client, server_hostname="broker.example"),
            server.wrap_bio(to_server, from_server, server_side=True),
        ]
        self.packets, self.texts = [], [b"", b""]
        done = [False, False]
        while not all(done):
            for side in (0, 1):
                try:
                    self._sides[side].do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
                self._carry(side)
        self.cipher = self._sides[0].cipher()[0]

    def send(self, side, text):
        self._sides[side].write(text)
        self.texts[side] += text
        self._carry(side)
        self._sides[1 - side].read(1 << 20)

    def _carry(self, side):
        written = self._bios[2 * side + 1].read()
        if written:
            self.packets.append((side, written))
            self._bios[2 * (1 - side)].write(written)


@pytest.fixture
def pair(certificate, tmp_path):
    return lambda *args, **more: Pair(certificate, tmp_path, *args, **more)


@dataclass
class Line:
    """One connection on its way to TlsStreams. Each packet has its number as its time. read: decrypted bytes of each
    side, with the numbers of the packets that brought the first and the last of each stretch."""

    key_log: KeyLog
    by_syn: bool = True
    read: list = field(default_factory=lambda: [b"", b""])
    runs: list = field(default_factory=list)
    undecrypted: list = field(default_factory=list)
    rest: list = field(default_factory=lambda: [[], []])
    offsets: list = field(default_factory=lambda: [0, 0])
    lost: list = field(default_factory=lambda: [0, 0])
    number: int = 0
    seen: int = 0

    def __post_init__(self):
        self.tls = TlsStreams(self.key_log)
        self.tls.open_connections(np.array([self.by_syn]))

    def push(self, packets, *, final=False, is_closed=False):
        """Packets of (side, bytes), or (side, number of bytes) where they are lost."""
        lost = self.lost
        waiting = [[(side, None, 0, piece) for piece in self.rest[side]] for side in (0, 1)]
        new = [[], []]
        for side, content in packets:
            self.number += 1
            if isinstance(content, int):
                lost[side] += content
            else:
                new[side].append((side, lost[side], self.number, (content, self.number)))
                self.seen += len(content)
                lost[side] = 0
        columns = {name: [] for name in ("direction", "start", "end", "stream_offset", "gap_before", "gap_kind")}
        data, pieces, sources = b"", [], []
        for side in (0, 1):
            offset, begun = self.offsets[side], False
            for _, gap, _, (content, number) in [*waiting[side], *new[side]]:
                if gap or not begun:
                    offset += gap or 0
                    for name, value in zip(
                        columns,
                        (side, len(data), len(data), offset, gap or 0, GAP_LOST if gap else GAP_NONE),
                        strict=True,
                    ):
                        columns[name].append(value)
                    sources.append([])
                    begun = True
                pieces.append((len(data), number))
                sources[-1].append((len(data), content, number))
                data += content
                offset += len(content)
                columns["end"][-1] = len(data)
        arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
        kinds = arrays["gap_kind"].astype(np.uint8)
        places = np.array([piece[0] for piece in pieces], np.int64)
        numbers = np.array([piece[1] for piece in pieces], np.int64)
        streams = Streams(
            np.frombuffer(bytearray(data), np.uint8),
            **{name: values for name, values in arrays.items() if name != "gap_kind"},
            gap_kind=kinds,
            gap_after=np.zeros(len(kinds), np.uint8),
            piece_start=places,
            piece_ts_ns=numbers,
            piece_packet=numbers,
        )
        opened = self.tls.push(streams, is_closed=np.array([is_closed]) if final else None)
        self.undecrypted += opened.undecrypted
        self._take(opened.streams)
        consumed = self.tls.consumed(opened.streams.end.copy())
        self._keep(streams, consumed, sources)
        return opened

    def _take(self, streams):
        """Reads all that is given, as framing would."""
        for run in range(len(streams.start)):
            start, end, side = int(streams.start[run]), int(streams.end[run]), int(streams.direction[run])
            text = streams.data[start:end].tobytes()
            packets = streams.piece_packet[(streams.piece_start >= start) & (streams.piece_start < end)].tolist()
            self.runs.append((side, int(streams.gap_before[run]), text, packets))
            self.read[side] += text

    def _keep(self, streams, consumed, sources):
        self.rest = [[], []]
        for run in range(len(streams.start)):
            side, at = int(streams.direction[run]), int(consumed[run])
            is_last = run + 1 == len(streams.start) or streams.direction[run + 1] != side
            assert is_last or at == streams.end[run], "what is before a gap is read"
            self.offsets[side] = int(streams.stream_offset[run] + at - streams.start[run])
            if is_last:
                for place, content, number in sources[run]:
                    if place + len(content) > at:
                        self.rest[side].append((content[max(at - place, 0) :], number))

    def left(self):
        """Bytes that are neither decrypted nor counted otherwise."""
        counted = sum(map(len, self.read)) + int(self.tls.overhead.sum())
        return self.seen - counted - sum(row.n_bytes for row in self.undecrypted)


@pytest.fixture
def line():
    def make(key_log_text, **more):
        key_log = KeyLog()
        key_log.add(key_log_text)
        return Line(key_log, **more)

    return make
