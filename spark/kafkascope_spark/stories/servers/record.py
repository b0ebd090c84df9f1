"""`ServerRecord`: the events of one server as lists in order of time: hosts that talked to it, waits for it,
connections that it ended, and times at which it sent packets."""

import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.servers import (
    HostKind,
    HostSilence,
    LifeSign,
    LostFlows,
    PacketDelay,
    PacketLoss,
    ServerConnection,
    ServerHost,
    ServerWait,
    SlowHost,
    SlowProcess,
)
from kafkascope_spark.stories.servers.moments import Moment, first_of, last_of, moment_of

ServerEvent = (
    ServerHost
    | PacketLoss
    | PacketDelay
    | SlowProcess
    | SlowHost
    | LostFlows
    | HostSilence
    | ServerConnection
    | ServerWait
    | LifeSign
)
ANYBODY = ""
"""Stands for all hosts together."""


class Run(NamedTuple):
    """Packets of the server without a pause of a second."""

    first: Moment
    last: Moment


_first, _last = attrgetter("first"), attrgetter("last")


class Gap(NamedTuple):
    """A time without packets of the server. before, after: the last packet before and the first after it, None if there
    is none."""

    before: Moment | None
    after: Moment | None


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait of a host for the server. is_new: on a connection on which it had sent nothing; asked, last_asked: first
    and last packet that need a reply; until: packet that ended the wait, None for the end of the capture."""

    host: str
    conn_id: str
    layer: str
    request_id: str | None
    is_proof: bool
    is_new: bool
    is_slow: bool
    asked: Moment
    last_asked: Moment
    due_ns: int
    until: Moment | None
    ended_by: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A connection that the server ended or did not accept (kind: see the event server_connection), or the first one
    that it accepted after that. accepted: its SYN-ACK."""

    host: str
    conn_id: str
    kind: str
    served: bool
    idle_ms: int | None
    began: Moment
    accepted: Moment | None
    ended: Moment


@dataclass(frozen=True, slots=True)
class Host:
    """A host that talked to the server. first: first packet of the server to it, None if there is none."""

    host: str
    kind: HostKind
    first: Moment | None


class Runs:
    """Runs of one kind, in order of time."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def add(self, run: Run) -> None:
        """Adds the next run, which begins after the previous one."""
        self._runs.append(run)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def after(self, ts_ns: int) -> Moment | None:
        """Returns the first packet of the first run that begins at ts_ns or later; None if there is none."""
        at = bisect_right(self._runs, ts_ns - 1, key=lambda run: run.first.ts_ns)
        return self._runs[at].first if at < len(self._runs) else None

    def gap_from(self, ts_ns: int) -> Gap:
        """Returns the gap that contains ts_ns, or the next gap if ts_ns is inside a run."""
        at = bisect_right(self._runs, ts_ns, key=lambda run: run.first.ts_ns)
        before = self._runs[at - 1].last if at else None
        return Gap(before, self._runs[at].first if at < len(self._runs) else None)

    def gaps(self) -> list[Gap]:
        """Returns all gaps, from the one before the first run to the one after the last."""
        firsts = [*(run.first for run in self._runs), None]
        lasts = [None, *(run.last for run in self._runs)]
        return [Gap(before, after) for before, after in zip(lasts, firsts, strict=True)]

    def has_packets(self, from_ns: int, to_ns: int) -> bool:
        """Whether a run has a packet between two times, as far as its ends show."""
        run = self.begun_by(Moment(to_ns - 1, sys.maxsize))
        return run is not None and run.last.ts_ns > from_ns

    def begun_by(self, moment: Moment) -> Run | None:
        """Returns the last run that begins at a moment or before; None if there is none."""
        at = bisect_right(self._runs, moment, key=_first)
        return self._runs[at - 1] if at else None

    def begun_after(self, begin: Moment, seen: Moment) -> Run | None:
        """Returns the first run that begins after `begin` and ends after `seen`; None if there is none."""
        at = max(bisect_right(self._runs, begin, key=_first), bisect_right(self._runs, seen, key=_last))
        return self._runs[at] if at < len(self._runs) else None


@dataclass
class ServerRecord:
    """The events of one server. capture_ns: the covered part of the capture. is_client: whether its process also opened
    connections. lost: in order of their ends. last_seen_ns: time of the last packet between the server and each host.
    _runs: by scope, layer and host."""

    capture_ns: tuple[int, int]
    server_ip: str = ""
    server_port: int = 0
    node_id: int | None = None
    is_client: bool = False
    hosts: dict[str, Host] = field(default_factory=dict)
    losses: list[PacketLoss] = field(default_factory=list)
    delays: list[PacketDelay] = field(default_factory=list)
    slow: list[SlowProcess] = field(default_factory=list)
    slow_hosts: list[SlowHost] = field(default_factory=list)
    lost_flows: list[LostFlows] = field(default_factory=list)
    absent: list[HostSilence] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    last_seen_ns: dict[str, int] = field(default_factory=dict)
    _runs: dict[tuple[str, str, str], Runs] = field(default_factory=lambda: defaultdict(Runs))

    def take(self, packet_no: int, conn_id: str, event: ServerEvent) -> None:
        """Takes the next event of the server. packet_no, conn_id: from the row of the event."""
        if isinstance(event, ServerHost):
            self._take_host(packet_no, event)
        elif isinstance(event, PacketLoss):
            self.losses.append(event)
        elif isinstance(event, PacketDelay):
            self.delays.append(event)
        elif isinstance(event, SlowProcess):
            self.slow.append(event)
        elif isinstance(event, SlowHost):
            self.slow_hosts.append(event)
        elif isinstance(event, LostFlows):
            self.lost_flows.append(event)
        elif isinstance(event, HostSilence):
            self.absent.append(event)
        elif isinstance(event, ServerConnection):
            self._take_connection(conn_id, event)
        elif isinstance(event, ServerWait):
            self._take_wait(conn_id, event)
        else:
            self._take_sign(event)

    def runs(self, scope: str, layer: str, host: str = ANYBODY) -> Runs:
        """Returns the runs of packets of the server; scope and layer as in the event life_sign."""
        return self._runs[scope, layer, host]

    def end_ns(self, moment: Moment | None) -> int:
        """Returns the time of a moment; the end of the capture for None."""
        return self.capture_ns[1] if moment is None else moment.ts_ns

    def start_ns(self, moment: Moment | None) -> int:
        """Returns the time of a moment; the begin of the capture for None."""
        return self.capture_ns[0] if moment is None else moment.ts_ns

    def waits_of(self, host: str) -> list[Wait]:
        """Returns the waits of a host, in order of time."""
        return self._waits_of_hosts[host]

    def others_asked(self, host: str, after: Moment, before: Moment) -> bool:
        """Whether other hosts waited for a packet and sent their last one between two moments."""
        at = bisect_right(self._last_asked, after, key=itemgetter(0))
        rest = takewhile(lambda asked: asked[0] < before, islice(self._last_asked, at, None))
        return any(name != host for _, name in rest)

    def last_accepted_ns(self, host: str, before: Moment) -> int:
        """Returns when the server last accepted a connection of a host before a moment, as far as known from its first
        packet to the host and the connections that it ended later; the begin of the capture if it had sent nothing."""
        known = [self.hosts[host].first, *self.accepted(host)]
        earlier = (moment.ts_ns for moment in known if moment is not None and moment < before)
        return max(earlier, default=self.capture_ns[0])

    def accepted(self, host: str) -> list[Moment]:
        """Returns when the server accepted connections of a host, in order of time, as far as known: those that it
        ended later, and the first one after each that it did not accept."""
        return self._accepted[host]

    def lost_between(self, from_ns: int, to_ns: int) -> list[Lost]:
        """Returns the connections that ended between two times (both included), in order of time."""
        since = bisect_left(self.lost, from_ns, key=_ended_ns)
        return self.lost[since : bisect_right(self.lost, to_ns, key=_ended_ns)]

    @cached_property
    def _waits_of_hosts(self) -> dict[str, list[Wait]]:
        hosts: dict[str, list[Wait]] = defaultdict(list)
        for wait in self.waits:
            hosts[wait.host].append(wait)
        return hosts

    @cached_property
    def _accepted(self) -> dict[str, list[Moment]]:
        hosts: dict[str, list[Moment]] = defaultdict(list)
        for lost in self.lost:
            if lost.accepted is not None:
                hosts[lost.host].append(lost.accepted)
        for moments in hosts.values():
            moments.sort()
        return hosts

    @cached_property
    def _last_asked(self) -> list[tuple[Moment, str]]:
        return sorted((wait.last_asked, wait.host) for wait in self.waits if wait.layer == "packet")

    def _take_host(self, packet_no: int, event: ServerHost) -> None:
        self.server_ip, self.server_port, self.node_id = event.server_ip, event.server_port, event.node_id
        self.is_client = bool(event.is_client)
        first = None if event.first_ns is None else Moment(event.first_ns, packet_no)
        self.hosts[event.host] = Host(event.host, event.host_kind, first)
        self._note_seen(event.host, event.last_ns or 0)

    def _take_connection(self, conn_id: str, event: ServerConnection) -> None:
        began, ended = first_of(event), last_of(event)
        accepted = None if event.accepted_ns is None else moment_of(event.accepted_ns, event.accepted_packet_no)
        self._note_seen(event.host, ended.ts_ns)
        served = bool(event.served)
        self.lost.append(Lost(event.host, conn_id, event.close_kind, served, event.idle_ms, began, accepted, ended))

    def _take_wait(self, conn_id: str, event: ServerWait) -> None:
        self._note_seen(event.host, event.last_ns)
        self.waits.append(
            Wait(
                event.host,
                conn_id,
                event.layer,
                event.request_id,
                bool(event.is_proof),
                bool(event.is_new),
                bool(event.is_slow),
                first_of(event),
                last_of(event),
                event.due_ns,
                None if event.until_ns is None else moment_of(event.until_ns, event.until_packet_no),
                event.ended_by,
            )
        )

    def _note_seen(self, host: str, ts_ns: int) -> None:
        self.last_seen_ns[host] = max(ts_ns, self.last_seen_ns.get(host, 0))

    def _take_sign(self, event: LifeSign) -> None:
        self._runs[event.scope, event.layer, event.host or ANYBODY].add(Run(first_of(event), last_of(event)))


def _ended_ns(lost: Lost) -> int:
    return lost.ended.ts_ns
