"""A generation or group epoch while it is followed: its members, their assignments, and the observations about its
cause."""

from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_parsers.group_protocols import GroupProtocol

MOST_EVIDENCE = 100
"""Largest number of request ids that are kept for a generation, independent of its number of members."""
Items = tuple[str, ...]
"""Topic-partitions, tasks or connectors, by name."""


@dataclass(slots=True)
class Member:
    """A member of a generation."""

    member_id: str
    client_id: str | None = None
    client_instance_id: str | None = None
    conn_id: str | None = None
    group_instance_id: str | None = None
    join_sent_ns: int | None = None
    """Time of its first JoinGroup of this round."""
    joined_ns: int | None = None
    """Time of the response to it, or to the heartbeat with which it reached the epoch."""
    entered_ns: int | None = None
    """Time at which it took part in this round: it sent JoinGroup (classic) or reached the epoch."""
    sync_sent_ns: int | None = None
    """Time at which it sent SyncGroup (classic) or reached the epoch."""
    synced_ns: int | None = None
    """Time at which it had its assignment."""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: Items | None = None
    """Its subscription; None if its requests do not show it."""
    fresh: bool = False
    """Whether it joined without having been a member before."""
    prompted: bool = True
    """Whether it joined because the coordinator requested it (or its session had timed out), and not by itself."""
    reason: str | None = None
    """Reason for joining that it gave (KIP-800)."""
    owned: Items = ()
    """Items that it kept while it joined; if there are any, it is cooperative."""
    assigned: Items | None = None
    standby: Items = ()
    last_seen_ns: int | None = None
    """Time of its last request."""
    close_ns: int | None = None
    close_kind: str | None = None

    def observe(self, subject: GroupRequest | MemberActivity) -> None:
        """Updates its identity from one of its requests."""
        self.client_id = subject.client_id or self.client_id
        self.client_instance_id = subject.client_instance_id or self.client_instance_id
        self.group_instance_id = subject.group_instance_id or self.group_instance_id
        self.conn_id = subject.conn_id
        self.see(subject.last_ns)
        if isinstance(subject, GroupRequest):
            self.close_ns, self.close_kind = subject.close_ns, subject.close_kind

    def see(self, ts_ns: int) -> None:
        """Records that it sent a request."""
        self.last_seen_ns = max(self.last_seen_ns or 0, ts_ns)

    def begin_round(self) -> None:
        """Resets the times of the previous round."""
        self.join_sent_ns = self.joined_ns = self.entered_ns = self.sync_sent_ns = self.synced_ns = None

    @property
    def name(self) -> str:
        """Name of the member in sentences."""
        return self.client_id or self.member_id


@dataclass(slots=True)
class Departure:
    """A member of the previous generation that is not in this one."""

    member: Member
    how: str
    """One of groups.table.DEPARTURES."""
    why: str | None = None
    """Reason as a sentence; for a replaced member, the member id that replaced it."""
    request_id: str | None = None
    ts_ns: int | None = None


@dataclass(slots=True)
class RejoinRequest:
    """The first response of the coordinator that makes members join again."""

    ts_ns: int
    member_id: str
    request_id: str


@dataclass(slots=True)
class Generation:
    """A generation or group epoch, from its first observation on."""

    group_id: str
    protocol: GroupProtocol
    start_ns: int | None
    """Begin of the rebalance; None if it is not in the capture."""
    number: int | None = None
    node_id: int | None = None
    protocol_type: str | None = None
    assignor: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    listed: dict[str, str | None] | None = None
    """Member id -> group.instance.id of all members, from the coordinator's response to the leader."""
    rejoin: RejoinRequest | None = None
    left: dict[str, Departure] = field(default_factory=dict)
    settled: bool = False
    """Classic: whether a member had its assignment, so that the coordinator has the leader's. Other protocols: whether
    all members reached the epoch."""
    had_assignments: bool = False
    """Whether any member had an assignment when the epoch ended."""
    took_over: str | None = None
    """Member id that a new one with the same group.instance.id replaced, without a new generation."""
    n_refused: int = 0
    refused: list[str] = field(default_factory=list)
    fenced: list[str] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=dict)
    """Request id -> time at which it was sent."""
    coordinator_lookup: tuple[str, int] | None = None
    """Request id and time of a FindCoordinator in this time."""

    def member(self, member_id: str) -> Member:
        """Returns the member; adds it if it is new."""
        return self.members.setdefault(member_id, Member(member_id))

    def prove(self, request_id: str, ts_ns: int) -> None:
        """Keeps a request as evidence."""
        if len(self.evidence) < MOST_EVIDENCE:
            self.evidence.setdefault(request_id, ts_ns)

    def served_by(self, node_id: int | None) -> None:
        """Sets the coordinator if it is not known yet."""
        self.node_id = node_id if self.node_id is None else self.node_id

    def refuse(self, request: GroupRequest) -> None:
        """Counts a refused commit."""
        self.n_refused += 1
        if len(self.refused) < MOST_EVIDENCE:
            self.refused.append(request.request_id)

    def fence(self, request: GroupRequest) -> None:
        """Keeps a request that was refused because another member has its group.instance.id."""
        if len(self.fenced) < MOST_EVIDENCE:
            self.fenced.append(request.request_id)

    @property
    def present(self) -> dict[str, Member]:
        """Its members: those in the response to the leader, else all known ones."""
        if self.listed is None:
            return self.members
        return {m: self.members.get(m) or Member(m, group_instance_id=i) for m, i in self.listed.items()}
