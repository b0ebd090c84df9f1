"""Which track of the trace shows what: a process a client instance, a thread a connection, further tracks where slices
overlap.

Slices of a track must not overlap, requests of a connection may: one that begins before those on the first track have
ended goes to a further track. Memory grows with the number of connections, up to MOST_CONNECTIONS.
"""

from collections import defaultdict

from kafkascope_analyzer.report.formatting import address, count, node, safe
from kafkascope_analyzer.report.model.client_texts import client_name, kind_text
from kafkascope_analyzer.report.trace.packets import TraceWriter
from kafkascope_analyzer.sql.database import Database

MOST_CONNECTIONS = 20_000
"""Connections that get a thread; Perfetto's window shows no more in any useful way."""
MOST_LANES = 64
"""Further tracks of one connection; a request beyond is a mark without a length."""
_FIRST_TID = 10_000_000
_CLIENTS = """
select client_instance_id, client_id, client_ip, kind, software_name, software_version, conn_ids
from clients order by (kind = 'broker') is true, first_ns, client_instance_id
"""
_CONNECTIONS = """
select conn_id, client_ip, client_ids[1] as client_id, client_port, server_ip, server_port, node_id, primary_role,
       close_kind, coalesce(close_ns, last_ns) as close_ns
from connections order by first_ns, conn_id
"""
_CLOSED = ("fin_server", "rst_client", "rst_server", "refused", "unanswered")


class Tracks:
    """The tracks of a trace, made for all clients and connections of the dataset."""

    def __init__(self, database: Database, writer: TraceWriter) -> None:
        self._writer = writer
        self.of_client: dict[str, int] = {}
        """client_instance_id -> its process"""
        self.of_connection: dict[str, int] = {}
        """conn_id -> its thread"""
        self.n_left_out = 0
        """connections beyond MOST_CONNECTIONS"""
        self._pids: dict[int, int] = {}
        self._ends: dict[int, list[int]] = defaultdict(list)
        self._lanes: dict[int, list[int]] = {}
        self._named: dict[tuple[int, str], int] = {}
        owners = self._clients(database)
        self._connections(database, owners)
        if self.n_left_out:
            self._process(f"{count(self.n_left_out, 'connection')} left out: these are the first {MOST_CONNECTIONS:,}")

    def _clients(self, database: Database) -> dict[str, str]:
        """Makes the processes; gives conn_id -> client_instance_id."""
        owners: dict[str, str] = {}
        if not database.has("clients"):
            return owners
        for identity, client_id, client_ip, kind, name, version, conn_ids in database.query(_CLIENTS)[1]:
            software = f" · {safe(name)} {safe(version or '')}".rstrip() if name else ""
            self.of_client[identity] = self._process(
                f"{client_name(client_id, client_ip)} · {kind_text(kind)}{software}"
            )
            if len(owners) < MOST_CONNECTIONS:
                owners.update(dict.fromkeys(conn_ids or (), identity))
        return owners

    def _process(self, name: str) -> int:
        pid = len(self._pids) + 1
        process = self._writer.process(pid, name)
        self._pids[process] = pid
        return process

    def _connections(self, database: Database, owners: dict[str, str]) -> None:
        strangers: dict[tuple[str | None, str | None], int] = {}
        for conn_id, ip, client_id, port, *server, role, close_kind, close_ns in database.query(_CONNECTIONS)[1]:
            if len(self.of_connection) >= MOST_CONNECTIONS:
                self.n_left_out += 1
                continue
            process = self.of_client.get(owners.get(conn_id, ""))
            if process is None:
                if (ip, client_id) not in strangers:
                    strangers[ip, client_id] = self._process(f"{client_name(client_id)} at {safe(ip or '?')}")
                process = strangers[ip, client_id]
            tid = _FIRST_TID + len(self.of_connection)
            job = f" · {role.replace('_', ' ')}" if role else ""
            name = f"{node(server[2], address(server[0], server[1]))}{job} · from port {port}"
            thread = self._writer.thread(process, (self._pids[process], tid), name)
            self.of_connection[conn_id] = thread
            if close_kind in _CLOSED and close_ns is not None:
                args = {"conn_id": conn_id}
                self._writer.instant(thread, close_ns, f"connection: {close_kind.replace('_', ' ')}", args)

    def named(self, parent: int, name: str) -> int:
        """The track of that name under a process."""
        if (parent, name) not in self._named:
            self._named[parent, name] = self._writer.track(parent, name)
        return self._named[parent, name]

    def free(self, track: int, span_ns: tuple[int, int], name: str) -> int | None:
        """The track itself, or one of that name under it, where nothing overlaps the span; None beyond MOST_LANES."""
        ends, lanes = self._ends[track], self._lanes.setdefault(track, [track])
        for lane, end in enumerate(ends):
            if end <= span_ns[0]:
                ends[lane] = span_ns[1]
                return lanes[lane]
        if len(ends) >= MOST_LANES:
            return None
        ends.append(span_ns[1])
        if len(ends) > len(lanes):
            lanes.append(self._writer.track(track, name))
        return lanes[len(ends) - 1]
