"""The layers of capture files and of packets: files read to segments and streams, names and DNS on the way.

All bytes of a stream must come out of TCP once, and every packet must count as one of the kinds that there are.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.farm.capture_bytes import odd_file
from benchmarks.farm.layer import FaultError, shorter
from benchmarks.farm.mutations import mutated
from benchmarks.farm.rendering import packets_of, write_pcap
from benchmarks.farm.scene import Packet, Scene, load_scene
from benchmarks.farm.scene_packets import odd_clock, odd_links, odd_names, odd_tcp
from benchmarks.farm.whole_analyze import BASES, piece

from kafkascope_analyzer.read.place import place_of
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.errors import CaptureError
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.dns import read_dns
from kafkascope_parsers.tcp.reader import TcpStreams

_FILE_PACKETS = 40
_KINDS = ("segments", "duplicates", "other", "malformed", "unsupported", "fragments")
"""The fields of PacketCounts of which each packet counts in exactly one."""


class FileRounds:
    """A round: files with some packets of a real capture, odd in their format. An input is a file."""

    N_FILES = 20

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "capture"

    def warm_up(self) -> None:
        for seed in range(10):
            r = random.Random(seed)
            self.run(self.make(r), r)

    def make(self, r: random.Random) -> Sequence[bytes]:
        packets = packets_of(piece(r, load_scene(r.choice(BASES))))
        files = []
        for _ in range(self.N_FILES):
            first = r.randrange(max(1, len(packets) - _FILE_PACKETS))
            files.append(odd_file(r, packets[first : first + _FILE_PACKETS]))
        return files

    def run(self, inputs: Sequence[bytes], r: random.Random) -> None:
        for raw in inputs:
            self._path.write_bytes(raw)
            read_file(self._path)

    def smaller(self, one: bytes) -> Iterator[bytes]:
        return shorter(one)

    def write(self, inputs: Sequence[bytes], stem: Path) -> None:
        for number, raw in enumerate(inputs):
            stem.with_name(f"{stem.name}{number or ''}.pcap").write_bytes(raw)


class PacketRounds:
    """A round: the packets of conversations, odd in links, TCP, names, clocks, or blindly. An input is a packet."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "capture.pcap"

    def warm_up(self) -> None:
        for seed in range(10):
            r = random.Random(seed)
            self.run(self.make(r), r)

    def make(self, r: random.Random) -> Sequence[Packet]:
        scene = piece(r, load_scene(r.choice(BASES)))
        r.choice(PACKET_CHANGES)(r, scene)
        return packets_of(scene)

    def run(self, inputs: Sequence[Packet], r: random.Random) -> None:
        write_pcap(self._path, inputs, linktype=r.choice((1, 1, 1, 1, 1, 1, 101, 113, 276, 0, 108, 239)))
        read_file(self._path)

    def smaller(self, one: Packet) -> Iterator[Packet]:
        return (Packet(one.ts_ns, raw) for raw in shorter(one.raw))

    def write(self, inputs: Sequence[Packet], stem: Path) -> None:
        write_pcap(stem.with_name(f"{stem.name}.pcap"), inputs)


def blind_packets(r: random.Random, scene: Scene) -> None:
    """Bytes of any packet are changed blindly."""
    packets = packets_of(scene)
    scene.talks = []
    scene.others = [Packet(p.ts_ns, mutated(r, p.raw) if r.random() < 0.2 else p.raw) for p in packets]


PACKET_CHANGES: tuple[Callable[[random.Random, Scene], None], ...] = (
    odd_tcp,
    odd_links,
    odd_names,
    odd_clock,
    blind_packets,
)


def read_file(path: Path) -> None:
    """Reads a file as ingest does, down to the streams of TCP."""
    link, tcp, n_packets, handed_out = LinkReader(), TcpStreams(), 0, 0
    try:
        for block in CaptureFile(place_of(str(path))).blocks():
            n_packets += len(block.packets)
            buf, segments = link.read_segments(block.buf, block.packets)
            for datagram in link.take_datagrams():
                try:
                    read_dns(datagram.payload)
                except ValueError:
                    continue
            streams = tcp.push(buf, segments)
            handed_out += int((streams.end - streams.start).sum())
    except CaptureError:
        return
    counts = link.take_counts()
    streams = tcp.finish()
    handed_out += int((streams.end - streams.start).sum())
    n_kinds = sum(getattr(counts, name) for name in _KINDS)
    if n_kinds != n_packets:
        raise FaultError(f"kinds of packets do not add up: {counts} of {n_packets}")
    if handed_out != (n_bytes := int(tcp.sides["stream_bytes"].sum())):
        raise FaultError(f"runs and streams have different bytes: {handed_out} and {n_bytes}")
