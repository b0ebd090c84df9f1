"""The packets that events of servers name (dataset.tables.event_kinds.servers)."""

from typing import NamedTuple

from kafkascope_analyzer.dataset.tables.event_kinds.servers import (
    HostSilence,
    LifeSign,
    PacketDelay,
    PacketLoss,
    ServerConnection,
    ServerWait,
    SlowProcess,
)

WithPackets = HostSilence | LifeSign | PacketDelay | PacketLoss | ServerConnection | ServerWait | SlowProcess
"""Events that name their first and last packet."""


class Moment(NamedTuple):
    """A packet and its time; packet_no 0 where there is none."""

    ts_ns: int
    packet_no: int


def moment_of(ts_ns: int, packet_no: int | None) -> Moment:
    """A moment of an event."""
    return Moment(ts_ns, packet_no or 0)


def first_of(event: WithPackets) -> Moment:
    """The first packet of an event."""
    return moment_of(event.first_ns, event.first_packet_no)


def last_of(event: WithPackets) -> Moment:
    """The last packet of an event."""
    return moment_of(event.last_ns, event.last_packet_no)
