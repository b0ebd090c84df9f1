"""Events about a server as its hosts saw it. Their key is the server's address and port.

The events of the hosts come before all others of the server; the others are about times in which a host waited for it,
or lost a connection to it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE, Event, event_kind

HostKind = Literal["client", "broker", "controller"]


@event_kind(
    "server_host",
    "a host that talked to the server: its kind, and when it received packets of the server",
    key_kind="server",
    section=WHOLE,
)
@dataclass(slots=True)
class ServerHost(Event):
    """A host that talked to the server."""

    server_ip: Annotated[str, "address of the server"]
    server_port: Annotated[int, I32, "port of the server"]
    node_id: Annotated[int | None, I32, "its node id"]
    host: Annotated[str, "address of the host"]
    host_kind: Annotated[HostKind, "kind of the host"]
    served: Annotated[bool | None, "whether it received payload of the server"]
    is_client: Annotated[bool | None, "whether the process of the server opened connections too"]
    first_ns: Annotated[int | None, "first packet of the server to the host"]
    last_ns: Annotated[int | None, "last packet of the server to the host"]


@event_kind(
    "server_connection",
    "a connection that the server ended or did not accept, or the first that it accepted afterwards",
    key_kind="server",
)
@dataclass(slots=True)
class ServerConnection(Event):
    """A connection that the server ended or did not accept, or the first that it accepted afterwards."""

    host: Annotated[str, "address of the client"]
    close_kind: Annotated[str, "how it ended"]
    served: Annotated[bool | None, "whether the server had sent payload on it"]
    idle_ms: Annotated[int | None, "from the last payload to the end, milliseconds"]
    accepted_ns: Annotated[int | None, "its SYN-ACK"]
    accepted_packet_no: Annotated[int | None, "packet at that time"]
    first_ns: Annotated[int, "its first packet"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "time of the packet that ended it"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its end."""
        return self.last_ns


@event_kind(
    "packet_loss",
    "packets between a host and the server that were retransmitted because they had not arrived, with"
    " pauses of less than five seconds between them",
    key_kind="server",
)
@dataclass(slots=True)
class PacketLoss(Event):
    """Packet losses between a host and the server, several at short intervals."""

    host: Annotated[str, "address of the host"]
    sender: Annotated[str, "sender of the lost packets: the host or the server"]
    n_lost: Annotated[int, "number of retransmissions"]
    n_segments: Annotated[int, "number of different segments among them"]
    n_bursts: Annotated[int, "bursts of retransmissions, with 200 ms or more from one to the next"]
    n_connections: Annotated[int, "number of connections with them"]
    least_bytes: Annotated[int, "payload of the shortest of these segments"]
    most_bytes: Annotated[int, "payload of the longest of these segments"]
    arrived_bytes: Annotated[
        int,
        "length of the longest frame of the same sender that arrived at once meanwhile; 0 where fewer than three did",
    ]
    first_ns: Annotated[int, "time of the first retransmission"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "time of the last retransmission"]
    last_packet_no: Annotated[int | None, "packet at that time"]
    lost_ns: Annotated[
        int,
        "time until which packets were lost, at least: a segment that is retransmitted after a pause was "
        "lost before the pause",
    ]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "packet_delay",
    "time in which packets between a host and the server were delayed: all packets of one side were "
    "acknowledged at least 220 ms later, again and again, and hardly any sooner; or, in one time "
    "slice after another, none as soon as usual, and later than the kernel that acknowledges waits by"
    " itself",
    key_kind="server",
)
@dataclass(slots=True)
class PacketDelay(Event):
    """Packets between a host and the server that were delayed, again and again."""

    host: Annotated[str, "address of the host"]
    sender: Annotated[str, "sender of the packets that were acknowledged late: the host or the server"]
    n_late: Annotated[int, "number of late acknowledgments"]
    middle_ms: Annotated[
        int,
        "median of these waits, milliseconds; where time slices show the delay, median of the shortest wait of each",
    ]
    slice_ms: Annotated[
        int, "length of the time slices whose shortest waits show the delay, milliseconds; 0 where single waits do"
    ]
    n_connections: Annotated[int, "number of connections with them"]
    first_ns: Annotated[int, "time of the first packet that was acknowledged late"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "time of the last late acknowledgment"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


USUAL_DOUBLINGS = 1.2
"""Doublings above the usual that the median of a slice may reach by chance."""
MOST_DOUBLINGS = 4.0
"""Most doublings that count for one slice: a single slice proves nothing."""


@event_kind(
    "slow_process",
    "time in which a server took several times as long as usual for its own work, without other "
    "brokers, while other brokers did not",
    key_kind="server",
)
@dataclass(slots=True)
class SlowProcess(Event):
    """The server's own work took several times as long as usual."""

    n_samples: Annotated[int, "number of compared responses, and of reactions to responses as a replica"]
    times_usual: Annotated[
        int,
        "how many times as long as usual the median took, or the upper quartile or tenth, where most were"
        " as quick as ever",
    ]
    slice_ms: Annotated[int, "length of the time slices that are compared, milliseconds"]
    slowest: Annotated[tuple[str, ...], "ids of the slowest requests"]
    first_ns: Annotated[int, "beginning of the first late one"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "end of the last late one"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "slow_host",
    "time in which the clients of a host took several times as long as usual from a response to the next Fetch, while "
    "those of other hosts did not; of a single client only if all clients of the host paused together",
    key_kind="server",
)
@dataclass(slots=True)
class SlowHost(Event):
    """The clients of a host took several times as long as usual to react."""

    host: Annotated[str, "address of the host"]
    n_clients: Annotated[int, "number of clients for which that was measured"]
    times_usual: Annotated[int, "how many times as long as usual the upper quartile of the quickest client took"]
    slice_ms: Annotated[int, "length of the time slices that are compared, milliseconds"]
    first_ns: Annotated[int, "beginning of the first late reaction"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "end of the last late reaction"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """Returns its time of the capture: that in which it began."""
        return self.first_ns


@event_kind(
    "lost_flows",
    "time at which all connections in use between a host and the server were lost, although neither side closed them: "
    "their packets stopped, or a RST without a FIN answered the next one; and the host connected again soon",
    key_kind="server",
)
@dataclass(slots=True)
class LostFlows(Event):
    """All connections in use between a host and the server were lost, although neither side closed them."""

    host: Annotated[str, "address of the host"]
    n_connections: Annotated[int, "number of lost connections"]
    n_reset: Annotated[int, "number of those that a RST without a FIN ended; the packets of the others stopped"]
    before_ns: Annotated[int, "last packet on one of these connections before the first sign"]
    first_ns: Annotated[int, "first sign: a RST, or the host's first attempt to connect again"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "last sign: a RST, or the attempt that replaced the last of these connections"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "host_silence",
    "time in which a host sent nothing to anybody, although the server retransmitted what the host "
    "had not acknowledged",
    key_kind="server",
)
@dataclass(slots=True)
class HostSilence(Event):
    """A host sent nothing to anybody, and acknowledged none of the server's packets."""

    host: Annotated[str, "address of the host"]
    n_connections: Annotated[int, "connections on which the server waited for an acknowledgment"]
    before_ns: Annotated[int, "time of the last packet of the host to anybody"]
    before_packet_no: Annotated[int | None, "packet at that time"]
    first_ns: Annotated[int, "time of the first packet of the server that the host did not acknowledge"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "time of the last of these packets"]
    last_packet_no: Annotated[int | None, "packet at that time"]
    until_ns: Annotated[int | None, "time of the first packet of the host afterwards; null where none came"]
    until_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "server_wait",
    "time in which a host waited for the server, or the server for an acknowledgment of the host",
    key_kind="server",
)
@dataclass(slots=True)
class ServerWait(Event):
    """A host waited for the server."""

    host: Annotated[str, "address of the host"]
    layer: Annotated[
        str,
        "expected event: any packet (packet), bytes of the application (payload), a response (request), "
        "an acknowledgment of the host (delivery), or that the server reads, whose receive window is "
        "closed (window)",
    ]
    request_id: Annotated[str | None, "id of the request that waited for its response"]
    is_proof: Annotated[bool | None, "whether the server could have answered at once by itself"]
    is_new: Annotated[
        bool | None,
        "whether the connection began in the capture and the server had sent no bytes of the application on it: its "
        "process may not have accepted it",
    ]
    is_slow: Annotated[
        bool | None,
        "whether the response took ten times as long as usual, or was that late at the server's last packet",
    ]
    first_ns: Annotated[int, "first packet that required an answer"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "last packet that required an answer"]
    last_packet_no: Annotated[int | None, "packet at that time"]
    due_ns: Annotated[int, "time at which an answer was due"]
    until_ns: Annotated[int | None, "time at which the wait ended; null where it was open at the end of the capture"]
    until_packet_no: Annotated[int | None, "packet at that time; null where the host has given up without one"]
    ended_by: Annotated[
        str,
        "kind of the packet that ended the wait; `gave_up` where the host ended it, or where its connection had no "
        "more packets for longer than TCP pauses between its attempts; `open` where it lasted to the end",
    ]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "life_sign",
    "packets of the server without a pause of a second, around a time in which a host waited for it; "
    "or a time in which a response of its process was due",
    key_kind="server",
)
@dataclass(slots=True)
class LifeSign(Event):
    """Packets of the server, a span of time in which it sent some; or one in which it owed some."""

    host: Annotated[str | None, "address of the receiving host; null for all hosts"]
    scope: Annotated[
        str,
        "which packets: to one host (host), to all hosts (server), from all ports of its process "
        "(listeners), all packets of the process (process), or those of the host to the server "
        "(from_host); or none, while a response was due at one of several ports of its process, which "
        "could have responded by itself (owed)",
    ]
    layer: Annotated[str, "any packet (packet), or bytes of the application (payload)"]
    first_ns: Annotated[int, "first of the packets"]
    first_packet_no: Annotated[int | None, "packet at that time"]
    last_ns: Annotated[int, "last of the packets"]
    last_packet_no: Annotated[int | None, "packet at that time"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns
