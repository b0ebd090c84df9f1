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
    "a host that talked to the server: what runs there, and when packets of the server came to it",
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
    host_kind: Annotated[HostKind, "what runs on it"]
    served: Annotated[bool | None, "whether payload of the server came to it"]
    is_client: Annotated[bool | None, "whether the process of the server opened connections too"]
    first_ns: Annotated[int | None, "first packet of the server to it"]
    last_ns: Annotated[int | None, "last packet of the server to it"]


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
    accepted_packet_no: Annotated[int | None, "the packet of that"]
    first_ns: Annotated[int, "its first packet"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "what ended it"]
    last_packet_no: Annotated[int | None, "the packet of that"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its end."""
        return self.last_ns


@event_kind(
    "packet_loss",
    "packets between a host and the server that were sent again because they had not arrived, with pauses of less than "
    "five seconds between them",
    key_kind="server",
)
@dataclass(slots=True)
class PacketLoss(Event):
    """Packet losses between a host and the server, several at short intervals."""

    host: Annotated[str, "address of the host"]
    sender: Annotated[str, "whose packets were lost: those of the host, or of the server"]
    n_lost: Annotated[int, "how often something was sent again"]
    n_segments: Annotated[int, "different segments among that"]
    n_bursts: Annotated[int, "bursts of them, with 200 ms or more from one to the next"]
    n_connections: Annotated[int, "connections on which that happened"]
    least_bytes: Annotated[int, "payload of the shortest of them"]
    most_bytes: Annotated[int, "payload of the longest of them"]
    arrived_bytes: Annotated[
        int, "the longest frame of the same sender that arrived at once meanwhile; 0 where fewer than three did"
    ]
    first_ns: Annotated[int, "the first packet that was sent again"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "the last packet that was sent again"]
    last_packet_no: Annotated[int | None, "the packet of that"]
    lost_ns: Annotated[
        int, "until when packets were lost, at least: what is sent again after a pause was lost before the pause"
    ]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "packet_delay",
    "time in which packets between a host and the server took long: whatever one of them sent was acknowledged "
    "220 ms later or more, again and again, and hardly anything sooner; or, slice of time after slice of time, nothing "
    "as soon as usual, and later than the kernel that acknowledges waits by itself",
    key_kind="server",
)
@dataclass(slots=True)
class PacketDelay(Event):
    """Packets between a host and the server that were delayed, again and again."""

    host: Annotated[str, "address of the host"]
    sender: Annotated[str, "whose packets were acknowledged late: those of the host, or of the server"]
    n_late: Annotated[int, "how often a wait for an acknowledgment took so long"]
    middle_ms: Annotated[
        int, "how long the middle one of these waits took, milliseconds; where slices show it, of the shortest of each"
    ]
    slice_ms: Annotated[
        int, "length of the slices of time whose shortest waits show it, milliseconds; 0 where single waits do"
    ]
    n_connections: Annotated[int, "connections on which that happened"]
    first_ns: Annotated[int, "the first packet that was acknowledged late"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "the last acknowledgment that was late"]
    last_packet_no: Annotated[int | None, "the packet of that"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "slow_process",
    "time in which a server took several times as long as usual for what it does without other brokers, while other "
    "brokers did not",
    key_kind="server",
)
@dataclass(slots=True)
class SlowProcess(Event):
    """The server's own work took several times as long as usual."""

    n_samples: Annotated[int, "how many responses, and reactions to responses as a replica, were compared"]
    times_usual: Annotated[
        int,
        "how many times as long as usual the middle one took, or the one at the upper quartile or tenth, where most "
        "were as quick as ever",
    ]
    slowest: Annotated[tuple[str, ...], "the requests that took longest"]
    first_ns: Annotated[int, "when the first that was late began"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "when the last that was late ended"]
    last_packet_no: Annotated[int | None, "the packet of that"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "host_silence",
    "time in which a host sent nothing to anybody, though the server sent again what the host had not acknowledged",
    key_kind="server",
)
@dataclass(slots=True)
class HostSilence(Event):
    """A host sent nothing to anybody, and acknowledged none of the server's packets."""

    host: Annotated[str, "address of the host"]
    n_connections: Annotated[int, "connections on which the server waited for an acknowledgment"]
    before_ns: Annotated[int, "the last packet of the host to anybody"]
    before_packet_no: Annotated[int | None, "the packet of that"]
    first_ns: Annotated[int, "the first packet of the server that the host did not acknowledge"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "the last of these"]
    last_packet_no: Annotated[int | None, "the packet of that"]
    until_ns: Annotated[int | None, "the first packet of the host afterwards; null where none came"]
    until_packet_no: Annotated[int | None, "the packet of that"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "server_wait",
    "time in which a host waited for the server, or the server for the host to acknowledge what it sent",
    key_kind="server",
)
@dataclass(slots=True)
class ServerWait(Event):
    """A host waited for the server."""

    host: Annotated[str, "address of the host"]
    layer: Annotated[
        str,
        "what was waited for: any packet (packet), bytes of the application (payload), a response (request), that the "
        "host acknowledges (delivery), or that the server reads, whose receive window is closed (window)",
    ]
    request_id: Annotated[str | None, "the request that waited for its response"]
    is_proof: Annotated[bool | None, "whether the server could have answered at once by itself"]
    is_slow: Annotated[
        bool | None,
        "whether the response took ten times as long as usual, or had not come for so long by the server's last packet",
    ]
    first_ns: Annotated[int, "first packet that asked"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "last packet that asked"]
    last_packet_no: Annotated[int | None, "the packet of that"]
    due_ns: Annotated[int, "when an answer was due"]
    until_ns: Annotated[int | None, "what ended the wait; null where nothing did"]
    until_packet_no: Annotated[int | None, "the packet of that"]
    ended_by: Annotated[str, "what ended the wait"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns


@event_kind(
    "life_sign",
    "packets of the server without a pause of a second, around a time in which somebody waited for it; or a time in "
    "which its process owed a response",
    key_kind="server",
)
@dataclass(slots=True)
class LifeSign(Event):
    """Packets of the server, a span of time in which it sent some; or one in which it owed some."""

    host: Annotated[str | None, "to whom; null for anybody"]
    scope: Annotated[
        str,
        "which packets: to one host (host), to all hosts (server), from all ports of its process (listeners), all that "
        "the process sends (process), or those of the host to the server (from_host); or none, while a response was "
        "due at one of several ports of its process, which that could have given by itself (owed)",
    ]
    layer: Annotated[str, "any packet (packet), or bytes of the application (payload)"]
    first_ns: Annotated[int, "first of the packets"]
    first_packet_no: Annotated[int | None, "the packet of that"]
    last_ns: Annotated[int, "last of the packets"]
    last_packet_no: Annotated[int | None, "the packet of that"]

    @property
    def part_ns(self) -> int:
        """The time that assigns the event to a part of the capture: its beginning."""
        return self.first_ns
