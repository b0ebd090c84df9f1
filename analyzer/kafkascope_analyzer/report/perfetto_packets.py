"""Perfetto's trace format, packet by packet: processes, threads, tracks, slices, instants, flows.

Written with Perfetto's own classes (package `perfetto`), a few hundred packets at a time, so that memory does not grow
with the trace. Names of events and arguments are interned. Everything is on one packet sequence; the trace processor
sorts by time. Source: perfetto.dev, "Writing TrackEvent Protos Synthetically".
"""

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

PACKETS_AT_A_TIME = 500
MOST_INTERNED = 10_000
"""Names that are interned; a name that comes later is written out each time."""
_SEQUENCE = 1
_REALTIME, _BOOTTIME = 1, 6
"""Perfetto's builtin clocks: UTC, and the default clock of a trace."""

Args = Mapping[str, int | str | None]


class TraceWriter:
    """Writes one trace. Times are nanoseconds since the epoch; uuids are this class's own, unique numbers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._trace = file, pb.Trace()
        self._names: dict[str, int] = {}
        self._arg_names: dict[str, int] = {}
        self._last_uuid = 0

    def begin(self, start_ns: int) -> None:
        """The first packets: a new sequence, and what the trace's clock is in UTC."""
        packet = self._packet()
        packet.sequence_flags = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet = self._packet()
        packet.timestamp = start_ns
        for clock_id in (_BOOTTIME, _REALTIME):
            clock = packet.clock_snapshot.clocks.add()
            clock.clock_id, clock.timestamp = clock_id, start_ns

    def process(self, pid: int, name: str) -> int:
        """A process, in the order of the calls; gives its track."""
        uuid, track = self._track(name=None, parent=None)
        track.process.pid, track.process.process_name = pid, name
        track.sibling_order_rank = pid
        return uuid

    def thread(self, process: int, ids: tuple[int, int], name: str) -> int:
        """A thread of the process; ids: pid and tid. Gives its track."""
        uuid, track = self._track(name=None, parent=process)
        track.thread.pid, track.thread.tid = ids
        track.thread.thread_name = name
        return uuid

    def track(self, parent: int, name: str) -> int:
        """A further track under a process or thread."""
        return self._track(name=name, parent=parent)[0]

    def _track(self, name: str | None, parent: int | None) -> tuple[int, Any]:
        self._last_uuid += 1
        track = self._packet().track_descriptor
        track.uuid = self._last_uuid
        if parent is not None:
            track.parent_uuid = parent
        if name is not None:
            track.name = name
        return self._last_uuid, track

    def slice(self, track: int, span_ns: tuple[int, int], name: str, args: Args, flows: Iterable[int] = ()) -> None:
        """A slice from begin to end; slices of one track may nest, not overlap. flows: numbers that join slices."""
        self._event(track, span_ns[0], name, args, flows).type = pb.TrackEvent.TYPE_SLICE_BEGIN
        packet = self._packet()
        packet.timestamp = max(span_ns)
        packet.track_event.track_uuid = track
        packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END

    def instant(self, track: int, ts_ns: int, name: str, args: Args, flows: Iterable[int] = ()) -> None:
        """A mark."""
        self._event(track, ts_ns, name, args, flows).type = pb.TrackEvent.TYPE_INSTANT

    def _event(self, track: int, ts_ns: int, name: str, args: Args, flows: Iterable[int]) -> Any:
        packet = self._packet()
        packet.timestamp = ts_ns
        event = packet.track_event
        event.track_uuid = track
        name_iid = self._interned(packet, self._names, name, packet.interned_data.event_names)
        if name_iid:
            event.name_iid = name_iid
        else:
            event.name = name
        for key, value in args.items():
            if value is not None:
                annotation = event.debug_annotations.add()
                names = packet.interned_data.debug_annotation_names
                annotation.name_iid = self._interned(packet, self._arg_names, key, names)
                if isinstance(value, bool):
                    annotation.bool_value = value
                elif isinstance(value, int):
                    annotation.int_value = value
                else:
                    annotation.string_value = value
        event.flow_ids.extend(flows)
        return event

    def _interned(self, packet: Any, known: dict[str, int], name: str, new: Any) -> int:
        """The name's number, told to the reader where it is new; 0 where there are too many."""
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        if name not in known:
            if len(known) >= MOST_INTERNED:
                return 0
            known[name] = len(known) + 1
            entry = new.add()
            entry.iid, entry.name = known[name], name
        return known[name]

    def _packet(self) -> Any:
        if len(self._trace.packet) >= PACKETS_AT_A_TIME:
            self.flush()
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def flush(self) -> None:
        """Writes what is gathered: serialized traces one after the other are one trace."""
        self._file.write(self._trace.SerializeToString(deterministic=True))
        self._trace = pb.Trace()  # a message that is only cleared keeps the memory of all it ever held
