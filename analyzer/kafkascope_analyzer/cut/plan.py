"""The packets to copy: a selection on a dataset becomes spans of time of TCP flows, a selection without one becomes
tests on packets.

So that Wireshark reads the piece from its first byte on:
- a connection that is selected whole is there from its SYN to its last segment;
- of one of which a part is selected, the handshake is there, and ApiVersions where that was its first request;
- a part never begins inside a message, of either direction: it is widened to where nothing is half said;
- of TLS, everything from the handshake to the end of the part is there, for whoever has the keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.cut.comments import NO_COMMENTS, Comments, comments_on
from kafkascope_analyzer.cut.flows import End, Endpoint, Flows
from kafkascope_analyzer.cut.packet_numbers import PacketRange
from kafkascope_analyzer.cut.requests import TIMES, selected_requests
from kafkascope_analyzer.cut.scope import ALL_TIME, Scope, Window, connection_scope, overlapping
from kafkascope_analyzer.cut.selection import Selection
from kafkascope_analyzer.cut.spans import NO_SPANS, Ints, SpanIndex, Spans, merged, spans
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers.errors import UsageError

_API_VERSIONS = 18
_MOST_WIDENINGS = 16
"""Most steps by which a part is widened so that it does not begin inside a message; a connection that pipelines without
a pause reaches this limit."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Plan:
    """Tests that a packet has to pass, all that are not None.

    packets: its number; window: its time; endpoints: an end of it (any of them); flows and spans: its flow, and its
    time in a span of the flow. comments: texts on packets.
    """

    packets: tuple[PacketRange, ...] | None = None
    window: Window | None = None
    endpoints: tuple[Endpoint, ...] | None = None
    flows: Flows | None = None
    spans: SpanIndex | None = None
    comments: Comments = field(default=NO_COMMENTS)


@dataclass(frozen=True, slots=True)
class _Connections:
    """Connections of the piece, one per row; rows that reuse a pair of ports have the same flow."""

    ids: pa.Array
    flow: Ints
    flows: Flows
    first_ns: Ints
    last_ns: Ints
    has_syn: np.ndarray[tuple[int], np.dtype[np.bool_]]
    is_tls: np.ndarray[tuple[int], np.dtype[np.bool_]]


def window_of(selection: Selection, first_ns: int) -> Window:
    """Returns --from and --to as nanoseconds since the epoch. Raises UsageError where --from is after --to."""
    start, end = ALL_TIME
    if selection.start:
        start = selection.start.since_epoch(first_ns)
    if selection.end:
        end = selection.end.since_epoch(first_ns)
    if start > end:
        raise UsageError("--from is after --to")
    return start, end


def wider(window: Window, margin_ns: int) -> Window:
    """Returns the window with a margin on both sides."""
    return window[0] - margin_ns, window[1] + margin_ns


def plan_on_dataset(dataset: Dataset, selection: Selection, window: Window, *, comment: bool) -> Plan:
    """Returns the plan for a selection, in the packets from which the dataset was made. Raises UsageError."""
    scope = connection_scope(dataset, selection)
    packets = selection.packets or None
    if scope is None and not selection.names_requests:
        if not selection.whole_connections:
            return Plan(packets, wider(window, selection.margin_ns))
        scope = overlapping(dataset, window)
    hits = selected_requests(dataset, selection, scope, window) if selection.names_requests else None
    ids = list(scope or {}) if hits is None else pc.unique(hits["conn_id"]).to_pylist()
    connections = _load_connections(dataset, ids)
    if selection.whole_connections:
        parts = [spans(np.arange(len(ids)), connections.first_ns, connections.last_ns)]
    elif hits is not None:
        owner = pc.index_in(hits["conn_id"], connections.ids).to_numpy()
        parts = [_with_margin(spans(owner, hits["ts_ns"], hits["end_ns"]), selection.margin_ns)]
    else:
        parts = [_with_margin(_of_scope(scope or {}, connections, window), selection.margin_ns)]
    wanted = _readable(dataset, connections, merged(parts)) if ids else NO_SPANS
    comments = comments_on(dataset, hits, connections.ids, window) if comment and ids else NO_COMMENTS
    return Plan(packets, None, None, connections.flows, SpanIndex(wanted.of_owners(connections.flow)), comments)


def _with_margin(parts: Spans, margin_ns: int) -> Spans:
    return Spans(parts.owner, parts.start_ns - margin_ns, parts.end_ns + margin_ns)


def _of_scope(scope: Scope, connections: _Connections, window: Window) -> Spans:
    """Returns the windows of each connection, limited to the window."""
    found = [
        (owner, max(start, window[0]), min(end, window[1]))
        for owner, conn_id in enumerate(connections.ids.to_pylist())
        for start, end in scope[conn_id]
    ]
    return spans(*zip(*found, strict=True)) if found else NO_SPANS


def _load_connections(dataset: Dataset, ids: list[str]) -> _Connections:
    columns = ["conn_id", "client_ip", "client_port", "server_ip", "server_port", "first_ns", "last_ns", "syn_ns"]
    batches = list(scan(dataset, CONNECTIONS, [*columns, "tls_decrypted"], one_of("conn_id", ids)))
    table = pa.Table.from_batches(
        batches, pa.schema([CONNECTIONS.schema.field(name) for name in [*columns, "tls_decrypted"]])
    )
    numbers: dict[tuple[End, End], int] = {}
    flow = []
    for ends in zip(*(table[name].to_pylist() for name in columns[1:5]), strict=True):
        client, server = ends[:2], ends[2:]
        flow.append(numbers.setdefault((min(client, server), max(client, server)), len(numbers)))
    return _Connections(
        table["conn_id"].combine_chunks(),
        np.array(flow, np.int64),
        Flows(list(numbers)),
        table["first_ns"].to_numpy(),
        table["last_ns"].to_numpy(),
        pc.is_valid(table["syn_ns"]).to_numpy(),
        pc.is_valid(table["tls_decrypted"]).to_numpy(),
    )


def _readable(dataset: Dataset, connections: _Connections, parts: Spans) -> Spans:
    """Returns parts of connections, extended by what Wireshark needs to read them (see above), none beyond its
    connection."""
    first, last = connections.first_ns, connections.last_ns
    parts = merged([_within(parts, first, last)])
    parts = _widened(dataset, connections, parts)
    tls = connections.is_tls[parts.owner]
    parts = spans(parts.owner, np.where(tls, first[parts.owner], parts.start_ns), parts.end_ns)
    touched = np.unique(parts.owner)
    opened = touched[connections.has_syn[touched]]
    begin = spans(opened, first[opened], _end_of_begin(dataset, connections)[opened])
    return merged([parts, _within(begin, first, last)])


def _within(parts: Spans, first: Ints, last: Ints) -> Spans:
    """Limits each part to its connection, because another may use the same ports before and after."""
    start, end = np.maximum(parts.start_ns, first[parts.owner]), np.minimum(parts.end_ns, last[parts.owner])
    return spans(parts.owner, start, end)


def _times_of(dataset: Dataset, connections: _Connections, *more: str) -> Iterator[pa.RecordBatch]:
    return scan(dataset, REQUESTS, ["conn_id", *TIMES, *more], one_of("conn_id", connections.ids.to_pylist()))


def _widened(dataset: Dataset, connections: _Connections, parts: Spans) -> Spans:
    """Returns parts that do not begin inside a message of the connection."""
    for _ in range(_MOST_WIDENINGS):
        index, more = SpanIndex(parts), [parts]
        for batch in _times_of(dataset, connections):
            owner = pc.index_in(batch["conn_id"], connections.ids).to_numpy()
            for begins, ends in (("ts_ns", "request_last_ns"), ("response_ns", "response_last_ns")):
                begin = pc.fill_null(batch[begins], _NEVER).to_numpy()
                end = pc.fill_null(batch[ends], -_NEVER).to_numpy()
                half = (index.find(owner, end) >= 0) & (index.find(owner, begin) < 0) & (begin < end)
                more.append(spans(owner[half], begin[half], end[half]))
        wider = merged(more)
        if len(wider) == len(parts) and (wider.start_ns == parts.start_ns).all():
            return wider
        parts = wider
    return parts


def _end_of_begin(dataset: Dataset, connections: _Connections) -> Ints:
    """Returns for each connection the end of its beginning: the time before its first request, or the end of
    ApiVersions if that is the first request. Without requests, the whole of it is the handshake."""
    end = connections.last_ns.copy()
    first = np.full(len(end), _NEVER)
    for batch in _times_of(dataset, connections, "api_key"):
        owner = pc.index_in(batch["conn_id"], connections.ids).to_numpy()
        ts = batch["ts_ns"].to_numpy()
        np.minimum.at(first, owner, ts)
        is_first = ts == first[owner]
        end[owner[is_first]] = ts[is_first] - 1
        offers = is_first & (pc.fill_null(batch["api_key"], -1).to_numpy() == _API_VERSIONS)
        answered = pc.fill_null(batch["response_last_ns"], 0).to_numpy()
        answered = np.maximum(answered, pc.fill_null(batch["request_last_ns"], 0).to_numpy())
        end[owner[offers]] = answered[offers]
    return end
