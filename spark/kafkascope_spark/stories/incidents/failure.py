"""`Failure`: something that failed, and what belongs to it. Each failure becomes an incident. `Kind`: what failures of
one kind have in common; each is a module of kinds/."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.broker_processes import ProcessRestart
from kafkascope_spark.stories.incidents.contrast import Contrast
from kafkascope_spark.stories.incidents.fault import Fault
from kafkascope_spark.stories.incidents.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.latencies import Latencies
from kafkascope_spark.stories.incidents.leadership import Leader
from kafkascope_spark.stories.incidents.long_polls import HeldRequest
from kafkascope_spark.stories.incidents.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.misuse import Misuse
from kafkascope_spark.stories.incidents.observed import Observed
from kafkascope_spark.stories.incidents.silent_client import SilentClient
from kafkascope_spark.stories.incidents.table import Alternative, Confidence, CourseStep, Place
from kafkascope_spark.stories.incidents.times import Times
from kafkascope_spark.stories.incidents.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.transactions.table import TransactionRow

SECOND = 1_000_000_000
UNSERVED = frozenset({"still_open", "gave_up", "client_ended", "fatal", "wrong_reaction"})
"""Outcomes of recoveries whose clients were not served, there or elsewhere."""
FOLLOWS_NS = 15 * SECOND
"""Longest time after which a failure that is over still makes somebody wait elsewhere: a session timeout or an
election."""


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A broker's ZooKeeper session that ended.

    subject: the broker, in words; address: its IP address. heard_ns: when ZooKeeper last received something in it;
    over_ns: when it was closed, or expired at the earliest; is_closed: by the broker. reopened_ns: when the broker
    opened the next; is_replaced: it did, or was refused this one, after this one had expired.
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
class Kind:
    """What distinguishes incidents of one kind: what shows them, what is said of them, what is advised."""

    name: str
    words: str
    """What reports call it."""
    _: KW_ONLY
    plural: str = ""
    """What they call several of them, where that is something else."""
    sentence: "Callable[[Failure, Times], str]"
    """What failed, from when to when."""
    advice: "Callable[[Failure, Observed], Iterable[Action]]"
    """What to change, in parts."""
    known: str
    """What in the capture shows it."""
    place: Place | None
    """Where it failed; None where nothing shows that."""
    states: frozenset[str] = frozenset()
    """States of a broker that show it."""
    errors: frozenset[str] = frozenset()
    """Errors that show it by themselves, where they follow from no other failure."""
    complete: "Callable[[Failure], None] | None" = None
    """Sets what is known once all errors of the failure are there: what it is called, when it ended."""
    of_broker: bool = False
    """Whether a broker failed for everybody."""
    of_path: bool = False
    """Whether a broker failed for some hosts only."""
    of_host: bool = False
    """Whether a host with clients failed: whatever waits there, or for a member there, waits for it."""
    of_listener: bool = False
    """Whether nobody was ever served at an address."""
    of_clients: bool = False
    """Whether clients failed, and not the cluster."""
    of_members: bool = False
    """Whether members of groups failed: its errors say that they lost their place."""
    is_replaced: bool = False
    """Whether another process does the work of the clients that failed for good: what it cost is how long their groups
    waited for that."""
    between_brokers: bool = False
    """Whether brokers did not reach each other: clients wait for their replicas."""
    holds_replicas: bool = False
    """Whether a broker has replicas that it cannot write: who waits for these waits for it."""
    by_session: bool = False
    """Whether a broker's ZooKeeper session is what failed: the broker serves on, and leads no longer."""
    by_topic: bool = False
    """Whether its errors at all partitions of a topic are one incident. Of other kinds, what failed is the same for all
    resources."""
    lasting: bool = False
    """Whether its errors make an incident only where they last: who gets what it wants within a
    second has not failed."""
    own_clients: bool = False
    """Whether nobody waits for it but the clients that met its errors."""
    is_move: bool = False
    """Whether somebody else leads or coordinates now."""
    holds_back: bool = False
    """Whether brokers made the clients wait on purpose."""
    restarts: bool = False
    """Whether the broker's process ended: where it starts again, it knows no topic at first."""
    cuts_clients: bool = False
    """Whether a broker did not serve somebody who wanted it to."""
    keeps_out: bool = False
    """Whether hosts could not connect, or had no address to connect to: they waited for as long as they tried."""
    serves_on: bool = False
    """Whether a broker served all the same what it leads: nobody waits for it."""
    has_other_addresses: bool = False
    """Whether clients go on to another address of the same name: a start that got no further than this one is none."""
    loses_records: bool = False
    """Whether records were lost: their producers do not send them again."""


@dataclass(slots=True, eq=False)
class Failure:
    """Something that failed.

    node_id, server: the broker, where one failed. hosts: the hosts that it failed for,
    empty where it failed for everybody; of clients that stalled, their own. subject: what failed, in words.
    end_ns: when it worked again, None where the capture does not show that.
    """

    kind: Kind
    subject: str
    start_ns: int
    end_ns: int | None
    affected_until_ns: int | None = None
    """For a broker: when it served the last of the hosts that it had not served."""
    closed_ns: int | None = None
    """For a broker that shut down in order: when it closed its connections. It began to hand over its leaders and
    coordinators at start_ns."""
    is_since_before: bool = False
    """For a broker: whether it had failed before the capture shows anything of it."""
    node_id: int | None = None
    server: str | None = None
    servers: frozenset[str] = frozenset()
    """All addresses at which it failed: of a listener one for each broker, `server` among them."""
    hosts: frozenset[str] = frozenset()
    error_names: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    """What brokers wrote beside the errors of the recoveries, the most frequent first."""
    states: list[BrokerState] = field(default_factory=list)
    """Rows of broker_states that show it."""
    stalls: list[Stall] = field(default_factory=list)
    earlier_stalls: list[Stall] = field(default_factory=list)
    """Stalls of other failures that had begun before, and went on because of this one too."""
    outlasting: set[str] = field(default_factory=set)
    """The stalls among these and its own that went on because of a later failure (stall_id)."""
    recoveries: list[ClientRecovery] = field(default_factory=list)
    resources: set[str] = field(default_factory=set)
    """The resources of the recoveries: a failure may have as many recoveries as a fleet has clients."""
    recoveries_of: dict[tuple[str, str], list[ClientRecovery]] = field(default_factory=dict)
    """The recoveries of each client (client_instance_id) from what happened to each resource."""
    client_instance_ids: set[str] = field(default_factory=set)
    """The clients of the recoveries."""
    rebalances: list[RebalanceRow] = field(default_factory=list)
    reopened_ns: int | None = None
    """For a broker that restarted: when it opened its next ZooKeeper session, where that shows first that it is
    back."""
    restart: ProcessRestart | None = None
    """For a broker whose restart only its own connections show: these connections."""
    left_open: list[TransactionRow] = field(default_factory=list)
    """For clients that died: the transactions that they left open."""
    session: EndedSession | None = None
    """The ZooKeeper session of the broker, where it ended with the failure."""
    silences: list[SilentClient] = field(default_factory=list)
    fetched_again: list[FetchedAgain] = field(default_factory=list)
    """For clients: when each sent nothing."""
    contrast: Contrast = field(default_factory=Contrast)
    """Who was served meanwhile."""
    confidence: Confidence | None = None
    """How sure its place is; None where packets of hosts and servers do not show it."""
    alternatives: tuple[Alternative, ...] = ()
    """What else may have failed instead."""
    unanswered: dict[str, UnansweredRequest] = field(default_factory=dict)
    """Requests that a broker never answered, by request_id."""
    held: list[HeldRequest] = field(default_factory=list)
    """For members of groups: their requests that waited behind long polls until their sessions were over."""
    given_up_joins: list[UnansweredRequest] = field(default_factory=list)
    """For members of groups: their JoinGroup requests that clients gave up, in order of time."""
    dead_members: list[AffectedClient] = field(default_factory=list)
    """For members of groups: those whose processes had ended without leaving, and that the group still waited for."""
    latencies: Latencies = field(default_factory=Latencies)
    """Where only requests show it: how long the responses of its brokers took meanwhile."""
    misuse: Misuse | None = None
    """For clients: how they used a listener that their settings do not fit."""
    lookups: list[LookupRun] = field(default_factory=list)
    """For a name server: the questions that it did not answer in time."""
    fault: Fault | None = None
    """When it began and ended, where its detector knows more than `fault_of` can derive from states and silences."""
    waited_ms: int = 0
    """How long somebody waited for it who waited for nothing that a stall is about: for the address of a name, for a
    connection that is not closed at once."""
    encrypted_hosts: frozenset[str] = frozenset()
    """Hosts that waited on encrypted connections whose keys are not known: nobody can say for what."""
    topic_ids: Mapping[str, int] = field(default_factory=dict)
    """For a topic that was deleted and created again: its IDs, each with when a broker first reported it."""
    moved_to: dict[str, Leader] = field(default_factory=dict)
    """For errors at a broker that led no longer: the leader instead, by topic-partition."""
    course: tuple[CourseStep, ...] = ()
    """For a broker or leader: what followed from the failure, in order of time."""
    stretches: tuple[tuple[int, int | None], ...] = ()
    """For a place that failed several times in short order: from when to when each time."""
    root: "Failure | None" = None
    """The failure that it followed from."""

    def take_recovery(self, recovery: ClientRecovery) -> None:
        """Add a recovery that belongs to it."""
        self.recoveries.append(recovery)
        self.resources.add(recovery.resource)
        key = recovery.client_instance_id, recovery.resource
        self.recoveries_of.setdefault(key, []).append(recovery)
        self.client_instance_ids.add(recovery.client_instance_id)

    def take_error(self, recovery: ClientRecovery) -> None:
        """Add a recovery from an error that shows the failure by itself: it lasts as long as its recoveries."""
        self.take_recovery(recovery)
        self.start_ns = min(self.start_ns, recovery.start_ns)
        self.error_names.add(recovery.first_error_name)
        over = self.end_ns is not None and recovery.recovered_ns is not None
        self.end_ns = max(self.end_ns or 0, recovery.recovered_ns or recovery.start_ns) if over else None

    @property
    def refused_ms(self) -> int:
        """How long clients got its errors again and again, where errors show it: of a kind whose errors last until they
        got what they wanted, else as far as they never did."""
        if self.states or self.silences or self.misuse is not None:
            return 0
        counted = (row for row in self.recoveries if self.kind.lasting or row.outcome in UNSERVED)
        return max(((row.last_failed_ns - row.start_ns) // 1_000_000 for row in counted), default=0)

    @property
    def is_of_broker(self) -> bool:
        """Whether a broker failed for everybody."""
        return self.kind.of_broker

    @property
    def is_recreated(self) -> bool:
        """Whether a topic was deleted and created again, as its IDs show."""
        return len(self.topic_ids) > 1

    @property
    def is_routine(self) -> bool:
        """Whether a group only rebalanced because members joined or left in order."""
        has_lost = any(rebalance.lost for rebalance in self.rebalances)
        return self.kind.of_members and bool(self.rebalances) and not has_lost and not self.error_names

    @property
    def kept_out(self) -> frozenset[str]:
        """The hosts that could not connect because of it."""
        return self.hosts | {run.client_ip for run in self.lookups} if self.kind.keeps_out else frozenset()

    @property
    def is_lossy(self) -> bool:
        """Whether packets were lost, and arrived when they were sent again."""
        return any(state.state == "lossy" for state in self.states)

    @property
    def is_delayed(self) -> bool:
        """Whether packets took long."""
        return any(state.state == "delayed" for state in self.states)

    @property
    def is_slow_process(self) -> bool:
        """Whether a broker took several times as long as usual for what it does by itself."""
        return any(state.times_usual is not None for state in self.states)

    @property
    def is_only_from_broker(self) -> bool:
        """Whether only the broker's packets were lost on the way: it acknowledged what the hosts sent."""
        return bool(self.states) and all(state.unacknowledged == "broker" for state in self.states)

    @property
    def affected_to_ns(self) -> int:
        """To when it affected clients."""
        if self.end_ns is None:
            return FOREVER
        return self.end_ns if self.affected_until_ns is None else self.affected_until_ns

    def overlap_ns(self, from_ns: int, to_ns: int | None) -> int:
        """How long a stretch of time has in common with the time in which it affected clients; below 0 where it has
        nothing."""
        until = self.affected_to_ns if to_ns is None else min(self.affected_to_ns, to_ns)
        return until - max(self.start_ns, from_ns)

    def reaches(self, client_ip: str | None) -> bool:
        """Whether it failed for the host."""
        return not self.hosts or client_ip in self.hosts


def is_stuck(recovery: ClientRecovery) -> bool:
    """Whether a client got errors for a second or longer, and never got what it wanted."""
    return recovery.outcome in UNSERVED and recovery.last_failed_ns - recovery.start_ns >= SECOND
