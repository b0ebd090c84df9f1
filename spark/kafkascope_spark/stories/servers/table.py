"""`broker_states`: how each broker looked to each host that talked to it, as packets show it."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kafkascope_analyzer.dataset.row_types import I32, NS, TIME, StoryRow, declares
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.tables.event_kinds.servers import HostKind

StateName = Literal[
    "serving",
    "slow",
    "lossy",
    "delayed",
    "mtu",
    "flow_dead",
    "frozen",
    "not_reading",
    "down",
    "silent",
    "host_silent",
    "refusing",
    "turned_away",
    "not_accepting",
    "unknown",
]
STATES: tuple[StateName, ...] = get_args(StateName)
Unacknowledged = Literal["host", "broker", "both"]


@declares(
    "broker_states",
    "stretch of time in which a broker looked alike to one host",
    sorted_by=("server_ip", "server_port", "host", "from_ns"),
)
@dataclass(slots=True)
class BrokerState(StoryRow):
    """A row of stories/broker_states: a client, a broker or a controller has at least one for each broker."""

    node_id: Annotated[int | None, I32, "node id of the broker; null where the capture does not show it"]
    server_ip: Annotated[str, "address of the broker"]
    server_port: Annotated[int, I32, "port of the broker"]
    host: Annotated[str, "address of the host that talked to it"]
    host_kind: Annotated[HostKind, "what runs on that host"]
    state: Annotated[
        StateName,
        "serving (it responds whenever it is asked), slow (for six seconds or more it took several times as long as "
        "usual for what it does by itself, while others did not; or several of its responses took ten times as long "
        "and 500 ms), lossy (packets between the two were lost several times at short intervals, and arrived when they "
        "were sent again), delayed (what the one sent was acknowledged by the other 220 ms later or more, again "
        "and again, and hardly anything sooner), mtu (all long packets were lost, while shorter ones arrived), "
        "flow_dead (nothing that was sent on a connection was acknowledged any more, while other connections of the "
        "two worked), "
        "frozen (its kernel acknowledges data and accepts connections, and no byte of the process comes, or the "
        "process reads nothing), not_reading (its receive window to this host was closed for a second or longer, while "
        "the process sent something to others), down "
        "(its connections ended together, or new ones are refused, and nobody is served), silent (nothing that the "
        "host waits for comes, no acknowledgment either; or the host acknowledges nothing of what the broker "
        "sends, though it talks to others), host_silent (the host sends nothing to anybody, and acknowledges nothing "
        "of what the broker sends again and again), refusing (new connections of this host are refused, while others "
        "or older ones are served, or the broker works with other brokers), turned_away (new connections of this host "
        "are accepted, and closed at once before the broker sends anything), not_accepting (new connections of this "
        "host are not answered, while packets come on older ones), unknown (nobody waited for anything after "
        "a bad stretch)",
    ]
    unacknowledged: Annotated[
        Unacknowledged | None,
        "of state silent, whose packets were captured and not acknowledged, and of state delayed, whose were "
        "acknowledged late: host, broker (of silent: which acknowledged what the host sent meanwhile), both; null "
        "where the capture does not show that, and for other states",
    ]
    from_ns: Annotated[int, TIME, "last packet of the state before; of down and refusing, the first FIN or RST"]
    to_ns: Annotated[
        int | None, TIME, "first packet of the next state; null where none is seen before the end of the capture"
    ]
    before_ns: Annotated[
        int, NS, "last packet that shows the state before, or the earliest time at which this one can have begun"
    ]
    shown_from_ns: Annotated[int, NS, "first packet that shows the state"]
    shown_to_ns: Annotated[int, NS, "last packet that shows the state"]
    after_ns: Annotated[
        int | None,
        NS,
        "first packet that shows the next state, or the latest that this one can have ended; null where none is seen "
        "before the end of the capture",
    ]
    times_usual: Annotated[
        int | None,
        "of state slow, how many times as long as usual it took, by the middle one of its times; null where single "
        "responses show it, and for other states",
    ]
    late_ms: Annotated[
        int | None, "of state delayed, how long the middle acknowledgment took, milliseconds; null for other states"
    ]
    n_waiting: Annotated[int, "connections, and attempts to connect, that waited meanwhile"]
    packets: Annotated[tuple[int, ...], "packets that prove it, in order; at most 32"]
    requests: Annotated[tuple[str, ...], "request ids that waited, in order of time; at most 32"]
    shown_packet_no: int | None = None
    """The packet at shown_from_ns."""
    lost_bytes: int | None = None
    """For state silent in which only long packets are known to be lost: the payload of the shortest."""
    is_to_all: bool = False
    """For state silent: whether the broker's process sent nothing to anybody meanwhile."""
    unread_ms: int = 0
    """For how long the broker's receive window was closed to the host, which had more to send."""

    @property
    def server(self) -> str:
        """The broker's `address:port`."""
        return f"{self.server_ip}:{self.server_port}"

    @property
    def broker(self) -> str:
        """The broker in words: `node 2 (10.0.0.2:9092)`; its address alone where its node id is not known."""
        return self.server if self.node_id is None else f"node {self.node_id} ({self.server})"

    @property
    def broker_key(self) -> str:
        """Which broker it is: its node id as text; its address and port where that is not known."""
        return self.server if self.node_id is None else str(self.node_id)

    @property
    def until_ns(self) -> int:
        """Its end, FOREVER where none is seen."""
        return FOREVER if self.to_ns is None else self.to_ns


BROKER_STATES = BrokerState.TABLE
