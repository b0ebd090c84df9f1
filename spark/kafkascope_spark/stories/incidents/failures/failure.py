"""`Failure`: something that failed, with the stalls, recoveries and rebalances that it caused. Each failure becomes an
incident. `Kind`: properties that failures of one kind share; each kind is a module of kinds/."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.failures.failure_facts import (
    BrokerProcess,
    GroupMembers,
    ResponseTimes,
    TopicFacts,
)
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.contrast import Contrast
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.signals.misuse import Misuse
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.incidents.table import Alternative, Confidence, CourseStep, Place
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.transactions.table import TransactionRow

SECOND = 1_000_000_000
MOSTLY = 0.5
"""Share of a bad stretch in which the broker must have served somebody, if it was the path that failed: clients
notice late that a broker is back, so that a bad stretch may end long after the failure."""
UNSERVED = frozenset({"still_open", "gave_up", "client_ended", "fatal", "wrong_reaction"})
"""Outcomes of recoveries in which the client was not served, at the same broker or another."""


MANY_MOVES = 4
"""A leader that moves away and back, as in a rolling restart, moves twice for each time."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Properties of one kind of incident: its evidence, its sentence and its advice."""

    name: str
    words: str
    """Name of the kind in reports."""
    _: KW_ONLY
    plural: str = ""
    """Name of several incidents of the kind in reports, if the plural is irregular."""
    sentence: "Callable[[Failure, Times], str]"
    """Returns what failed, from when to when, as a sentence."""
    advice: "Callable[[Failure, Observed], Iterable[Action]]"
    """Returns the parts of the advice."""
    known: str
    """Evidence in the capture that shows the kind, in words."""
    place: Place | None
    """Where such an incident fails; None if no evidence shows that."""
    states: frozenset[str] = frozenset()
    """States of a broker that show the kind."""
    errors: frozenset[str] = frozenset()
    """Errors that show the kind by themselves, if they follow from no other failure."""
    complete: "Callable[[Failure], None] | None" = None
    """Completes a failure when it has all its errors: sets its subject and its end."""
    of_broker: bool = False
    """Whether a broker failed for everybody."""
    of_path: bool = False
    """Whether a broker failed for some hosts only."""
    of_host: bool = False
    """Whether a host with clients failed: all clients on it, and groups with members on it, wait for that host."""
    of_listener: bool = False
    """Whether no client was ever served at the address."""
    of_clients: bool = False
    """Whether clients failed, and not the cluster."""
    of_members: bool = False
    """Whether members of groups failed: the errors say that they are no longer members."""
    is_replaced: bool = False
    """Whether another process takes over the work of the clients, which failed for good: the incident lasts as long as
    their groups waited for that."""
    between_brokers: bool = False
    """Whether brokers did not reach each other: clients wait for replication."""
    holds_replicas: bool = False
    """Whether a broker cannot write some of its replicas: clients that wait for these replicas wait for the broker."""
    by_session: bool = False
    """Whether a broker's ZooKeeper session failed: the broker continues to serve, but is no longer a leader."""
    by_topic: bool = False
    """Whether the errors of all partitions of one topic form an incident. For other kinds, the errors of all resources
    form one."""
    lasting: bool = False
    """Whether the errors are an incident only if they last: a client that succeeds within a second has not failed."""
    own_clients: bool = False
    """Whether only the clients that got the errors wait for it."""
    is_move: bool = False
    """Whether another broker leads or coordinates since then."""
    holds_back: bool = False
    """Whether brokers delayed the clients on purpose, by a quota."""
    restarts: bool = False
    """Whether the broker's process ended: after a restart it knows no topic at first."""
    cuts_clients: bool = False
    """Whether a broker did not serve clients that requested it."""
    keeps_out: bool = False
    """Whether hosts could not connect, or had no address to connect to: they waited as long as they tried."""
    serves_on: bool = False
    """Whether the broker continued to serve the partitions that it leads: no client waits for it."""
    has_other_addresses: bool = False
    """Whether clients go on to another address of the same name: a start that failed at this address has not failed."""
    loses_flows: bool = False
    """Whether connections were lost although nobody closed them: a client that waits for a response on one of them does
    not learn it before its own timeout."""
    loses_records: bool = False
    """Whether records were lost: the producers do not send them again."""


@dataclass(slots=True, eq=False)
class Failure:
    """Something that failed.

    node_id, server: the broker, if one failed. hosts: the hosts for which it failed, empty if it failed for everybody;
    for clients that stalled, their own hosts. subject: what failed, in words. end_ns: when it worked again, None where
    the capture does not show that.
    """

    kind: Kind
    subject: str
    start_ns: int
    end_ns: int | None
    affected_until_ns: int | None = None
    """For a broker: when it served the last of the affected hosts again."""
    closed_ns: int | None = None
    """For a controlled shutdown: when the broker closed its connections. It began to hand over its leaders and
    coordinators at start_ns."""
    is_since_before: bool = False
    """For a broker: whether it had failed before its first packet in the capture."""
    node_id: int | None = None
    server: str | None = None
    servers: frozenset[str] = frozenset()
    """All addresses at which it failed, including `server`; for a listener one address per broker."""
    hosts: frozenset[str] = frozenset()
    error_names: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    """Messages that brokers sent with the errors of the recoveries, the most frequent first."""
    refused_partitions: frozenset[str] = frozenset()
    """Topic-partitions that errors of groups are about, as those of commits."""
    states: list[BrokerState] = field(default_factory=list)
    """Rows of broker_states that show the failure."""
    stalls: list[Stall] = field(default_factory=list)
    earlier_stalls: list[Stall] = field(default_factory=list)
    """Stalls that began before because of other failures, and went on because of this one, too."""
    late_members: list[str] = field(default_factory=list)
    """For a client that was too slow to poll: other members of its group that fetched late at that time, in words."""
    further_stalls: list[Stall] = field(default_factory=list)
    """Stalls of the failures that followed from it."""
    outlasting: set[str] = field(default_factory=set)
    """stall_id of those in stalls and earlier_stalls that went on because of a later failure."""
    recoveries: list[ClientRecovery] = field(default_factory=list)
    resources: set[str] = field(default_factory=set)
    """Resources of the recoveries, kept apart because a failure may have thousands of recoveries."""
    recoveries_of: dict[tuple[str, str], list[ClientRecovery]] = field(default_factory=dict)
    """Recoveries by client_instance_id and resource."""
    client_instance_ids: set[str] = field(default_factory=set)
    """Clients of the recoveries."""
    rebalances: list[RebalanceRow] = field(default_factory=list)
    left_open: list[TransactionRow] = field(default_factory=list)
    """For clients that died: transactions that they left open."""
    is_served_beside: bool = False
    """For a broker that did not reach a controller: whether other brokers reached the same controller."""
    silences: list[SilentClient] = field(default_factory=list)
    """For clients: the times in which each sent nothing."""
    fetched_again: list[FetchedAgain] = field(default_factory=list)
    """Records that groups and consumers fetched again because of it."""
    contrast: Contrast = field(default_factory=Contrast)
    """Hosts and servers that worked during the failure."""
    confidence: Confidence | None = None
    """How sure the place of the failure is; None if packets of hosts and servers do not show the place."""
    alternatives: tuple[Alternative, ...] = ()
    """Other places that may have failed instead."""
    is_never_let_in: bool = False
    """For hosts that were turned away: whether none of their connections to these brokers was ever served."""
    n_other_fetches: int = 0
    """For a consumer that left topic-partitions out: number of its Fetch requests for others meanwhile."""
    misuse: Misuse | None = None
    """For clients: how they used a listener that does not fit their settings."""
    lookups: list[LookupRun] = field(default_factory=list)
    """For a name server: DNS queries that it did not answer in time."""
    beside: frozenset[str] = frozenset()
    """For a cluster: addresses of no known broker at which clients were served, too."""
    fault: Fault | None = None
    """Begin and end of the fault, if the detector knows more than `fault_of` derives from states and silences."""
    waited_ms: int = 0
    """Longest wait that is not a stall: for the address of a name, or for a connection that is not closed at once."""
    encrypted_hosts: frozenset[str] = frozenset()
    """Hosts that waited on encrypted connections without known keys, so that the requests are not known."""
    connecting_hosts: frozenset[str] = frozenset()
    """Hosts that waited for a connection to a broker, and were served by no other one meanwhile."""
    process: BrokerProcess = field(default_factory=BrokerProcess)
    members: GroupMembers = field(default_factory=GroupMembers)
    topic: TopicFacts = field(default_factory=TopicFacts)
    responses: ResponseTimes = field(default_factory=ResponseTimes)
    course: tuple[CourseStep, ...] = ()
    """For a broker or leader: the steps that followed from the failure, in order of time."""
    stretches: tuple[tuple[int, int | None], ...] = ()
    """For a place that failed several times in a short time: begin and end of each time."""
    root: "Failure | None" = None
    """The failure from which this one followed."""

    def take_recovery(self, recovery: ClientRecovery) -> None:
        """Adds a recovery that belongs to the failure."""
        self.recoveries.append(recovery)
        self.resources.add(recovery.resource)
        key = recovery.client_instance_id, recovery.resource
        self.recoveries_of.setdefault(key, []).append(recovery)
        self.client_instance_ids.add(recovery.client_instance_id)

    def take_error(self, recovery: ClientRecovery) -> None:
        """Adds a recovery from an error that shows the failure by itself, and extends the failure to the end of the
        recovery."""
        self.take_recovery(recovery)
        self.start_ns = min(self.start_ns, recovery.start_ns)
        self.error_names.add(recovery.first_error_name)
        over = self.end_ns is not None and recovery.recovered_ns is not None
        self.end_ns = max(self.end_ns or 0, recovery.recovered_ns or recovery.start_ns) if over else None

    @property
    def shown_until_ns(self) -> int | None:
        """Returns the time of the last error, if the failure has no end because its clients gave up or ended; None if
        its end is known, or a client still tried when the capture ended."""
        tried = [row for row in self.recoveries if row.recovered_ns is None]
        if self.end_ns is not None or not tried or any(row.outcome == "still_open" for row in tried):
            return None
        if self.states or self.silences or any(stall.to_ns is None for stall in self.stalls):
            return None
        return max(row.last_failed_ns for row in tried)

    @property
    def refused_ms(self) -> int:
        """Returns the longest time in which a client got the errors repeatedly, for failures that errors show; else 0.
        If the kind is `lasting`, all recoveries count; else only those in which the client never succeeded."""
        if self.states or self.silences or self.misuse is not None:
            return 0
        counted = (row for row in self.recoveries if self.kind.lasting or row.outcome in UNSERVED)
        return max(((row.last_failed_ns - row.start_ns) // 1_000_000 for row in counted), default=0)

    @property
    def is_flapping(self) -> bool:
        """Whether the leader of one topic-partition moved again and again."""
        return len(self.topic.moves_ns) >= MANY_MOVES

    @property
    def is_of_broker(self) -> bool:
        """Whether a broker failed for everybody."""
        return self.kind.of_broker

    @property
    def is_recreated(self) -> bool:
        """Whether a topic was deleted and created again, which its several IDs show."""
        return len(self.topic.ids) > 1

    @property
    def is_routine(self) -> bool:
        """Whether a group only rebalanced because members joined or left normally."""
        has_lost = any(rebalance.lost for rebalance in self.rebalances)
        is_calm = not has_lost and not self.error_names and self.members.silent_leader is None
        return self.kind.of_members and bool(self.rebalances) and is_calm

    @property
    def kept_out(self) -> frozenset[str]:
        """Hosts that could not connect because of the failure."""
        by_kind = self.hosts | {run.client_ip for run in self.lookups} if self.kind.keeps_out else frozenset()
        return by_kind | self.connecting_hosts

    @property
    def is_lossy(self) -> bool:
        """Whether packets were lost and arrived after a retransmission."""
        return any(state.state == "lossy" for state in self.states)

    @property
    def is_delayed(self) -> bool:
        """Whether packets were delayed."""
        return any(state.state == "delayed" for state in self.states)

    @property
    def is_slow_process(self) -> bool:
        """Whether a broker took several times as long as usual for work that it does without other brokers."""
        return any(state.times_usual is not None for state in self.states)

    @property
    def is_only_from_broker(self) -> bool:
        """Whether only packets of the broker were lost: it acknowledged the packets of the hosts."""
        return bool(self.states) and all(state.unacknowledged == "broker" for state in self.states)

    @property
    def affected_to_ns(self) -> int:
        """Until when the failure affected clients; FOREVER where its end is not known."""
        if self.end_ns is None:
            return FOREVER
        return self.end_ns if self.affected_until_ns is None else self.affected_until_ns

    def overlap_ns(self, from_ns: int, to_ns: int | None) -> int:
        """Returns the length of the overlap of from_ns to to_ns with the time in which the failure affected clients;
        negative if they do not overlap."""
        until = self.affected_to_ns if to_ns is None else min(self.affected_to_ns, to_ns)
        return until - max(self.start_ns, from_ns)

    def reaches(self, client_ip: str | None) -> bool:
        """Whether the failure affected the host."""
        return not self.hosts or client_ip in self.hosts


def is_stuck(recovery: ClientRecovery) -> bool:
    """Whether a client got errors for a second or longer, and never succeeded."""
    return recovery.outcome in UNSERVED and recovery.last_failed_ns - recovery.start_ns >= SECOND
