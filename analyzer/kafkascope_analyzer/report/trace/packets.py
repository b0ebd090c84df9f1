"""Perfetto's trace format, packet by packet: processes, threads, tracks, slices, instants, flows, counters.

The format is Protocol Buffers; the few messages that a trace needs are encoded here, some bytes at a time, so that
memory does not grow with the trace. Names of events and arguments are interned. Everything is on one packet sequence;
the trace processor sorts by time. Sources: perfetto.dev, "Writing TrackEvent Protos Synthetically"; field numbers of
perfetto_trace.proto; protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import BinaryIO

FLUSH_BYTES = 64 << 10
"""Bytes that are collected before they are written."""
MOST_INTERNED = 10_000
"""Most names that are interned; later names are written in full each time."""
_SEQUENCE = 1
_REALTIME, _BOOTTIME = 1, 6
"""Perfetto's builtin clocks: UTC, and the default clock of a trace."""
_STATE_CLEARED, _NEEDS_STATE = 1, 2
"""TracePacket.SequenceFlags: a new sequence begins; names that were interned before are used."""
_SLICE_BEGIN, _SLICE_END, _INSTANT, _COUNTER = 1, 2, 3, 4
"""TrackEvent.Type."""

Args = Mapping[str, int | str | None]


class _Packet(IntEnum):
    """Field numbers of TracePacket; a Trace consists of them, as its field 1."""

    CLOCK_SNAPSHOT = 6
    TIMESTAMP = 8
    SEQUENCE_ID = 10
    TRACK_EVENT = 11
    INTERNED_DATA = 12
    SEQUENCE_FLAGS = 13
    TRACK_DESCRIPTOR = 60


class _Track(IntEnum):
    """Field numbers of TrackDescriptor."""

    UUID = 1
    NAME = 2
    PROCESS = 3
    THREAD = 4
    PARENT_UUID = 5
    COUNTER = 8
    SIBLING_ORDER_RANK = 12


class _Event(IntEnum):
    """Field numbers of TrackEvent."""

    DEBUG_ANNOTATIONS = 4
    TYPE = 9
    NAME_IID = 10
    TRACK_UUID = 11
    NAME = 23
    COUNTER_VALUE = 30
    FLOW_IDS = 47


class _Argument(IntEnum):
    """Field numbers of DebugAnnotation."""

    NAME_IID = 1
    BOOL_VALUE = 2
    INT_VALUE = 4
    STRING_VALUE = 6


class _Interned(IntEnum):
    """Field numbers of InternedData; an entry has its number as field 1 and its name as field 2."""

    EVENT_NAMES = 2
    ARGUMENT_NAMES = 3


def _varint(value: int) -> bytes:
    """Returns a number of 64 bits, seven bits per byte; a negative one as its two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed64(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _bytes(field: int, value: bytes) -> bytes:
    """Returns a message or a text as a field."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode("utf-8"))


class TraceWriter:
    """Writes one trace. Times are nanoseconds since the epoch; uuids are unique numbers that this class assigns."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._gathered = file, bytearray()
        self._names: dict[str, int] = {}
        self._arg_names: dict[str, int] = {}
        self._last_uuid = 0

    def begin(self, start_ns: int) -> None:
        """Writes the first packets: the start of a sequence, and the trace's clock in UTC."""
        self._packet(_number(_Packet.SEQUENCE_FLAGS, _STATE_CLEARED))
        clocks = b"".join(_bytes(1, _number(1, clock) + _number(2, start_ns)) for clock in (_BOOTTIME, _REALTIME))
        self._packet(_number(_Packet.TIMESTAMP, start_ns) + _bytes(_Packet.CLOCK_SNAPSHOT, clocks))

    def process(self, pid: int, name: str, *, is_first: bool = False) -> int:
        """Adds a process, in the order of the calls, or above all others; returns its track."""
        process, rank = _number(1, pid) + _text(6, name), 0 if is_first else pid
        return self._track(_bytes(_Track.PROCESS, process) + _number(_Track.SIBLING_ORDER_RANK, rank))

    def thread(self, process: int, ids: tuple[int, int], name: str) -> int:
        """Adds a thread to the process. ids: pid and tid. Returns its track."""
        thread = _number(1, ids[0]) + _number(2, ids[1]) + _text(5, name)
        return self._track(_number(_Track.PARENT_UUID, process) + _bytes(_Track.THREAD, thread))

    def track(self, parent: int, name: str) -> int:
        """Adds a track under a process or thread."""
        return self._track(_number(_Track.PARENT_UUID, parent) + _text(_Track.NAME, name))

    def counter(self, parent: int, name: str) -> int:
        """Adds a counter track under a process."""
        return self._track(_number(_Track.PARENT_UUID, parent) + _text(_Track.NAME, name) + _bytes(_Track.COUNTER, b""))

    def point(self, track: int, ts_ns: int, count: int) -> None:
        """Writes the value of a counter from a time on."""
        event = _event(track, _COUNTER) + _number(_Event.COUNTER_VALUE, count)
        self._packet(_number(_Packet.TIMESTAMP, ts_ns) + _bytes(_Packet.TRACK_EVENT, event))

    def _track(self, description: bytes) -> int:
        self._last_uuid += 1
        self._packet(_bytes(_Packet.TRACK_DESCRIPTOR, _number(_Track.UUID, self._last_uuid) + description))
        return self._last_uuid

    def slice(self, track: int, span_ns: tuple[int, int], name: str, args: Args, flows: Iterable[int] = ()) -> None:
        """Writes a slice. Slices of one track may nest, but not overlap. flows: numbers that join slices."""
        self._event(_event(track, _SLICE_BEGIN), span_ns[0], name, args, flows)
        end = _bytes(_Packet.TRACK_EVENT, _event(track, _SLICE_END))
        self._packet(_number(_Packet.TIMESTAMP, max(span_ns)) + end)

    def instant(self, track: int, ts_ns: int, name: str, args: Args, flows: Iterable[int] = ()) -> None:
        """Writes an instant: an event without a duration."""
        self._event(_event(track, _INSTANT), ts_ns, name, args, flows)

    def _event(self, event: bytes, ts_ns: int, name: str, args: Args, flows: Iterable[int]) -> None:
        """Writes an event, with the interned names that it is the first to use."""
        new = bytearray()
        iid = self._interned(self._names, name, _Interned.EVENT_NAMES, new)
        parts = [event, _number(_Event.NAME_IID, iid) if iid else _text(_Event.NAME, name)]
        for key, value in args.items():
            if value is not None:
                key_iid = self._interned(self._arg_names, key, _Interned.ARGUMENT_NAMES, new)
                parts.append(_bytes(_Event.DEBUG_ANNOTATIONS, _number(_Argument.NAME_IID, key_iid) + _value(value)))
        parts += [_fixed64(_Event.FLOW_IDS, flow) for flow in flows]
        packet = _number(_Packet.TIMESTAMP, ts_ns) + _bytes(_Packet.TRACK_EVENT, b"".join(parts))
        names = _bytes(_Packet.INTERNED_DATA, bytes(new)) if new else b""
        self._packet(packet + names + _number(_Packet.SEQUENCE_FLAGS, _NEEDS_STATE))

    @staticmethod
    def _interned(known: dict[str, int], name: str, field: int, new: bytearray) -> int:
        """Returns the name's number; where it is used for the first time, adds its entry to `new`. 0 where there are
        too many."""
        if name not in known:
            if len(known) >= MOST_INTERNED:
                return 0
            known[name] = len(known) + 1
            new += _bytes(field, _number(1, known[name]) + _text(2, name))
        return known[name]

    def _packet(self, content: bytes) -> None:
        self._gathered += _bytes(1, content + _number(_Packet.SEQUENCE_ID, _SEQUENCE))
        if len(self._gathered) >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes the collected bytes: serialized traces one after the other are one trace."""
        self._file.write(self._gathered)
        self._gathered.clear()


def _event(track: int, kind: int) -> bytes:
    return _number(_Event.TRACK_UUID, track) + _number(_Event.TYPE, kind)


def _value(value: int | str) -> bytes:
    """Returns the value of an argument as a field. bool is checked first, because it is an int in Python too."""
    if isinstance(value, bool):
        return _number(_Argument.BOOL_VALUE, value)
    if isinstance(value, int):
        return _number(_Argument.INT_VALUE, value)
    return _text(_Argument.STRING_VALUE, value)
