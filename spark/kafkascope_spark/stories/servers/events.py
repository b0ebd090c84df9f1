"""How a server looked to the hosts that talked to it (dataset.tables.server_events)."""

from dataclasses import dataclass
from typing import NamedTuple

from kafkascope_analyzer.dataset.stories.broker_states import HostKind


class Moment(NamedTuple):
    """A packet and its time; packet_no 0 where there is none."""

    ts_ns: int
    packet_no: int


@dataclass(slots=True)
class ServerHost:
    """A host that talked to the server. first_ns, last_ns: packets of the server to it."""

    server_ip: str
    server_port: int
    node_id: int | None
    host: str
    host_kind: HostKind
    is_client: bool | None
    first_ns: int | None
    last_ns: int | None


@dataclass(slots=True)
class ServerConnection:
    """A connection that the server ended or did not accept, or the first that it accepted afterwards."""

    host: str
    close_kind: str
    served: bool | None
    idle_ms: int | None
    accepted_ns: int | None
    accepted_packet_no: int | None
    first_ns: int
    first_packet_no: int | None
    last_ns: int
    last_packet_no: int | None

    @property
    def part_ns(self) -> int:
        """The time of the capture that it is of: that in which it ended."""
        return self.last_ns


@dataclass(slots=True)
class ServerWait:
    """A host waited for the server."""

    host: str
    layer: str
    request_id: str | None
    is_proof: bool | None
    is_slow: bool | None
    first_ns: int
    first_packet_no: int | None
    last_ns: int
    last_packet_no: int | None
    due_ns: int
    until_ns: int | None
    until_packet_no: int | None
    ended_by: str

    @property
    def part_ns(self) -> int:
        """The time of the capture that it is of: that in which it began."""
        return self.first_ns


@dataclass(slots=True)
class LifeSign:
    """When the server sent packets. host: to whom, None for anybody."""

    host: str | None
    scope: str
    layer: str
    first_ns: int
    first_packet_no: int | None
    last_ns: int
    last_packet_no: int | None

    @property
    def part_ns(self) -> int:
        """The time of the capture that it is of: that in which it began."""
        return self.first_ns


def moment_of(ts_ns: int, packet_no: int | None) -> Moment:
    """A moment of an event."""
    return Moment(ts_ns, packet_no or 0)


def first_of(event: ServerConnection | ServerWait | LifeSign) -> Moment:
    """The first packet of an event."""
    return moment_of(event.first_ns, event.first_packet_no)


def last_of(event: ServerConnection | ServerWait | LifeSign) -> Moment:
    """The last packet of an event."""
    return moment_of(event.last_ns, event.last_packet_no)


SERVER_EVENTS = {
    "server_host": ServerHost,
    "server_connection": ServerConnection,
    "server_wait": ServerWait,
    "life_sign": LifeSign,
}
"""What the events of each kind become."""
