"""Restarts of brokers' processes, derived from the requests that brokers send to other nodes (KIP-631): a broker
registers with the controller when its process starts, sends it heartbeats from then on, and requests its shutdown in
these (wantShutDown) before it stops. This shows a restart even if no client sends the broker a request.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers.broker_clients import broker_of

_REGISTRATIONS, _HEARTBEATS = "messages/BrokerRegistration/request", "messages/BrokerHeartbeat/request"
_OF_NODES = frozenset({"controller", "inter_broker"})
"""Roles of the connections that brokers open to other nodes."""


@dataclass(frozen=True, slots=True)
class ProcessRestart:
    """A broker's process ended, and another one started.

    address: the broker's IP address. asked_ns: first heartbeat that requests the shutdown, None where none does;
    alive_ns: its last heartbeat before that, or before it ended; ended_ns, gone_ns: when the first and the last of its
    own connections ended; back_ns: when the new process opened its first; registered_ns, registration: when and by
    which request (request_id) that registered with the controller.
    """

    node_id: int
    address: str
    asked_ns: int | None
    alive_ns: int
    ended_ns: int
    gone_ns: int
    back_ns: int
    registered_ns: int
    registration: str

    @property
    def begin_ns(self) -> int:
        """When the process began to shut down; when it ended, if it requested no shutdown."""
        return self.ended_ns if self.asked_ns is None else self.asked_ns


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """Heartbeats of a broker in order of time. ts_ns: when each was sent; asks: whether it requests the shutdown."""

    ts_ns: NDArray[np.int64]
    asks: NDArray[np.bool_]

    def before(self, ts_ns: int) -> int | None:
        """Returns the time of the last heartbeat at or before ts_ns; None if there is none."""
        n = int(np.searchsorted(self.ts_ns, ts_ns, "right"))
        return int(self.ts_ns[n - 1]) if n else None

    def asked_before(self, ts_ns: int) -> int | None:
        """Returns the first of the latest uninterrupted heartbeats up to ts_ns that request the shutdown; None if the
        last heartbeat by then requests none."""
        n = int(np.searchsorted(self.ts_ns, ts_ns, "right"))
        others = np.flatnonzero(~self.asks[:n])
        first = int(others[-1]) + 1 if len(others) else 0
        return int(self.ts_ns[first]) if first < n else None


@dataclass(frozen=True, slots=True)
class BrokerProcesses:
    """Restarts of all brokers, sorted by node and time, and the heartbeats of each node by its id."""

    restarts: tuple[ProcessRestart, ...] = ()
    heartbeats: Mapping[int, Heartbeats] = field(default_factory=dict)


class _Registration(NamedTuple):
    node_id: int
    ts_ns: int
    request_id: str
    conn_id: str


@dataclass(frozen=True, slots=True)
class _Connection(Row):
    """A connection from the address of a broker."""

    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    client_ip: str
    client_ids: tuple[str, ...]
    roles: tuple[str, ...]
    first_ns: int
    last_ns: int

    def is_of(self, node_id: int) -> bool:
        """Whether the broker opened it. Its client id may be the node id alone, which any client may have."""
        is_named = any(broker_of(client_id) == node_id for client_id in self.client_ids)
        return is_named or (str(node_id) in self.client_ids and _OF_NODES.issuperset(self.roles))


def broker_processes(dataset: Dataset) -> BrokerProcesses:
    """Returns the restarts and heartbeats of the brokers in a capture. Raises UsageError where a table cannot be read.
    Memory: two numbers per heartbeat."""
    heartbeats = dict(_heartbeats(dataset))
    registrations = sorted(_registrations(dataset))
    opened = _opened(dataset, registrations)
    found: dict[tuple[int, int], ProcessRestart] = {}
    for registration in registrations:
        beats = heartbeats.get(registration.node_id)
        restart = None if beats is None else _restart(registration, opened[registration.conn_id], beats)
        if restart is not None:
            found.setdefault((restart.node_id, restart.back_ns), restart)
    return BrokerProcesses(tuple(found.values()), heartbeats)


def _heartbeats(dataset: Dataset) -> Iterator[tuple[int, Heartbeats]]:
    times: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
    asks: dict[int, list[NDArray[np.bool_]]] = defaultdict(list)
    for batch in dataset.batches(_HEARTBEATS, ["broker_id", "ts_ns", "want_shut_down"]):
        node_id, ts_ns = (batch.column(name).to_numpy() for name in ("broker_id", "ts_ns"))
        wants = batch.column("want_shut_down").fill_null(False).to_numpy(zero_copy_only=False)
        for each in np.unique(node_id).tolist():
            times[each].append(ts_ns[node_id == each])
            asks[each].append(wants[node_id == each])
    for each, parts in times.items():
        joined = np.concatenate(parts)
        order = np.argsort(joined, kind="stable")
        yield each, Heartbeats(joined[order], np.concatenate(asks[each])[order])


def _registrations(dataset: Dataset) -> Iterator[_Registration]:
    for batch in dataset.batches(_REGISTRATIONS, ["broker_id", "ts_ns", "request_id", "conn_id"]):
        yield from map(_Registration, *(column.to_pylist() for column in batch.columns))


def _opened(dataset: Dataset, registrations: Iterable[_Registration]) -> dict[str, list[_Connection]]:
    """Returns the connections that each registered broker opened from the address from which it registered. Keys:
    conn_id of the registration."""
    node_of = {each.conn_id: each.node_id for each in registrations}
    if not node_of:
        return {}
    registered = {row.conn_id: row.client_ip for row in read(dataset, _Connection, one_of("conn_id", sorted(node_of)))}
    at_ip: dict[str, list[_Connection]] = defaultdict(list)
    for row in read(dataset, _Connection, one_of("client_ip", sorted(set(registered.values())))):
        at_ip[row.client_ip].append(row)
    return {
        conn_id: [row for row in at_ip[registered.get(conn_id, "")] if row.is_of(node_id)]
        for conn_id, node_id in node_of.items()
    }


def _restart(registration: _Registration, opened: list[_Connection], beats: Heartbeats) -> ProcessRestart | None:
    """Returns the restart that a registration shows: the broker sent heartbeats before, and all its earlier connections
    have ended. None otherwise, as a running process may register again, too."""
    last_ns = beats.before(registration.ts_ns)
    old = [row for row in opened if last_ns is not None and row.first_ns <= last_ns <= row.last_ns]
    gone_ns = max((row.last_ns for row in old), default=registration.ts_ns)
    new = [row for row in opened if row.first_ns > gone_ns]
    if last_ns is None or gone_ns >= registration.ts_ns or not new:
        return None
    asked_ns = beats.asked_before(last_ns)
    alive_ns = last_ns if asked_ns is None else beats.before(asked_ns - 1)
    return ProcessRestart(
        registration.node_id,
        new[0].client_ip,
        asked_ns,
        last_ns if alive_ns is None else alive_ns,
        min(row.last_ns for row in old),
        gone_ns,
        min(row.first_ns for row in new),
        registration.ts_ns,
        registration.request_id,
    )
