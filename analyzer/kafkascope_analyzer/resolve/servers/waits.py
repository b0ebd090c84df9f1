"""Waits of clients for servers, and connections that servers ended or did not accept, from the spills of
the buckets."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, first_ending_after
from kafkascope_analyzer.resolve.servers.spilled_runs import NEVER_NS
from kafkascope_analyzer.scan.late_responses import LATE_RESPONSES
from kafkascope_analyzer.scan.liveness_spans import WAITS, is_unacknowledged
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.framing.layout import KAFKA
from kafkascope_parsers.tcp.spans import BY_ACK, BY_DATA, BY_GIVING_UP, BY_NOTHING, ENDED_BY, PACKETS, PAYLOAD
from kafkascope_parsers.tcp.state import EVENT_KINDS

REQUEST, DELIVERY, WINDOW = 2, 3, 4
"""Layers of waits: for the response to a decoded request; of the server, for the host to acknowledge its packets; for
the server to read, while its closed receive window blocks the host."""
LAYERS = ("packet", "payload", "request", "delivery", "window")
LEAST_DELIVERY_NS, LEAST_RETRY_NS = 1_000_000_000, 100_000_000
"""A wait for an acknowledgment matters when it took this long and the server retransmitted meanwhile."""
LOST_KINDS = (*CLOSED_BY_SERVER, "refused", "unanswered", "open", "accepted")
"""How a connection ended: FIN or RST of the server first; refused with RST; its SYN not answered (so far). accepted: it
did not end so, and is the first to be accepted after one that was not, or the first on which the server sent payload
after one that it closed without any."""
_CLOSED = LOST_KINDS[:3]
_REFUSED, _UNANSWERED, _OPEN, _ACCEPTED = (
    LOST_KINDS.index(name) for name in ("refused", "unanswered", "open", "accepted")
)
_SYN, _SYN_ACK = EVENT_KINDS.index("syn"), EVENT_KINDS.index("syn_ack")
_ENDS = pa.array([EVENT_KINDS.index(name) for name in ("refused", "rst", "fin")], pa.uint8())
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Rows:
    """Columns of one length."""

    def taken(self, rows: NDArray[np.generic]) -> Self:
        """Returns the chosen rows."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def joined(cls, parts: "list[Self]") -> Self:
        """Returns the rows of all parts."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([np.empty(0, np.int64), *(getattr(p, name) for p in parts)]) for name in names))


@dataclass(frozen=True, slots=True)
class Waits(_Rows):
    """Waits of clients for servers.

    conn, pair, server, process   numbers of ServerHosts; layer: PACKETS, PAYLOAD, REQUEST, DELIVERY or WINDOW
    asked_ns, asked_packet, last_ns, last_packet   the first and the last packet that asked
    due_ns   when the answer was to come at the latest
    until_ns, until_packet, ended_by   what ended the wait (tcp.spans.ENDED_BY); 0 where nothing did
    is_proof   1 where the server could have answered at once by itself, or the host is there (DELIVERY)
    is_new   1 where the connection began in the capture and the server had sent no bytes of the application on it: its
        process may not have accepted it yet
    number, api_key   of the request, or NONE; is_slow: 1 where its response came much later than usual
    """

    conn: Ints
    pair: Ints
    server: Ints
    process: Ints
    layer: Ints
    asked_ns: Ints
    asked_packet: Ints
    last_ns: Ints
    last_packet: Ints
    due_ns: Ints
    until_ns: Ints
    until_packet: Ints
    ended_by: Ints
    is_proof: Ints
    is_new: Ints
    number: Ints
    api_key: Ints
    is_slow: Ints

    def table(self, hosts: ServerHosts) -> pa.Table:
        """Returns the rows as a table, with texts, in an order that does not depend on the buckets."""
        columns = _keys(hosts, self.conn, self.server)
        names = (
            "asked_ns",
            "asked_packet",
            "last_ns",
            "last_packet",
            "due_ns",
            "is_proof",
            "is_new",
            "number",
            "is_slow",
        )
        columns |= {name: pa.array(getattr(self, name)) for name in names}
        columns |= {name: _positive(getattr(self, name)) for name in ("until_ns", "until_packet")}
        columns["layer"] = pa.array(LAYERS).take(pa.array(self.layer))
        columns["ended_by"] = pa.array(ENDED_BY).take(pa.array(self.ended_by))
        return pa.table(columns)


@dataclass(frozen=True, slots=True)
class LostConnections(_Rows):
    """Connections that the server ended or did not accept (kind: index in LOST_KINDS), and the first ones accepted
    after one that was not. accepted_ns: time of the SYN-ACK, 0 where there is none; idle_ms: NONE if not known; served:
    1 where the server sent payload on it."""

    conn: Ints
    pair: Ints
    server: Ints
    kind: Ints
    began_ns: Ints
    began_packet: Ints
    accepted_ns: Ints
    accepted_packet: Ints
    ended_ns: Ints
    ended_packet: Ints
    idle_ms: Ints
    served: Ints

    def table(self, hosts: ServerHosts) -> pa.Table:
        """Returns the rows as a table, with texts."""
        columns = _keys(hosts, self.conn, self.server)
        names = ("began_ns", "began_packet", "ended_ns", "ended_packet", "served")
        columns |= {name: pa.array(getattr(self, name)) for name in names}
        columns |= {name: _positive(getattr(self, name)) for name in ("accepted_ns", "accepted_packet")}
        columns["idle_ms"] = pa.array(self.idle_ms, mask=self.idle_ms < 0)
        columns["close_kind"] = pa.array(LOST_KINDS).take(pa.array(self.kind))
        return pa.table(columns)


def _keys(hosts: ServerHosts, conn: Ints, server: Ints) -> dict[str, pa.Array]:
    return {
        "key": hosts.keys.take(pa.array(server)),
        "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(conn)),
        "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.host[conn])),
    }


def _positive(values: Ints) -> pa.Array:
    return pa.array(values, mask=values <= 0)


def gather_waits(hosts: ServerHosts, first_payload_ns: Ints, closed: pa.Table) -> Waits:
    """Returns all waits for servers: for packets on any connection, for payload on those that are not decoded, for late
    responses, and for closed windows to open. first_payload_ns: time of the server's first payload on each connection;
    closed: the closed windows (closed_windows)."""
    parts = [
        *_spilled_waits(hosts, first_payload_ns),
        *_late_responses(hosts, first_payload_ns),
        _for_windows(hosts, closed),
    ]
    return Waits.joined(parts)


def _spilled_waits(hosts: ServerHosts, first_payload_ns: Ints) -> Iterator[Waits]:
    is_decoded = hosts.connections["protocol"].to_numpy() == KAFKA
    has_syn = np.asarray(hosts.connections["syn_ns"].is_valid())
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, WAITS):
            conn, layer = rows["conn"].to_numpy() + first, rows["layer"].to_numpy()
            by_client = rows["side"].to_numpy() == hosts.client_side[conn]
            of_client = np.where(layer == PACKETS, is_unacknowledged(rows), ~is_decoded[conn])
            chosen = np.where(by_client, of_client, _is_delivery(rows, layer))
            chosen &= hosts.pair[conn] >= 0
            rows = rows.filter(pa.array(chosen))
            conn, layer = conn[chosen], np.where(by_client, layer, DELIVERY)[chosen].astype(np.int64)
            asked, until = rows["first_ns"].to_numpy(), rows["until_ns"].to_numpy()
            over = np.where(until > 0, until, np.iinfo(np.int64).max)
            yield Waits(
                conn=conn,
                pair=hosts.pair[conn],
                server=hosts.server[conn],
                process=hosts.process[conn],
                layer=layer,
                asked_ns=asked,
                asked_packet=rows["first_packet"].to_numpy(),
                last_ns=rows["last_ns"].to_numpy(),
                last_packet=rows["last_packet"].to_numpy(),
                due_ns=asked,
                until_ns=until,
                until_packet=rows["until_packet"].to_numpy(),
                ended_by=rows["ended_by"].to_numpy().astype(np.int64),
                is_proof=(has_syn[conn] & (first_payload_ns[conn] >= over)).astype(np.int64),
                is_new=_is_new(hosts, first_payload_ns, conn, asked) * (layer == PAYLOAD),
                number=np.full(len(conn), NONE),
                api_key=np.full(len(conn), NONE),
                is_slow=np.zeros(len(conn), np.int64),
            )


def hosts_that_did_not_acknowledge(hosts: ServerHosts) -> NDArray[np.bool_]:
    """Whether a server waited long for an acknowledgment of each host."""
    found = np.zeros(len(hosts.hosts), np.bool_)
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, WAITS):
            conn = rows["conn"].to_numpy() + first
            by_server = rows["side"].to_numpy() != hosts.client_side[conn]
            found[hosts.host[conn[by_server & _is_delivery(rows, rows["layer"].to_numpy())]]] = True
    return found


def _is_delivery(rows: pa.Table, layer: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Whether each wait is a long one for an acknowledgment, during which the sender retransmitted."""
    asked, last, until = (rows[name].to_numpy() for name in ("first_ns", "last_ns", "until_ns"))
    is_long = (until == 0) | (until - asked >= LEAST_DELIVERY_NS)
    return np.asarray((layer == PACKETS) & is_long & (last - asked >= LEAST_RETRY_NS))


def _is_new(hosts: ServerHosts, first_payload_ns: Ints, conn: Ints, asked_ns: Ints) -> Ints:
    """Returns 1 for each wait on a connection that began in the capture and on which the server had sent nothing."""
    began = np.asarray(hosts.connections["syn_ns"].is_valid())[conn]
    return np.asarray((began & (first_payload_ns[conn] > asked_ns)).astype(np.int64))


def _late_responses(hosts: ServerHosts, first_payload_ns: Ints) -> Iterator[Waits]:
    closed = hosts.connections["close_ns"].fill_null(0).to_numpy()
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, LATE_RESPONSES):
            conn = rows["conn"].to_numpy() + first
            rows, conn = rows.filter(pa.array(hosts.pair[conn] >= 0)), conn[hosts.pair[conn] >= 0]
            answered = rows["response_ns"].fill_null(0).to_numpy()
            until = np.where(answered > 0, answered, closed[conn])
            ended_by = np.where(answered > 0, BY_DATA, np.where(until > 0, BY_GIVING_UP, BY_NOTHING))
            sent, packet = rows["sent_ns"].to_numpy(), rows["request_packet_no"].to_numpy()
            yield Waits(
                conn=conn,
                pair=hosts.pair[conn],
                server=hosts.server[conn],
                process=hosts.process[conn],
                layer=np.full(len(conn), REQUEST),
                asked_ns=sent,
                asked_packet=packet,
                last_ns=sent,
                last_packet=packet,
                due_ns=rows["due_ns"].to_numpy(),
                until_ns=until,
                until_packet=rows["response_packet_no"].fill_null(0).to_numpy(),
                ended_by=ended_by.astype(np.int64),
                is_proof=rows["is_alone"].to_numpy(zero_copy_only=False).astype(np.int64),
                is_new=_is_new(hosts, first_payload_ns, conn, sent),
                number=rows["number"].to_numpy(),
                api_key=rows["api_key"].to_numpy().astype(np.int64),
                is_slow=np.zeros(len(conn), np.int64),
            )


def _for_windows(hosts: ServerHosts, closed: pa.Table) -> Waits:
    """Returns the waits for servers to read: from the segment that closed the window to the one that opened it, or to
    the end of the connection. The server's process could have read at any time."""
    rows = closed.filter(pc.equal(closed["side"], "server"))
    conn = pc.index_in(rows["conn_id"], hosts.connections["conn_id"]).to_numpy().astype(np.int64)
    ended = hosts.connections["close_ns"].fill_null(0).to_numpy()[conn]
    opened = rows["last_ns"].fill_null(0).to_numpy()
    until = np.where(opened > 0, opened, ended)
    first, shown = rows["first_ns"].to_numpy(), rows["shown_ns"].to_numpy()
    return Waits(
        conn=conn,
        pair=hosts.pair[conn],
        server=hosts.server[conn],
        process=hosts.process[conn],
        layer=np.full(len(conn), WINDOW),
        asked_ns=first,
        asked_packet=rows["first_packet"].to_numpy(),
        last_ns=shown,
        last_packet=np.zeros(len(conn), np.int64),
        due_ns=first,
        until_ns=until,
        until_packet=rows["last_packet"].fill_null(0).to_numpy(),
        ended_by=np.where(opened > 0, BY_ACK, np.where(until > 0, BY_GIVING_UP, BY_NOTHING)),
        is_proof=np.ones(len(conn), np.int64),
        is_new=np.zeros(len(conn), np.int64),
        number=np.full(len(conn), NONE),
        api_key=np.full(len(conn), NONE),
        is_slow=np.zeros(len(conn), np.int64),
    )


def lost_connections(hosts: ServerHosts, first_payload_ns: Ints) -> LostConnections:
    """Returns the connections that servers ended or did not accept, and the first ones accepted afterwards.
    first_payload_ns: as in gather_waits."""
    rows = hosts.connections
    kind = pc.fill_null(pc.index_in(rows["close_kind"], pa.array(_CLOSED)), NONE).to_numpy().astype(np.int64)
    syn, synack, closed = (rows[name].fill_null(0).to_numpy() for name in ("syn_ns", "synack_ns", "close_ns"))
    silent = (syn > 0) & (synack == 0) & (kind == NONE)
    unanswered = np.asarray(pc.equal(rows["close_kind"], "unanswered").to_numpy())
    kind = np.where(silent, np.where(unanswered, _UNANSWERED, _OPEN), kind)
    not_accepted = np.flatnonzero((kind >= _REFUSED) & (hosts.pair >= 0))
    first = _accepted_after(hosts, np.flatnonzero((synack > 0) & (hosts.pair >= 0)), not_accepted)
    served = (synack > 0) & (first_payload_ns < NEVER_NS) & (hosts.pair >= 0)
    turned_away = np.flatnonzero((synack > 0) & ~served & (kind >= 0) & (kind < _REFUSED) & (hosts.pair >= 0))
    first = np.concatenate([first, _accepted_after(hosts, np.flatnonzero(served), turned_away)])
    kind[first[kind[first] == NONE]] = _ACCEPTED
    conn = np.flatnonzero((kind >= 0) & (hosts.pair >= 0))
    ended = np.where(kind == _ACCEPTED, synack, np.where(closed > 0, closed, rows["last_ns"].to_numpy()))
    began_packet, accepted_packet, ended_packet = _packets(hosts, kind, ended)
    return LostConnections(
        conn,
        hosts.pair[conn],
        hosts.server[conn],
        kind[conn],
        rows["first_ns"].to_numpy()[conn],
        began_packet[conn],
        synack[conn],
        accepted_packet[conn],
        ended[conn],
        np.where(kind == _ACCEPTED, accepted_packet, ended_packet)[conn],
        rows["idle_before_close_ms"].fill_null(NONE).to_numpy()[conn],
        (first_payload_ns[conn] <= ended[conn]).astype(np.int64),
    )


def _accepted_after(hosts: ServerHosts, accepted: Ints, not_accepted: Ints) -> Ints:
    """Returns the accepted connections that are the first of their pair after one that was not accepted, some of them
    several times."""
    synack, began = (hosts.connections[name].fill_null(0).to_numpy() for name in ("synack_ns", "first_ns"))
    order = accepted[np.lexsort((synack[accepted], hosts.pair[accepted]))]
    times = Runs(hosts.pair[order], began[order], order, synack[order], order)
    at = first_ending_after(times, hosts.pair[not_accepted], began[not_accepted])
    return np.asarray(order[at[at >= 0]])


def _packets(hosts: ServerHosts, kind: Ints, ended: Ints) -> tuple[Ints, Ints, Ints]:
    """Returns the packets of each connection's SYN, of its SYN-ACK, and of the RST or FIN that ended it; 0 where there
    is none."""
    began, accepted, end = (np.zeros(len(kind), np.int64) for _ in range(3))
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "tcp_events", ["conn", "ts_ns", "packet_no", "kind"]):
            conn, what = rows["conn"].to_numpy() + first, rows["kind"].to_numpy()
            packet_no, ts_ns = rows["packet_no"].to_numpy(), rows["ts_ns"].to_numpy()
            syn = (what == _SYN) & (kind[conn] >= 0)
            began[conn[syn]] = packet_no[syn]
            answer = (what == _SYN_ACK) & (kind[conn] >= 0)
            accepted[conn[answer]] = packet_no[answer]
            ends = np.asarray(pc.is_in(rows["kind"], _ENDS)) & (kind[conn] >= 0) & (kind[conn] < _UNANSWERED)
            ends &= (ts_ns == ended[conn]) & (end[conn] == 0)
            chosen = np.flatnonzero(ends)[::-1]
            end[conn[chosen]] = packet_no[chosen]
    return began, accepted, end
