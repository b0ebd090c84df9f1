"""Compares the TCP streams of captures, byte for byte, with those of tshark and tcpflow.

    python benchmarks/streams.py FILE_OR_DIRECTORY...

Each direction of each connection is one stream. tshark (`-z follow,tcp,raw`) writes a sentence into the stream where
packets are missing, and says nothing where the snap length cut them, so that bytes that were never neighbours look so;
so do we here. tcpflow leaves a hole of zeros; so do we. Streams that differ are listed with both
lengths and the first byte that differs; the exit code is 1 where there are any. tshark and tcpflow have to be
installed; captures are unpacked below a temporary directory.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from pathlib import Path

from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.streams import GAP_LOST, Streams

STREAMS_PER_RUN = 200
SKIPPED_BY_TCPFLOW = 1 << 24
"""tcpflow starts another file where more than this is missing (its option -m)."""

Ends = tuple[str, int, str, int]
"""Sender's address and port, receiver's."""


@dataclass
class Direction:
    """One direction: its stretches (stream offset, bytes, whether packets before it are lost)."""

    stretches: list[tuple[int, bytes, bool]] = field(default_factory=list)
    end: int = 0

    def add(self, offset: int, data: bytes, *, lost: bool) -> None:
        """Adds bytes at a stream offset, in order."""
        self.stretches.append((offset, data, lost))
        self.end = offset + len(data)

    def as_tshark(self) -> bytes:
        """All bytes, with tshark's sentence in place of lost packets."""
        out, at = bytearray(), 0
        for offset, data, lost in self.stretches:
            if lost:
                out += b"[%d bytes missing in capture file]\0" % (offset - at)
            out += data
            at = offset + len(data)
        return bytes(out)

    def as_tcpflow(self) -> bytes:
        """All bytes, zeros where they are missing."""
        out = bytearray(self.end)
        for offset, data, _ in self.stretches:
            out[offset : offset + len(data)] = data
        return bytes(out)


def address(high: int, low: int) -> str:
    """An address as tshark writes it."""
    ip = IPv6Address((high << 64) | low)
    return str(ip.ipv4_mapped or ip)


def our_streams(path: Path) -> dict[int, tuple[Ends, Direction]]:
    """All directions with payload, by number."""
    link, tcp = LinkReader(), TcpStreams()
    found: dict[int, Direction] = defaultdict(Direction)

    def take(streams: Streams) -> None:
        for r, d in enumerate(streams.direction.tolist()):
            data = streams.data[streams.start[r] : streams.end[r]].tobytes()
            found[d].add(int(streams.stream_offset[r]), data, lost=int(streams.gap_kind[r]) == GAP_LOST)
        streams.consumed[:] = streams.end

    for block in iter_blocks(path):
        take(tcp.push(*link.read_segments(block.buf, block.packets)))
    take(tcp.finish())
    ends = [(address(int(s["address_high"]), int(s["address_low"])), int(s["port"])) for s in tcp.sides]
    return {d: ((*ends[d], *ends[d ^ 1]), found[d]) for d in sorted(found)}


def run(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def tshark_streams(path: Path) -> Iterator[tuple[Ends, bytes]]:
    """Directions with payload, as tshark follows them."""
    numbers = run("tshark", "-r", str(path), "-T", "fields", "-e", "tcp.stream", "-Y", "tcp.stream").split()
    n = max((int(number.split(",")[-1]) for number in numbers), default=-1) + 1
    for first in range(0, n, STREAMS_PER_RUN):
        follow = [f"-zfollow,tcp,raw,{i}" for i in range(first, min(n, first + STREAMS_PER_RUN))]
        for part in run("tshark", "-r", str(path), "-q", *follow).split("Follow: tcp,raw")[1:]:
            yield from followed(part)


def followed(text: str) -> Iterator[tuple[Ends, bytes]]:
    """The directions of one `follow`."""
    nodes = [node.rsplit(":", 1) for node in re.findall(r"^Node [01]: (.*)$", text, re.MULTILINE)]
    ends = [(node[0].strip("[]"), int(node[1])) for node in nodes]
    lines = re.findall(r"^(\t?)([0-9a-f]+)$", text, re.MULTILINE)
    for side in (0, 1):
        data = bytes.fromhex("".join(hexed for tab, hexed in lines if bool(tab) == bool(side)))
        if data:
            yield (*ends[side], *ends[1 - side]), data


def tcpflow_streams(path: Path, folder: Path) -> Iterator[tuple[Ends, bytes]]:
    """Directions with payload, as tcpflow writes them."""
    subprocess.run(
        ["tcpflow", "-q", "-m", str(SKIPPED_BY_TCPFLOW), "-r", str(path), "-o", str(folder)],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    name = re.compile(r"(?:\d+T)?([0-9a-f.:]+)\.(\d{5})-([0-9a-f.:]+)\.(\d{5})")
    for file in sorted(folder.iterdir()):
        found = name.match(file.name)
        if found and file.stat().st_size:
            source, port, to, to_port = found.groups()
            yield (plain(source), int(port), plain(to), int(to_port)), file.read_bytes()


def plain(text: str) -> str:
    """An address without the zeros that tcpflow pads it with."""
    return text if ":" in text else ".".join(str(int(part)) for part in text.split("."))


def unpacked(path: Path, folder: Path) -> Path:
    """The capture, unpacked into folder where it is compressed."""
    if path.suffix != ".zst":
        return path
    target = folder / path.stem
    run("zstd", "-dqf", str(path), "-o", str(target))
    return target


def differing(ours: Counter[tuple[Ends, bytes]], theirs: Counter[tuple[Ends, bytes]]) -> Iterator[str]:
    """A line for each stream that only one of the two has."""
    only_ours, only_theirs = list((ours - theirs).elements()), list((theirs - ours).elements())
    for ends, data in only_ours:
        match = next((other for other in only_theirs if other[0] == ends), None)
        if match is None:
            yield f"{ends}: only ours, {len(data)} bytes"
            continue
        only_theirs.remove(match)
        at = next(
            (i for i, (a, b) in enumerate(zip(data, match[1], strict=False)) if a != b), min(len(data), len(match[1]))
        )
        yield f"{ends}: ours {len(data)} bytes, theirs {len(match[1])}, first difference at {at}"
    for ends, data in only_theirs:
        yield f"{ends}: only theirs, {len(data)} bytes"


def compare(path: Path) -> int:
    """Prints how the streams of a capture compare; returns how many differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain_path = unpacked(path, folder)
        ours = our_streams(plain_path).values()
        flows = folder / "flows"
        flows.mkdir()
        found = {
            "tshark": (Counter((e, d.as_tshark()) for e, d in ours), Counter(tshark_streams(plain_path))),
            "tcpflow": (Counter((e, d.as_tcpflow()) for e, d in ours), Counter(tcpflow_streams(plain_path, flows))),
        }
        n_differing = 0
        for tool, (mine, theirs) in found.items():
            lines = list(differing(mine, theirs))
            n_differing += len(lines)
            size = sum(len(data) for _, data in mine.elements())
            print(f"{path.name}: {mine.total()} streams, {size} bytes, {len(lines)} differ from {tool}")
            for line in lines[:20]:
                print(f"  {line}")
    return n_differing


def main() -> int:
    """Compares every capture given."""
    return int(sum(compare(place.local) for place in expand_inputs(sys.argv[1:]) if place.local) > 0)


if __name__ == "__main__":
    sys.exit(main())
