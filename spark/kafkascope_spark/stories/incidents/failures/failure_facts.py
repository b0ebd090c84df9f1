"""What only some detectors know of a failure: of a broker's process, members of a group, a topic, or responses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kafkascope_spark.stories.incidents.packets.broker_processes import ProcessRestart
from kafkascope_spark.stories.incidents.packets.deleted_topics import Deletion
from kafkascope_spark.stories.incidents.packets.latencies import Latencies, Latency
from kafkascope_spark.stories.incidents.packets.leadership import Leader
from kafkascope_spark.stories.incidents.packets.long_polls import HeldRequest
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A broker's ZooKeeper session that ended.

    subject: the broker, in words; address: its IP address. heard_ns: when ZooKeeper last received something in the
    session; over_ns: when it was closed, or expired at the earliest; is_closed: whether the broker closed it.
    reopened_ns: when the broker opened its next session; is_replaced: whether the session had expired before the broker
    opened the next one, or before ZooKeeper refused this one.
    """

    node_id: int | None
    subject: str
    address: str
    timeout_ms: int | None
    heard_ns: int
    over_ns: int
    is_closed: bool
    reopened_ns: int | None
    is_replaced: bool
    conn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SilentLeader:
    """The leader of a group for whose SyncGroup n_waiting members waited after its JoinGroup was answered (joined_ns).
    sent_ns: when it came, None for never; n_times: number of generations in which it came late."""

    client_id: str | None
    client_ip: str | None
    generation: int | None
    joined_ns: int
    n_waiting: int
    sent_ns: int | None = None
    n_times: int = 1
    session_timeout_ms: int | None = None

    @property
    def is_over_session(self) -> bool:
        """Whether its SyncGroup came after its session timeout."""
        if self.sent_ns is None or self.session_timeout_ms is None:
            return False
        return self.sent_ns - self.joined_ns >= self.session_timeout_ms * 1_000_000


@dataclass(slots=True)
class BrokerProcess:
    """The process of a broker that failed, as far as a detector knows more than its states."""

    reopened_ns: int | None = None
    """When the broker, after a restart, opened its next ZooKeeper session, if that is the first sign that it is
    back."""
    restart: ProcessRestart | None = None
    """The restart, where only the broker's own connections show it."""
    starts: list[ProcessRestart] = field(default_factory=list)
    """Restarts of the process during the failure, in order of time."""
    session: EndedSession | None = None
    """ZooKeeper session of the broker, if it ended with the failure."""
    without_controllers_ns: int = 0
    """How long the controllers did not work either, until the cluster reacted to the failure."""

    def add(self, later: "BrokerProcess") -> None:
        """Adds what is known of the process when it failed once more."""
        add_rows(self.starts, later.starts)
        self.session, self.reopened_ns = later.session or self.session, later.reopened_ns


@dataclass(slots=True)
class GroupMembers:
    """Members of a group that failed, and their requests."""

    held: list[HeldRequest] = field(default_factory=list)
    """Requests that waited behind long polls until the sessions timed out."""
    given_up_joins: list[UnansweredRequest] = field(default_factory=list)
    """JoinGroup requests that clients gave up, in order of time."""
    silent_leader: SilentLeader | None = None
    """The leader for whose SyncGroup the others waited."""
    unused_ids: list[JoinRequest] = field(default_factory=list)
    """JoinGroup requests that got a member id with which nobody joined, and for which the group waited."""
    dead: list[AffectedClient] = field(default_factory=list)
    """Members whose processes ended without leaving the group, which still waited for them."""

    def add(self, later: "GroupMembers") -> None:
        """Adds the requests of members when these failed once more."""
        add_rows(self.held, later.held)
        add_rows(self.given_up_joins, later.given_up_joins)
        add_rows(self.unused_ids, later.unused_ids)


@dataclass(slots=True)
class TopicFacts:
    """A topic that was missing, recreated, or led by another broker."""

    ids: Mapping[str, int] = field(default_factory=dict)
    """IDs of a topic that was deleted and created again, each with the time at which a broker first reported it."""
    known_partitions: frozenset[int] = frozenset()
    """Partitions of a missing topic that brokers reported by then."""
    deletion: Deletion | None = None
    """Last deletion of a missing topic before that."""
    elsewhere: tuple[str, ...] = ()
    """Other clusters of the dataset that have a topic of that name."""
    moved_to: dict[str, Leader] = field(default_factory=dict)
    """The actual leader by topic-partition, for errors of a broker that was no longer the leader."""
    named: frozenset[str] = frozenset()
    """Topic-partitions that requests named whose responses were about another one."""
    left_at: ClientRecovery | None = None
    """The error of a consumer whose leader had moved, and which did not fetch the topic-partition from then on."""
    moves_ns: tuple[int, ...] = ()
    """Times at which other leaders were named of the topic-partition whose leader moved most often."""


@dataclass(slots=True)
class ResponseTimes:
    """Responses that were late or never came."""

    unanswered: dict[str, UnansweredRequest] = field(default_factory=dict)
    """Requests that the broker never answered, by request_id."""
    latencies: Latencies = field(default_factory=Latencies)
    """How long the responses of the brokers took."""
    longest_answer_ns: int = 0
    """The longest time after which a request that timed out in a broker got its response."""
    slow_at: tuple[str, ...] = ()
    """The requests with late responses, in words, if the broker answered other requests at once meanwhile."""

    def add(self, later: "ResponseTimes") -> None:
        """Adds the responses of the time in which they were late once more."""
        self.unanswered |= later.unanswered
        for pair, latency in later.latencies.of_pairs.items():
            self.latencies.of_pairs.setdefault(pair, Latency()).add(latency)


def add_rows(rows: list[R], others: Iterable[R]) -> None:
    """Adds the rows that are not in the list yet."""
    known = set(map(id, rows))
    rows += [row for row in others if id(row) not in known]
