"""`TlsStreams` takes TCP's streams and returns them with encrypted runs replaced by decrypted ones, block after block.

Framing treats them like plain ones. A decrypted stream has its own offsets, without TLS's bytes. The first byte of each
record has the time of the packet that brought it, the others that of the packet that ended the record, because the
receiver cannot read them earlier. The rest that framing leaves of a decrypted stream is kept here; the rest of an
encrypted one (part of a record, or a connection that is held) is kept with TCP's streams.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import record_type
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.tcp.assemble import Assembler
from kafkascope_parsers.tcp.state import CHUNK, FROM_BLOCK
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN, Streams
from kafkascope_parsers.tls.connection import HELD, OPEN, PASSED, Runs, TlsConnection
from kafkascope_parsers.tls.key_log import KeyLog
from kafkascope_parsers.tls.plain_text import Alert, Certificates, PlainText, Undecrypted
from kafkascope_parsers.tls.run import Run
from kafkascope_parsers.tls.splice import Spliced, splice

HELD_CONNECTIONS_LIMIT = 4096
"""Connections without a handshake that wait to be tried at the same time: some 100 kB each. Others are passed."""

KEYED_LIMIT = 4096
"""Connections with keys in memory at the same time: some 8 kB each. Beyond it the keys of the connection that was quiet
for the longest time are deleted; they are made again when it continues."""
_TOO_MANY = "too many connections whose handshake is not in the capture"

_NEW = -1
_SIDE = record_type(
    [
        ("stream_bytes", np.int64),
        ("missing_bytes", np.int64),
        ("cut_bytes", np.int64),
        ("kept_from", np.int64),
        ("slot", np.int32),
        ("gap_kind", np.uint8),
    ]
)
"""A decrypted stream: the fields that `Assembler` needs of a side (tcp.SIDE), and the first byte that framing has
left."""
_MARK = np.dtype([("direction", "i8"), ("offset", "i8"), ("size", "i8"), ("tcp_offset", "i8")])
"""Places of decrypted bytes: the offset in the decrypted stream of a record's content, its size, and the offset in
TCP's stream of its first byte."""
_NOTHING_KEPT = np.iinfo(np.int64).max
_OFFSET_BITS = 44
"""Bits of the offset in a key of direction and offset: a stream of 16 TB."""


class Opened(NamedTuple):
    """The results of a block's records. streams: for framing; undecrypted: bytes of TCP's streams that were not
    decrypted, though others of their connection were; versions: number and version of connections that were opened
    without their handshake; alerts, certificates: of open connections."""

    streams: Streams
    undecrypted: list[Undecrypted]
    versions: list[tuple[int, str]]
    alerts: list[Alert]
    certificates: list[Certificates]


class TlsStreams:
    """The decrypted streams of some connections. Call `push` for every block, and `consumed` after framing has read the
    result. is_decrypted: by connection, whether it was decrypted; overhead: by direction, bytes of its records that are
    not content; n_not_tried, n_partly_tried: connections without a handshake that, because of limits, were tried with
    none or only some of the sessions of the key log."""

    def __init__(self, key_log: KeyLog) -> None:
        self._key_log = key_log
        self._states = Growing(np.int8)
        self._by_syn = Growing(np.bool_)
        self._sides = Growing[np.void](_SIDE)
        self._overhead = Growing(np.int64)
        self._connections: dict[int, TlsConnection] = {}
        self._keyed: dict[int, None] = {}
        """Connections with keys in memory; the first one was quiet for the longest time."""
        self._why: dict[int, str] = {}
        """Why connections that were passed were not decrypted, by number of the connection."""
        self._n_held = 0
        self.n_not_tried, self.n_partly_tried = 0, 0
        self._indices: dict[int, int] = {}
        """The runs of the current block, by their starts."""
        self._buffer = np.empty(0, np.uint8)
        self._assembler = Assembler()
        self._marks = np.empty(0, _MARK)
        self._spliced: Spliced | None = None
        self._tcp = self._plain = _no_streams()
        self._tcp_consumed = np.empty(0, np.int64)

    def __getstate__(self) -> dict[str, Any]:
        """The state without secrets, which `unlock` adds again, and without the current block."""
        left_out = ("_spliced", "_tcp", "_plain", "_tcp_consumed", "_key_log", "_keyed")
        kept = {name: value for name, value in vars(self).items() if name not in left_out}
        return kept | {"_indices": {}, "_buffer": np.empty(0, np.uint8)}

    def unlock(self, key_log: KeyLog) -> None:
        """Takes the secrets again, after the state was saved."""
        self._key_log, self._keyed = key_log, {}

    @property
    def is_decrypted(self) -> NDArray[np.bool_]:
        """By connection."""
        return np.asarray(self._states.rows == OPEN)

    @property
    def overhead(self) -> NDArray[np.int64]:
        """By direction."""
        return self._overhead.rows

    def open_connections(self, by_syn: NDArray[np.bool_]) -> None:
        """Takes up new connections, as framing does."""
        n = len(by_syn)
        sides = np.zeros(2 * n, _SIDE)
        sides["slot"], sides["kept_from"] = -1, _NOTHING_KEPT
        self._sides.add(sides)
        self._states.add(np.full(n, _NEW, np.int8))
        self._by_syn.add(np.asarray(by_syn, np.bool_))
        self._overhead.add(np.zeros(2 * n, np.int64))

    def push(self, streams: Streams, *, is_closed: NDArray[np.bool_] | None) -> Opened:
        """Decrypts a block. is_closed: by connection, whether it was closed before the capture ended; None before the
        end."""
        conn = streams.direction >> 1
        self._pass_others(streams, conn)
        self._tcp, self._tcp_consumed, self._spliced = streams, streams.start.copy(), None
        chosen = np.flatnonzero(self._states.rows[conn] != PASSED)
        if not len(chosen) and (is_closed is None or not self._connections):
            return Opened(streams, [], [], [], [])
        sizes = streams.end[chosen] - streams.start[chosen]
        out, versions = PlainText(self._room(int(sizes.sum()))), []
        self._n_held = sum(connection.state == HELD for connection in self._connections.values())
        for number, runs in self._runs_of(streams, chosen, is_closed):
            versions += self._read(number, runs, out, final=is_closed is not None)
        self._plain = self._assembled(streams, out, final=is_closed is not None)
        for number, n_bytes in out.overhead.items():
            self._overhead.rows[number] += n_bytes
        passed = np.flatnonzero(self._states.rows[conn] == PASSED)
        self._spliced = splice(streams, passed, self._plain)
        return Opened(self._spliced.streams, out.undecrypted, versions, out.alerts, out.certificates)

    def why_not(self, number: int) -> str | None:
        """Why a connection was not decrypted, if that is known."""
        return self._why.get(number)

    def consumed(self, consumed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keeps the rest that framing has left of decrypted streams. consumed: how far each run from `push` was read.
        Returns the same for the runs of TCP's streams."""
        if self._spliced is None:
            return consumed
        of_plain = self._spliced.consumed(consumed, self._plain, second=True)
        self._keep(of_plain)
        passed = self._states.rows[self._tcp.direction >> 1] == PASSED
        of_tcp = self._spliced.consumed(consumed, self._tcp, second=False)
        return np.where(passed, of_tcp, self._tcp_consumed)

    def with_places(self, undecoded: pa.Table) -> pa.Table:
        """The bytes that framing did not decode, by place in TCP's streams, with the reason why a connection was not
        decrypted."""
        conn = undecoded["conn"].to_numpy()
        opened = np.flatnonzero(self._states.rows[conn] == OPEN)
        if len(opened):
            offsets = undecoded["stream_offset"].to_numpy().copy()
            direction = 2 * conn[opened] + undecoded["side"].to_numpy()[opened]
            offsets[opened] = self._tcp_offsets(direction, offsets[opened])
            at = undecoded.schema.get_field_index("stream_offset")
            undecoded = undecoded.set_column(at, undecoded.schema.field(at), pa.array(offsets))
        if self._why:
            why = pa.array([self._why.get(number) for number in conn.tolist()], pa.string())
            detail = pc.if_else(pc.equal(undecoded["reason"], "tls"), why, undecoded["detail"])
            at = undecoded.schema.get_field_index("detail")
            undecoded = undecoded.set_column(at, undecoded.schema.field(at), detail)
        return undecoded

    def _pass_others(self, streams: Streams, conn: NDArray[np.int64]) -> None:
        """Passes connections that are not TLS: their first bytes are no handshake, or, if these were not captured, a
        packet begins with two zeros, as Kafka's frames do and encrypted bytes do not."""
        states = self._states.rows
        undecided = np.flatnonzero((states[conn] == _NEW) | (states[conn] == HELD))
        if not len(undecided):
            return
        data, start = streams.data, streams.start[undecided]
        is_first = streams.stream_offset[undecided] == 0
        begins = is_first & (data[start] == 22)
        if not len(self._key_log):
            states[conn[undecided]] = PASSED
            return
        starts_kafka = np.zeros(len(streams.start), np.bool_)
        first, second = streams.piece_start, np.minimum(streams.piece_start + 1, len(data) - 1)
        zeros = first[(data[first] == 0) & (data[second] == 0)]
        starts_kafka[np.searchsorted(streams.start, zeros, side="right") - 1] = True
        of_syn = self._by_syn.rows[conn[undecided]]
        other = np.where(of_syn & is_first, ~begins & (states[conn[undecided]] == _NEW), starts_kafka[undecided])
        states[conn[undecided[other]]] = PASSED

    def _runs_of(
        self, streams: Streams, chosen: NDArray[np.int64], is_closed: NDArray[np.bool_] | None
    ) -> Iterable[tuple[int, Runs]]:
        """The chosen runs, by connection."""
        view = memoryview(streams.data.data)
        runs: dict[int, Runs] = {}
        for index in chosen.tolist():
            direction = int(streams.direction[index])
            runs.setdefault(direction >> 1, ([], []))[direction & 1].append(_run(streams, view, index, is_closed))
        self._indices = dict(zip(streams.start[chosen].tolist(), chosen.tolist(), strict=True))
        return runs.items()

    def _read(self, number: int, runs: Runs, out: PlainText, *, final: bool) -> list[tuple[int, str]]:
        """Reads the runs of a connection. Returns its version if it was opened without its handshake."""
        versions: list[tuple[int, str]] = []
        connection = self._connections.get(number)
        if connection is None:
            if self._n_held >= HELD_CONNECTIONS_LIMIT:
                self._states.rows[number], self._why[number] = PASSED, _TOO_MANY
                self.n_not_tried += 1
                return versions
            self._n_held += 1
            connection = self._connections[number] = TlsConnection(number, by_syn=bool(self._by_syn.rows[number]))
        if connection.state == HELD:
            connection.look(runs, self._key_log, final=final)
            version = connection.take_version()
            versions = [(number, version)] if version is not None else []
            self._n_held -= connection.state != HELD
            if connection.state == OPEN:
                self._keyed[number] = None
        self._states.rows[number] = connection.state
        if connection.state == PASSED:
            del self._connections[number]
            self.n_partly_tried += connection.is_partly_tried
            if connection.why is not None:
                self._why[number] = connection.why
        elif connection.state == OPEN:
            self._unlock(number)
            for side in (0, 1):
                for run in runs[side]:
                    self._tcp_consumed[self._indices[run.start]] = connection.read(side, run, out)
        return versions

    def _unlock(self, number: int) -> None:
        """Makes the keys of a connection if it has none, and deletes those of another one if there are too many."""
        if number in self._keyed:
            del self._keyed[number]
        else:
            self._connections[number].unlock(self._key_log)
        self._keyed[number] = None
        if len(self._keyed) > KEYED_LIMIT:
            quiet = next(iter(self._keyed))
            del self._keyed[quiet]
            self._connections[quiet].lock()

    def _assembled(self, streams: Streams, out: PlainText, *, final: bool) -> Streams:
        """The decrypted runs of a block, after the rest that framing has left of earlier ones."""
        chunks, marks = _chunks(streams, out)
        self._marks = np.concatenate([self._marks, marks])
        data = self._buffer[: out.filled]
        return self._assembler.assemble(chunks, (data, data[:0]), self._sides.rows, final=final)

    def _room(self, n_bytes: int) -> memoryview:
        """Room for n_bytes, in one buffer for all blocks."""
        if len(self._buffer) < n_bytes:
            self._buffer = np.empty(n_bytes + n_bytes // 8, np.uint8)
        return memoryview(self._buffer.data)

    def _keep(self, consumed: NDArray[np.int64]) -> None:
        """Keeps the unread rest of decrypted runs, and its places. consumed: per run of these."""
        self._assembler.keep_rest(self._plain, consumed)
        sides = self._sides.rows
        sides["kept_from"] = _NOTHING_KEPT
        tails = self._assembler.tail_chunks
        np.minimum.at(sides["kept_from"], tails["direction"], tails["stream_offset"])
        marks = self._marks
        self._marks = marks[marks["offset"] + marks["size"] > sides["kept_from"][marks["direction"]]]

    def _tcp_offsets(self, direction: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.int64]:
        """The offsets in TCP's streams of bytes of decrypted ones."""
        marks = self._marks
        known = np.unique(marks["direction"])
        keys = np.searchsorted(known, marks["direction"]) << _OFFSET_BITS | marks["offset"]
        order = np.argsort(keys, kind="stable")
        wanted = np.searchsorted(known, direction) << _OFFSET_BITS | offset
        mark = marks[order[np.searchsorted(keys[order], wanted, side="right") - 1]]
        return np.asarray(mark["tcp_offset"] + offset - mark["offset"], np.int64)


def _no_streams() -> Streams:
    """Streams without a run."""
    nothing = np.empty(0, np.int64)
    kinds = np.empty(0, np.uint8)
    return Streams(kinds, nothing, nothing, nothing, nothing, nothing, kinds, kinds, nothing, nothing, nothing)


def _run(streams: Streams, view: memoryview, index: int, is_closed: NDArray[np.bool_] | None) -> Run:
    """A run of TCP's streams."""
    direction = streams.direction[index]
    has_later = index + 1 < len(streams.direction) and streams.direction[index + 1] == direction
    ended_by = streams.gap_kind[index + 1] if has_later else streams.gap_after[index]
    end_reason = "truncated_by_snaplen" if ended_by == GAP_SNAPLEN else "gap"
    if ended_by == GAP_NONE and is_closed is not None:
        end_reason = "connection_end" if is_closed[direction >> 1] else "capture_end"
    return Run(
        streams.data,
        view,
        int(streams.start[index]),
        int(streams.end[index]),
        int(streams.stream_offset[index]),
        int(streams.gap_kind[index]),
        bool(ended_by != GAP_NONE or has_later or is_closed is not None),
        end_reason,
    )


def _chunks(streams: Streams, out: PlainText) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """The decrypted records of a block as CHUNK rows, one or two each, and as _MARK rows."""
    sizes = np.array(out.sizes, np.int64)
    at = np.cumsum(sizes) - sizes
    stretches = np.array(out.stretches, np.int64).reshape(-1, 4)
    counts = stretches[:, 3]
    first = np.cumsum(counts) - counts
    direction = np.repeat(stretches[:, 0], counts)
    offset = at + np.repeat(stretches[:, 1] - at[first], counts)
    gap_kind = np.zeros(len(sizes), np.uint8)
    gap_kind[first] = stretches[:, 2]
    begins, ends = np.array(out.begins, np.int64), np.array(out.ends, np.int64)
    begin = np.searchsorted(streams.piece_start, begins, side="right") - 1
    last = np.searchsorted(streams.piece_start, ends - 1, side="right") - 1
    is_cut = (begin != last) & (sizes > 1)
    rows = np.repeat(np.arange(len(sizes)), 1 + is_cut)
    is_second = np.zeros(len(rows), np.bool_)
    is_second[1:] = rows[1:] == rows[:-1]
    is_head = is_cut[rows] & ~is_second
    chunks = np.zeros(len(rows), CHUNK)
    piece = np.where(is_head, begin[rows], last[rows])
    chunks["direction"], chunks["source"] = direction[rows], FROM_BLOCK
    chunks["stream_offset"], chunks["at"] = offset[rows] + is_second, at[rows] + is_second
    chunks["length"] = np.where(is_head, 1, sizes[rows] - is_second)
    chunks["gap_kind"] = np.where(is_second, GAP_NONE, gap_kind[rows])
    chunks["ts_ns"], chunks["packet_no"] = streams.piece_ts_ns[piece], streams.piece_packet[piece]
    run = np.searchsorted(streams.start, begins, side="right") - 1
    marks = np.zeros(len(sizes), _MARK)
    marks["direction"], marks["offset"], marks["size"] = direction, offset, sizes
    marks["tcp_offset"] = streams.stream_offset[run] + begins - streams.start[run]
    return chunks, marks
