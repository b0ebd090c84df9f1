"""Hand-made Kafka frames and captures: bytes that broke other readers, with known truth.

Layouts are written out here from Kafka's protocol, not taken from the package under test.
"""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from kafkascope_analyzer.ingest.run import ingest

MSS = 1448
START_NS = 1_700_000_000_000_000_000


def string(text):
    """Nullable string with int16 length."""
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def compact(text):
    return varint(0) if text is None else varint(len(text) + 1) + text


def sized(raw):
    return struct.pack(">i", len(raw)) + raw


def request(key, version, correlation_id, body=b"", client_id=b"app-1", *, flexible=False):
    head = struct.pack(">hhi", key, version, correlation_id) + string(client_id) + (b"\0" if flexible else b"")
    return sized(head + body)


def response(correlation_id, body=b""):
    return sized(struct.pack(">i", correlation_id) + body)


def metadata(correlation_id, *topics, client_id=b"app-1"):
    body = struct.pack(">i", len(topics)) + b"".join(string(t) for t in topics)
    return request(3, 1, correlation_id, body, client_id)


def metadata_answer(correlation_id, brokers=((1, b"broker", 9092),), partitions=(), controller=1):
    """Metadata v1: brokers (node id, host, port), and partitions of one topic `t` led by the node ids given."""
    body = struct.pack(">i", len(brokers))
    for node, host, port in brokers:
        body += struct.pack(">i", node) + string(host) + struct.pack(">i", port) + string(None)
    body += struct.pack(">i", controller)
    if len(partitions):
        body += struct.pack(">ih", 1, 0) + string(b"t") + b"\0" + struct.pack(">i", len(partitions))
        body += b"".join(
            struct.pack(">hiiiiii", 0, i, leader, 1, leader, 1, leader) for i, leader in enumerate(partitions)
        )
    else:
        body += struct.pack(">i", 0)
    return response(correlation_id, body)


def heartbeat(correlation_id, client_id=b"app-1"):
    return request(12, 1, correlation_id, string(b"g") + struct.pack(">i", 1) + string(b"m"), client_id)


def heartbeat_answer(correlation_id, error=0):
    return response(correlation_id, struct.pack(">ih", 0, error))


def produce(correlation_id, version, acks, records=b"", transactional_id=None):
    """Produce of any version to partition 0 of topic `t` (by name; a zero id from version 13 on)."""
    flexible = version >= 9
    text = compact if flexible else string
    body = text(transactional_id) if version >= 3 else b""
    body += struct.pack(">hi", acks, 1000)
    topic = bytes(16) if version >= 13 else text(b"t")
    if flexible:
        body += varint(2) + topic + varint(2) + struct.pack(">i", 0) + compact(records) + b"\0\0\0"
    else:
        body += struct.pack(">i", 1) + topic + struct.pack(">ii", 1, 0) + struct.pack(">i", len(records)) + records
    return request(0, version, correlation_id, body, flexible=flexible)


@dataclass
class Conversation:
    """One TCP connection as Ethernet frames with microsecond steps; `from_client` and `from_server` send."""

    client_port: int = 40000
    server_port: int = 9092
    syn: bool = True
    snaplen: int = 0
    packets: list = field(default_factory=list)
    now: int = START_NS
    first_seq: int = 1000

    def __post_init__(self):
        self.seq = {0: self.first_seq, 1: self.first_seq + 4000}
        if self.syn:
            self._packet(0, b"", 0x02)
            self.seq[0] += 1
            self._packet(1, b"", 0x12)
            self.seq[1] += 1
            self._packet(0, b"", 0x10)

    def _packet(self, side, payload, flags):
        ports = (self.client_port, self.server_port)
        ends = (b"\x0a\0\0\x01", b"\x0a\0\0\x02")
        numbers = (self.seq[side], self.seq[1 - side])
        tcp = struct.pack(">HHIIBBHHH", ports[side], ports[1 - side], *numbers, 5 << 4, flags, 64000, 0, 0)
        length = 20 + len(tcp) + len(payload)
        length = length if length <= 0xFFFF else 0  # as segmentation offload leaves it
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, 6, 0) + ends[side] + ends[1 - side]
        self.now += 1_000_000
        self.packets.append((self.now, b"\2" * 12 + b"\x08\0" + ip + tcp + payload))

    def _send(self, side, raw, mss):
        for at in range(0, len(raw), mss):
            self._packet(side, raw[at : at + mss], 0x18)
            self.seq[side] += len(raw[at : at + mss])
        return self

    def from_client(self, *frames, mss=MSS):
        return self._send(0, b"".join(frames), mss)

    def from_server(self, *frames, mss=MSS):
        return self._send(1, b"".join(frames), mss)

    def lose(self, side, n_bytes):
        """Bytes that were sent and not captured."""
        self.seq[side] += n_bytes
        return self


def twice(packets, after_ns=3_000):
    """As port mirroring shows them: each packet again, a little later."""
    return [copy for ts_ns, raw in packets for copy in ((ts_ns, raw), (ts_ns + after_ns, raw))]


def in_vxlan(packets):
    """As a mirror sends them on: UDP to port 4789, VXLAN network 7 (RFC 7348), the Ethernet frame inside."""
    wrapped = []
    for ts_ns, raw in packets:
        inner = b"\x08\0\0\0" + (7 << 8).to_bytes(4, "big") + raw
        udp = struct.pack(">HHHH", 50000, 4789, 8 + len(inner), 0) + inner
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + b"\xac\x10\0\1\xac\x10\0\2"
        wrapped.append((ts_ns, b"\4" * 12 + b"\x08\0" + ip + udp))
    return wrapped


def write_pcap(path, packets, snaplen=0):
    """Classic pcap with nanoseconds, packets in the order given."""
    cut = snaplen or 1 << 18
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, cut, 1))
        for ts_ns, raw in packets:
            kept = raw[:cut]
            out.write(struct.pack("<IIII", ts_ns // 10**9, ts_ns % 10**9, len(kept), len(raw)) + kept)
    return path


@dataclass
class Read:
    """A dataset's tables as lists of dicts, its byte ledger checked."""

    place: Path

    def __post_init__(self):
        self.ledger = json.loads((self.place / "_dataset.json").read_text())["ledger"]
        undecoded = sum(row["bytes"] for row in self.table("undecoded"))
        assert self.ledger["stream_bytes"] == self.ledger["decoded_bytes"] + self.ledger["undecoded_bytes"]
        assert self.ledger["undecoded_bytes"] == undecoded

    def table(self, name):
        return pq.read_table(self.place / name).to_pylist()

    @property
    def protocols(self):
        return [row["protocol"] for row in self.table("connections")]

    @property
    def reasons(self):
        out = {}
        for row in self.table("undecoded"):
            out[row["reason"]] = out.get(row["reason"], 0) + row["bytes"]
        return out

    @property
    def requests(self):
        """{correlation id: status}, orphans apart from requests."""
        return {row["correlation_id"]: row["status"] for row in self.table("requests")}

    def messages(self, name, direction):
        place = self.place / "messages" / name / direction
        return pq.read_table(place).to_pylist() if place.exists() else []


def read(folder, *conversations, snaplen=0, shown=lambda packets: packets):
    """Ingests conversations as one capture, packets in time order; shown: how the capture point shows them."""
    packets = sorted((p for c in conversations for p in c.packets), key=lambda p: p[0])
    capture = write_pcap(folder / "crafted.pcap", shown(packets), snaplen)
    ingest([capture], folder / "out.kscope")
    return Read(folder / "out.kscope")
