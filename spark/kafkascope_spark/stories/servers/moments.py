"""`Moment`: a packet of an event of a server (dataset.tables.event_kinds.servers)."""

from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.servers import (
    HostSilence,
    LifeSign,
    LostFlows,
    PacketDelay,
    PacketLoss,
    ServerConnection,
    ServerWait,
    SlowHost,
    SlowProcess,
)

WithPackets = (
    HostSilence
    | LifeSign
    | LostFlows
    | PacketDelay
    | PacketLoss
    | ServerConnection
    | ServerWait
    | SlowHost
    | SlowProcess
)
"""Events with a first and a last packet."""


class Moment(NamedTuple):
    """A packet and its time; packet_no is 0 if there is no packet."""

    ts_ns: int
    packet_no: int


def moment_of(ts_ns: int, packet_no: int | None) -> Moment:
    """Makes a moment of an event."""
    return Moment(ts_ns, packet_no or 0)


def first_of(event: WithPackets) -> Moment:
    """Returns the first packet of an event."""
    return moment_of(event.first_ns, event.first_packet_no)


def last_of(event: WithPackets) -> Moment:
    """Returns the last packet of an event."""
    return moment_of(event.last_ns, event.last_packet_no)
