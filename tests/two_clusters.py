"""A second cluster for a capture: the same packets between other addresses, of a cluster of another id.

`write_pair` writes both clusters into one capture, `write_twin` the second one alone. `differences` compares the tables
of a pair's dataset with those of the original's, and says in which of them the rows of both are not.

Addresses keep their length as text, so that messages keep theirs; IPv4 only. Names of hosts stay as they are.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import zstandard

_NANOSECONDS, _MICROSECONDS = 0xA1B23C4D, 0xA1B2C3D4
_IPV4, _TCP, _UDP = 0x0800, 6, 17
_SYN = 2
_VLANS = (0x8100, 0x88A8)
_QUAD = re.compile(rb"(?<![\d.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\d.])")
_WINDOW = 1 << 31
_MOST_STREAM = 1 << 28


@dataclass(slots=True)
class _Packet:
    ts_ns: int
    length: int
    data: bytearray


@dataclass(frozen=True, slots=True)
class _Capture:
    link: int
    snaplen: int
    packets: list[_Packet]


@dataclass(frozen=True, slots=True)
class _Segment:
    """Payload of a TCP packet. at: where it begins in the direction's stream; start: in the packet's data."""

    at: int
    packet: _Packet
    start: int


def write_twin(capture: Path, out: Path, cluster_ids: Sequence[str], kept: Sequence[str] = ()) -> Path:
    """Writes the second cluster of a capture (pcap, plain or zstd). cluster_ids: those of the original; kept: addresses
    that stay as they are, of clients that talk to both clusters."""
    return _write(out, _twin(_read(capture), cluster_ids, frozenset(kept)))


def write_pair(capture: Path, out: Path, cluster_ids: Sequence[str], kept: Sequence[str] = ()) -> Path:
    """Writes a capture and its second cluster as one capture, in order of time. Arguments as of `write_twin`."""
    one, other = _read(capture), _twin(_read(capture), cluster_ids, frozenset(kept))
    packets = sorted([*one.packets, *other.packets], key=lambda packet: packet.ts_ns)
    return _write(out, _Capture(one.link, one.snaplen, packets))


def cut_in_two(capture: Path, folder: Path) -> list[Path]:
    """Writes the first and the second half of a capture's packets."""
    whole = _read(capture)
    middle = len(whole.packets) // 2
    halves = (whole.packets[:middle], whole.packets[middle:])
    names = (f"{capture.stem}-{number}.pcap" for number in range(len(halves)))
    return [
        _write(folder / name, _Capture(whole.link, whole.snaplen, packets))
        for name, packets in zip(names, halves, strict=True)
    ]


def cluster_ids_of(dataset: Path) -> list[str]:
    """The cluster ids of a dataset."""
    named = [row["cluster_id"] for row in table_rows(dataset, "clusters")]
    return sorted({name for name in named if name})


def other_id(cluster_id: str) -> str:
    """The id that stands for a cluster id in the second cluster."""
    return cluster_id[1:] + cluster_id[:1] if len(set(cluster_id)) > 1 else "z" * len(cluster_id)


def other_address(address: str) -> str:
    """The address that stands for an address in the second cluster."""
    octets = [int(octet) for octet in address.split(".")]
    octets[1] = _other_octet(octets[1])
    return ".".join(map(str, octets))


def _other_octet(octet: int) -> int:
    """Another one with as many digits; twice gives the octet itself."""
    low, high = next((low, high) for low, high in ((0, 10), (10, 100), (100, 256)) if octet < high)
    return low + (octet - low + (high - low) // 2) % (high - low)


def original_text(text: str) -> str:
    """A text with the addresses of the original for those of the second cluster."""
    return _QUAD.sub(_other_quad, text.encode()).decode()


def _other_quad(found: "re.Match[bytes]") -> bytes:
    if any(int(octet) > 255 for octet in found.groups()):
        return found[0]
    return other_address(found[0].decode()).encode()


def _read(capture: Path) -> _Capture:
    data = capture.read_bytes()
    if capture.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    order = "<" if data[0] in (0x4D, 0xD4) else ">"
    magic, _, _, _, _, snaplen, link = struct.unpack_from(f"{order}IHHiIII", data)
    factor = {_NANOSECONDS: 1, _MICROSECONDS: 1000}[magic]
    packets, at = [], 24
    while at + 16 <= len(data):
        seconds, fraction, kept, length = struct.unpack_from(f"{order}IIII", data, at)
        ts_ns = seconds * 1_000_000_000 + fraction * factor
        packets.append(_Packet(ts_ns, length, bytearray(data[at + 16 : at + 16 + kept])))
        at += 16 + kept
    return _Capture(link, snaplen, packets)


def _write(out: Path, capture: _Capture) -> Path:
    with out.open("wb") as file:
        file.write(struct.pack("<IHHiIII", _NANOSECONDS, 2, 4, 0, 0, capture.snaplen, capture.link))
        for packet in capture.packets:
            seconds, fraction = divmod(packet.ts_ns, 1_000_000_000)
            file.write(struct.pack("<IIII", seconds, fraction, len(packet.data), packet.length))
            file.write(packet.data)
    return out


def _twin(capture: _Capture, cluster_ids: Sequence[str], kept: frozenset[str]) -> _Capture:
    """The capture with other addresses and cluster ids."""
    kept_bytes = {bytes(map(int, address.split("."))) for address in kept}
    known = {bytes(packet.data[at + i : at + i + 4]) for packet, at in _ip_packets(capture) for i in (12, 16)}
    streams: dict[tuple[bytes, int], list[_Segment]] = {}
    epochs: Counter[bytes] = Counter()
    begins: dict[tuple[bytes, int], int] = {}
    for packet, at in _ip_packets(capture):
        data, body = packet.data, at + 4 * (packet.data[at] & 15)
        if data[at + 9] == _TCP and len(data) >= body + 20:
            ends = bytes(data[at + 12 : at + 20] + data[body : body + 4])
            (seq,) = struct.unpack_from(">I", data, body + 4)
            epochs[ends] += data[body + 13] & _SYN != 0
            key = (ends, epochs[ends])
            place = (seq - begins.setdefault(key, seq) + _WINDOW) % (2 * _WINDOW) - _WINDOW
            start = body + 4 * (data[body + 12] >> 4)
            end = at + int.from_bytes(data[at + 2 : at + 4], "big")
            if start < min(end, len(data)):
                streams.setdefault(key, []).append(_Segment(place, packet, start))
        elif data[at + 9] == _UDP:
            _rewrite_names(data, body + 8, known - kept_bytes)
        for i in (i for i in (12, 16) if bytes(data[at + i : at + i + 4]) not in kept_bytes):
            data[at + i + 1] = _other_octet(data[at + i + 1])
        data[at + 10 : at + 12] = _checksum(data[at:body])
    for segments in streams.values():
        _rewrite_stream(segments, cluster_ids, kept)
    return capture


def _ip_packets(capture: _Capture) -> Iterator[tuple[_Packet, int]]:
    """The IPv4 packets, and where each begins in its data."""
    for packet in capture.packets:
        at, kind = {1: (14, 12), 113: (16, 14), 276: (20, 0), 101: (0, None)}[capture.link]
        while kind is not None and int.from_bytes(packet.data[kind : kind + 2], "big") in _VLANS:
            at, kind = at + 4, kind + 4
        is_ipv4 = kind is None or int.from_bytes(packet.data[kind : kind + 2], "big") == _IPV4
        if is_ipv4 and len(packet.data) >= at + 20:
            yield packet, at


def _checksum(header: bytearray) -> bytes:
    """Of an IP header."""
    header[10:12] = b"\0\0"
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)


def _rewrite_names(data: bytearray, start: int, known: set[bytes]) -> None:
    """The addresses in a datagram."""
    for address in known:
        at = data.find(address, start)
        while at >= 0:
            data[at + 1] = _other_octet(data[at + 1])
            at = data.find(address, at + 4)


def _rewrite_stream(segments: list[_Segment], cluster_ids: Sequence[str], kept: frozenset[str]) -> None:
    """The texts in one direction of a connection, also those that lie in several segments."""
    first = min(segment.at for segment in segments)
    size = max(segment.at + len(segment.packet.data) - segment.start for segment in segments) - first
    assert size < _MOST_STREAM, size
    stream = bytearray(size)
    for segment in reversed(segments):
        payload = segment.packet.data[segment.start :]
        stream[segment.at - first : segment.at - first + len(payload)] = payload
    changed = _QUAD.sub(lambda quad: quad[0] if quad[0].decode() in kept else _other_quad(quad), bytes(stream))
    for cluster_id in cluster_ids:
        changed = changed.replace(cluster_id.encode(), other_id(cluster_id).encode())
    if changed == stream:
        return
    differs = np.flatnonzero(np.frombuffer(stream, np.uint8) != np.frombuffer(changed, np.uint8))
    for segment in segments:
        at = segment.at - first
        low, high = np.searchsorted(differs, [at, at + len(segment.packet.data) - segment.start])
        for place in differs[low:high].tolist():
            segment.packet.data[segment.start + place - at] = changed[place]


# Comparing datasets

_PER_FILE = re.compile(r"packet|^community_id$|^capture_id$")
"""Names of what depends on the place in the file, or only on the addresses."""
_STORY_ID = re.compile(r"\b(ci|rec|incident|rebalance|stall|cause|finding)-[0-9a-f]{16}")
_ID = re.compile(r"[0-9a-f]{16}")
_TWO = 2
Row = Mapping[str, Any]


def table_rows(dataset: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, of all its files."""
    found: list[dict[str, Any]] = []
    for path in sorted((dataset / table).rglob("*.parquet")):
        found += pq.ParquetFile(path).read().to_pylist()
    return found


def tables_of(dataset: Path) -> list[str]:
    """The names of the tables, messages among them."""
    folders = {path.parent.relative_to(dataset) for path in dataset.rglob("*.parquet")}
    return sorted({"/".join(name for name in folder.parts if "=" not in name) for folder in folders})


def differences(original: Path, pair: Path, cluster_ids: Sequence[str], tables: Sequence[str] = ()) -> list[str]:
    """Tables of a pair's dataset that do not hold the rows of both clusters, each as the original's dataset has them
    but for ids, addresses, places in the file, and the cluster. tables: by default all but `captures` and messages."""
    ids = _connection_ids(original, pair)
    found = []
    for table in tables or [name for name in tables_of(original) if name != "captures" and "messages/" not in name]:
        wanted = _rows(original, table, {}, cluster_ids)
        twice = Counter({row: _TWO * n for row, n in wanted.items()})
        got = _rows(pair, table, ids, cluster_ids)
        if got != twice:
            missing, extra = list((twice - got).elements()), list((got - twice).elements())
            example = "\n  ".join([*sorted(missing)[:_TWO], "---", *sorted(extra)[:_TWO]])
            counts = f"of {twice.total()} rows {len(missing)} are missing, {len(extra)} others"
            found.append(f"{table}: {counts}\n  {example}")
    return found


def _rows(dataset: Path, table: str, ids: Mapping[str, str], cluster_ids: Sequence[str]) -> Counter[str]:
    return Counter(_comparable(row, ids, cluster_ids) for row in table_rows(dataset, table))


def _connection_ids(original: Path, pair: Path) -> dict[str, str]:
    """The connection ids of the original by those of the second cluster."""

    def key(row: Row, client: str, server: str) -> tuple[Any, ...]:
        return (client, row["client_port"], server, row["server_port"], row["first_ns"])

    known = {
        key(row, row["client_ip"], row["server_ip"]): row["conn_id"] for row in table_rows(original, "connections")
    }
    ids = {}
    for row in table_rows(pair, "connections"):
        client, server = row["client_ip"], original_text(row["server_ip"])
        for name in (original_text(client), client):  # which may have been kept
            if (first := known.get(key(row, name, server))) is not None:
                ids[row["conn_id"]] = first
    return ids


def _comparable(row: Row, ids: Mapping[str, str], cluster_ids: Sequence[str]) -> str:
    """What is compared of a row: the same for a row of the original and that of the second cluster."""
    kept = sorted((name, value) for name, value in row.items() if value is not None and not _is_left_out(name))
    text = repr([(name, _original_ids(_without_places(value), ids)) for name, value in kept])
    for cluster_id in cluster_ids:
        text = text.replace(other_id(cluster_id), cluster_id)
    return _QUAD.sub(lambda match: min(match[0], _other_quad(match)), text.encode()).decode()


def _original_ids(value: Any, ids: Mapping[str, str]) -> Any:
    """A value with the ids of connections in the original, and without those of stories, which hash addresses. Lists of
    ids, which are sorted by them, are sorted anew."""
    if isinstance(value, str):
        return _STORY_ID.sub(r"\1", _ID.sub(lambda match: ids.get(match[0], match[0]), value))
    if isinstance(value, dict):
        return {name: _original_ids(inner, ids) for name, inner in value.items()}
    if isinstance(value, list):
        inner = [_original_ids(each, ids) for each in value]
        are_ids = all(isinstance(each, str) and (_ID.match(each) or _STORY_ID.match(each)) for each in value)
        return sorted(inner) if are_ids else inner
    return value


@cache
def _is_left_out(name: str) -> bool:
    return name in ("cluster", "ts") or _PER_FILE.search(name) is not None


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_places(inner) for name, inner in value.items() if not _is_left_out(name)}
    if isinstance(value, list):
        return [_without_places(inner) for inner in value]
    return value
