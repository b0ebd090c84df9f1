"""The table `broker_states`: the states in which each host that talked to a broker saw it, as packets show them."""

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
    "host_slow",
    "flows_lost",
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
    host_kind: Annotated[HostKind, "kind of that host"]
    state: Annotated[
        StateName,
        "serving (it responds to requests), slow (for six seconds or more it took several times as long as usual for "
        "work without other brokers, while other brokers did not; or several of its responses took ten times as long "
        "and 500 ms), lossy (packets between the two were lost several times at short intervals, and arrived after a "
        "retransmission), delayed (packets of one side were repeatedly acknowledged by the other 220 ms later or more, "
        "and hardly any sooner; or none as soon as usual), mtu (all long packets were lost, while shorter ones "
        "arrived), flow_dead (no data on a connection was acknowledged any longer, while other connections of the two "
        "worked), frozen (its kernel "
        "acknowledges data and accepts connections, but its process sends no byte, or reads nothing), not_reading (its "
        "receive window for this host was closed for a second or longer, while its process sent data to others), down "
        "(its connections ended together, or new ones are refused, and nobody is served), silent (no packet comes for "
        "which the host waits, not even an acknowledgment; or the host acknowledges nothing that the broker sends, "
        "although it talks to others), host_silent (the host sends nothing to any server, and acknowledges none of the "
        "broker's retransmissions), host_slow (the clients of the host took several times as long as usual to fetch "
        "again, while those of other hosts did not), flows_lost (all connections of the host that were in use ended "
        "without being closed, and it connected again), refusing (new connections of this host are refused, while "
        "others or older ones are served, or the broker works with other brokers), turned_away (new connections of "
        "this host are accepted, and closed at once before the broker sends anything), not_accepting (new "
        "connections of this host are not answered, while packets come on older ones), unknown (nobody waited for "
        "anything after a bad state)",
    ]
    unacknowledged: Annotated[
        Unacknowledged | None,
        "for state silent, the side whose captured packets were not acknowledged, and for state delayed, the side "
        "whose packets were acknowledged late: host, broker (if silent: which acknowledged the packets of the host), "
        "both; null where the capture does not show that, and for other states",
    ]
    from_ns: Annotated[int, TIME, "last packet of the state before; for down and refusing, the first FIN or RST"]
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
        "first packet that shows the next state, or the latest time at which this one can have ended; null where "
        "none is seen before the end of the capture",
    ]
    times_usual: Annotated[
        int | None,
        "for state slow, ratio of its median time to the usual time, or of its upper quartile or tenth, where most "
        "were as quick as ever; null where single responses show it, and for other states",
    ]
    late_ms: Annotated[
        int | None, "for state delayed, median time of acknowledgments, milliseconds; null for other states"
    ]
    n_waiting: Annotated[int, "connections, and attempts to connect, that waited in that time"]
    packets: Annotated[tuple[int, ...], "packets that prove it, in order; at most 32"]
    requests: Annotated[tuple[str, ...], "request ids that waited, in order of time; at most 32"]
    shown_packet_no: int | None = None
    """The packet at shown_from_ns."""
    lost_bytes: int | None = None
    """For state silent, if only long packets are known to be lost: payload bytes of the shortest."""
    is_to_all: bool = False
    """For state silent: whether the broker's process sent nothing to any host."""
    unread_ms: int = 0
    """Time in ms for which the broker's receive window was closed for the host, which had more data to send."""

    @property
    def server(self) -> str:
        """The broker's `address:port`."""
        return f"{self.server_ip}:{self.server_port}"

    @property
    def broker(self) -> str:
        """The broker in words: `node 2 (10.0.0.2:9092)`; only its address if its node id is not known."""
        return self.server if self.node_id is None else f"node {self.node_id} ({self.server})"

    @property
    def broker_key(self) -> str:
        """Key of the broker: its node id as text; its address and port if the node id is not known."""
        return self.server if self.node_id is None else str(self.node_id)

    @property
    def until_ns(self) -> int:
        """End of the state; FOREVER if none is seen."""
        return FOREVER if self.to_ns is None else self.to_ns


BROKER_STATES = BrokerState.TABLE
