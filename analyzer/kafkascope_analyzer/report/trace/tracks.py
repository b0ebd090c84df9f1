"""The tracks of a trace: a process per client instance, a thread per connection, further tracks where slices overlap.

Slices of a track must not overlap, but requests of a connection may: one that begins before those on the first track
have ended goes to a further track. Memory grows with the number of connections, up to MOST_CONNECTIONS.
"""

from collections import defaultdict

from kafkascope_analyzer.report.formatting import address, count, node, safe
from kafkascope_analyzer.report.model.client_texts import client_name, kind_text
from kafkascope_analyzer.report.trace.packets import TraceWriter
from kafkascope_analyzer.report.trace_model import TraceConnection, TraceModel

MOST_CONNECTIONS = 20_000
"""Most connections with a thread; Perfetto's window cannot usefully show more."""
MOST_LANES = 64
"""Most further tracks of one connection; further requests are instants without a duration."""
_FIRST_TID = 10_000_000
_CLOSED = ("fin_server", "rst_client", "rst_server", "refused", "unanswered")


class Tracks:
    """The tracks of a trace, made for all clients and connections of the dataset."""

    def __init__(self, model: TraceModel, writer: TraceWriter) -> None:
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
        self._cluster: int | None = None
        if model.of_cluster:
            self._process(f"cluster {safe(model.of_cluster.cluster)}, {model.of_cluster.place}")
        owners = self._clients(model)
        self._connections(model, owners)
        if self.n_left_out:
            self._process(f"{count(self.n_left_out, 'connection')} left out: these are the first {MOST_CONNECTIONS:,}")

    def _clients(self, model: TraceModel) -> dict[str, str]:
        """Adds the processes; returns conn_id -> client_instance_id."""
        owners: dict[str, str] = {}
        for row in model.clients():
            software = f" · {safe(row.software_name)} {safe(row.software_version or '')}".rstrip()
            self.of_client[row.client_instance_id] = self._process(
                f"{client_name(row.client_id, row.client_ip)} · {kind_text(row.kind)}"
                + (software if row.software_name else "")
            )
            if len(owners) < MOST_CONNECTIONS:
                owners.update(dict.fromkeys(row.conn_ids, row.client_instance_id))
        return owners

    def _process(self, name: str, *, is_first: bool = False) -> int:
        pid = len(self._pids) + 1
        process = self._writer.process(pid, name, is_first=is_first)
        self._pids[process] = pid
        return process

    def _connections(self, model: TraceModel, owners: dict[str, str]) -> None:
        strangers: dict[tuple[str | None, str | None], int] = {}
        for row in model.connections():
            if len(self.of_connection) >= MOST_CONNECTIONS:
                self.n_left_out += 1
                continue
            process = self.of_client.get(owners.get(row.conn_id, ""))
            if process is None:
                stranger = row.client_ip, row.client_id
                if stranger not in strangers:
                    name = f"{client_name(row.client_id)} at {safe(row.client_ip or '?')}"
                    strangers[stranger] = self._process(name)
                process = strangers[stranger]
            self._connection(row, process)

    def _connection(self, row: TraceConnection, process: int) -> None:
        """Adds the thread of a connection."""
        tid = _FIRST_TID + len(self.of_connection)
        job = f" · {row.primary_role.replace('_', ' ')}" if row.primary_role else ""
        name = f"{node(row.node_id, address(row.server_ip, row.server_port))}{job} · from port {row.client_port}"
        thread = self._writer.thread(process, (self._pids[process], tid), name)
        self.of_connection[row.conn_id] = thread
        if row.close_kind in _CLOSED and row.close_ns is not None:
            args = {"conn_id": row.conn_id}
            self._writer.instant(thread, row.close_ns, f"connection: {row.close_kind.replace('_', ' ')}", args)

    def cluster(self, name: str) -> int:
        """Returns the process of the cluster, above all others; adds it under that name on the first call."""
        if self._cluster is None:
            self._cluster = self._process(name, is_first=True)
        return self._cluster

    def named(self, parent: int, name: str) -> int:
        """Returns the track of that name under a process."""
        if (parent, name) not in self._named:
            self._named[parent, name] = self._writer.track(parent, name)
        return self._named[parent, name]

    def free(self, track: int, span_ns: tuple[int, int], name: str) -> int | None:
        """Returns the track itself, or one of that name under it, where nothing overlaps the span; None beyond
        MOST_LANES."""
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
