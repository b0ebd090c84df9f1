"""Makes a capture in which one connection of a real capture repeats one exchange as often as wanted.

An exchange is the packets from a request's first to its response's last. Its repetitions are inserted right after it.
Their sequence numbers, acknowledgements, correlation ids and times go on from one to the next. What follows in the
source is moved: all packets by the time that the repetitions take, those of the same connection by their bytes, and the
correlation ids of the same client by their number. So the result reads like one capture of a client that took longer.
Checksums and IP identifications of the changed packets are wrong; kafkascope does not verify them.

The result is a nanosecond pcap, written in blocks of repetitions: memory does not grow with it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.tiling import PCAP_HEADER, Bytes, Ints, RawPackets, load_packets

PRODUCE_AND_FETCH = pa.array([0, 1], pa.int16())
LEAST_STEP_NS = 1_000_000
"""Time from one repetition to the next, unless the exchange itself took longer."""
REPETITIONS_A_BLOCK = 20_000
_RECORD_BYTES, _IP, _TCP = 16, 14, 34
_SEQUENCE, _ACKNOWLEDGEMENT = 4, 8
_REQUEST_ID_AT, _RESPONSE_ID_AT = 8, 4
"""The place of the correlation id in a frame with its length."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Of every packet: its flow (0 where it is not plain IPv4 and TCP), whether it goes to the server, and where its
    payload is: an offset in the packet, and a length."""

    flow: Ints
    to_server: np.ndarray
    payload_at: Ints
    payload_bytes: Ints


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response: the row of each one in the table requests, and its packets."""

    request: dict[str, Any]
    packets: Ints
    step_ns: int


def write_repeated(source: Path, requests: pa.Table, failed: bool, times: int, out: Path) -> Exchange:
    """Writes the capture with an exchange repeated. requests: the table of that name, made from the source.

    failed: of the exchanges of clients that failed, the quickest is repeated; else, of those that succeeded on the
    busiest connection of a client.
    """
    packets = load_packets(source)
    segments = parse_segments(packets)
    exchange = choose(requests, failed, packets, segments)
    last = int(exchange.packets[-1])
    later_ids = correlation_ids_after(requests, exchange, packets)
    with out.open("wb") as file:
        file.write(PCAP_HEADER)
        file.write(records(packets, np.arange(last + 1)))
        for first in range(0, times, REPETITIONS_A_BLOCK):
            numbers = np.arange(first, min(first + REPETITIONS_A_BLOCK, times))
            file.write(repetitions(packets, segments, exchange, numbers).tobytes())
        file.write(rest(packets, segments, exchange, later_ids, times))
    return exchange


def parse_segments(packets: RawPackets) -> Segments:
    """Finds TCP over IPv4 over Ethernet. The server is the end with the lower port."""
    data, at = packets.data, packets.at
    usable = (packets.linktype == 1) & (packets.caplen >= _TCP + 20)
    body = np.where(usable, at, at[np.argmax(usable)])
    usable &= (data[body + 12] == 8) & (data[body + 13] == 0) & (data[body + _IP] == 0x45) & (data[body + 23] == 6)
    ports = [number(data, body + _TCP + side, 2) for side in (0, 2)]
    ends = [number(data, body + _IP + 12 + 4 * side, 4) << 16 | ports[side] for side in (0, 1)]
    to_server = ports[1] < ports[0]
    key = np.stack([np.where(to_server, ends[0], ends[1]), np.where(to_server, ends[1], ends[0])], 1)
    _, flow = np.unique(key, axis=0, return_inverse=True)
    header = _IP + 20 + (data[body + _TCP + 12] >> 4).astype(np.int64) * 4
    payload = number(data, body + _IP + 2, 2) + _IP - header
    return Segments(np.where(usable, flow.reshape(-1) + 1, 0), to_server, header, np.where(usable, payload, 0))


def choose(requests: pa.Table, failed: bool, packets: RawPackets, segments: Segments) -> Exchange:
    """The exchange to repeat. Its packets hold nothing but one request and one response."""
    brokers = pc.unique(requests["server_ip"])
    wanted = pc.and_(pc.is_in(requests["api_key"], PRODUCE_AND_FETCH), pc.equal(requests["status"], "ok"))
    if failed:
        wanted = pc.and_(pc.is_in(requests["api_key"], PRODUCE_AND_FETCH), pc.greater(requests["n_errors"], 0))
    else:
        wanted = pc.and_(wanted, pc.equal(requests["n_errors"], 0))
    of_clients = pc.invert(pc.is_in(requests["client_ip"], brokers))
    rows = requests.filter(pc.and_(wanted, of_clients))
    if not failed:
        counts = rows.group_by("conn_id").aggregate([([], "count_all")]).sort_by([("count_all", "descending")])
        rows = rows.filter(pc.equal(rows["conn_id"], counts["conn_id"][0]))
    for row in rows.sort_by([("latency_us", "ascending"), ("request_packet_no", "ascending")]).to_pylist():
        exchange = alone_in_its_packets(row, packets, segments)
        if exchange is not None:
            return exchange
    raise SystemExit("the capture has no such exchange whose packets hold nothing else")


def alone_in_its_packets(row: dict[str, Any], packets: RawPackets, segments: Segments) -> Exchange | None:
    """The exchange, unless its packets hold bytes of others as well."""
    first, last = row["request_packet_no"] - 1, row["response_packet_no"] - 1
    flow = segments.flow[first]
    chosen = np.arange(first, last + 1)[segments.flow[first : last + 1] == flow]
    sizes = segments.payload_bytes[chosen]
    to_server = segments.to_server[chosen]
    if sizes[to_server].sum() != row["request_bytes"] or sizes[~to_server].sum() != row["response_bytes"]:
        return None
    lasted = int(packets.ts_ns[last] - packets.ts_ns[first])
    return Exchange(row, chosen, max(LEAST_STEP_NS, lasted + 1_000))


def repetitions(packets: RawPackets, segments: Segments, exchange: Exchange, numbers: Ints) -> Bytes:
    """The exchange once per number (0 is the first repetition), as pcap records: uint8 (repetitions, bytes)."""
    chosen, row = exchange.packets, exchange.request
    out = np.tile(np.frombuffer(records(packets, chosen), np.uint8), (len(numbers), 1))
    begins = np.cumsum(packets.caplen[chosen] + _RECORD_BYTES) - packets.caplen[chosen]
    seen = [False, False]
    for packet, begin in zip(chosen.tolist(), begins.tolist(), strict=True):
        ts = packets.ts_ns[packet] + (numbers + 1) * exchange.step_ns
        out[:, begin - _RECORD_BYTES : begin - 8] = np.stack([ts // 10**9, ts % 10**9], 1).astype("<u4").view(np.uint8)
        to_server = bool(segments.to_server[packet])
        grown = {
            _SEQUENCE: moved(row, numbers + 1, to_server),
            _ACKNOWLEDGEMENT: moved(row, numbers + 1, not to_server),
        }
        for field, more in grown.items():
            add(out, begin + _TCP + field, more)
        if segments.payload_bytes[packet] and not seen[to_server]:
            seen[to_server] = True
            id_at = _REQUEST_ID_AT if to_server else _RESPONSE_ID_AT
            add(out, begin + int(segments.payload_at[packet]) + id_at, numbers + 1)
    return out


def moved(row: dict[str, Any], times: Ints, to_server: bool) -> Ints:
    """How many bytes later a sequence number of one direction is after that many repetitions."""
    size: int = row["request_bytes" if to_server else "response_bytes"]
    return times * size


def add(out: Bytes, at: int, more: Ints) -> None:
    """Adds to the big-endian 32-bit word of every row, modulo 2^32."""
    words = np.ascontiguousarray(out[:, at : at + 4]).view(">u4")[:, 0].astype(np.int64)
    out[:, at : at + 4] = ((words + more) & 0xFFFFFFFF).astype(">u4").view(np.uint8).reshape(-1, 4)


def rest(packets: RawPackets, segments: Segments, exchange: Exchange, later_ids: list[int], times: int) -> bytes:
    """The source's packets after the exchange, as pcap records, moved by that many repetitions."""
    data, last = packets.data.copy(), int(exchange.packets[-1])
    row, after, all_times = exchange.request, np.arange(last + 1, len(packets.at)), np.array([times])
    for packet in after[segments.flow[after] == segments.flow[last]].tolist():
        to_server = bool(segments.to_server[packet])
        for field, more in (
            (_SEQUENCE, moved(row, all_times, to_server)),
            (_ACKNOWLEDGEMENT, moved(row, all_times, not to_server)),
        ):
            add(data[None], int(packets.at[packet]) + _TCP + field, more)
    for at in later_ids:
        add(data[None], at, np.array([times]))
    return records(packets, after, data, times * exchange.step_ns)


def correlation_ids_after(requests: pa.Table, exchange: Exchange, packets: RawPackets) -> list[int]:
    """Where in the source's bytes the later correlation ids of the same client are: its connections share a counter.

    An id whose frame began in an earlier packet is not found and stays as it is.
    """
    row, last = exchange.request, int(exchange.packets[-1])
    same = pc.and_(pc.equal(requests["client_id"], row["client_id"]), pc.equal(requests["client_ip"], row["client_ip"]))
    places = []
    for one in requests.filter(same).to_pylist():
        if one["request_packet_no"] is None or one["request_packet_no"] - 1 <= last:
            continue
        header = struct.pack(">hhi", one["api_key"], one["api_version"], one["correlation_id"])
        places += place_of(packets, one["request_packet_no"], header, 4)
        if one["response_packet_no"] is not None:
            header = struct.pack(">ii", one["response_bytes"] - 4, one["correlation_id"])
            places += place_of(packets, one["response_packet_no"], header, 4)
    return places


def place_of(packets: RawPackets, packet_no: int, header: bytes, later: int) -> list[int]:
    """Where the header is in the packet's bytes, and so many bytes on; empty if it began in an earlier packet."""
    at, length = int(packets.at[packet_no - 1]), int(packets.caplen[packet_no - 1])
    found = packets.data[at : at + length].tobytes().find(header)
    return [at + found + later] if found >= 0 else []


def records(packets: RawPackets, chosen: Ints, data: Bytes | None = None, later_ns: int = 0) -> bytes:
    """The chosen packets as pcap records. data: their bytes, where not the source's."""
    return b"".join(_records(packets, chosen, packets.data if data is None else data, later_ns))


def _records(packets: RawPackets, chosen: Ints, data: Bytes, later_ns: int) -> Iterator[bytes]:
    for packet in chosen.tolist():
        seconds, ns = divmod(int(packets.ts_ns[packet]) + later_ns, 10**9)
        at, caplen = int(packets.at[packet]), int(packets.caplen[packet])
        yield struct.pack("<IIII", seconds, ns, caplen, int(packets.wirelen[packet]))
        yield data[at : at + caplen].tobytes()


def number(data: Bytes, at: Ints, size: int) -> Ints:
    """A big-endian number of so many bytes, at each place."""
    out = np.zeros(len(at), np.int64)
    for i in range(size):
        out = out << 8 | data[at + i]
    return out
