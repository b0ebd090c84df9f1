"""A generation or group epoch while it is followed: its members, what they have, what is known of how it was made."""

from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_parsers.group_protocols import GroupProtocol

MOST_EVIDENCE = 100
"""Request ids kept of a generation: enough to open it, however many members there are."""
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
    """Its first join of this round was sent."""
    joined_ns: int | None = None
    """The response to it, or to a heartbeat by which it reached the epoch."""
    entered_ns: int | None = None
    """It took part in this round: its join was sent (classic), it reached the epoch."""
    sync_sent_ns: int | None = None
    """Its SyncGroup was sent (classic), it reached the epoch."""
    synced_ns: int | None = None
    """It had its assignment."""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: Items | None = None
    """What it subscribes to, where its requests show it."""
    fresh: bool = False
    """It joined as one that was no member before."""
    prompted: bool = True
    """It joined because its coordinator asked for it (or its session was gone), not by its own choice."""
    reason: str | None = None
    """Why it joined, in its own words (KIP-800)."""
    owned: Items = ()
    """What it kept while it joined: it is cooperative where that is not nothing."""
    assigned: Items | None = None
    standby: Items = ()
    last_seen_ns: int | None = None
    """When it last sent a request."""
    close_ns: int | None = None
    close_kind: str | None = None

    def observe(self, subject: GroupRequest | MemberActivity) -> None:
        """Takes over who it is from a request of its own."""
        self.client_id = subject.client_id or self.client_id
        self.client_instance_id = subject.client_instance_id or self.client_instance_id
        self.group_instance_id = subject.group_instance_id or self.group_instance_id
        self.conn_id = subject.conn_id
        self.see(subject.last_ns)
        if isinstance(subject, GroupRequest):
            self.close_ns, self.close_kind = subject.close_ns, subject.close_kind

    def see(self, ts_ns: int) -> None:
        """Notes that it sent a request."""
        self.last_seen_ns = max(self.last_seen_ns or 0, ts_ns)

    def begin_round(self) -> None:
        """Forgets when it took part in the round before."""
        self.join_sent_ns = self.joined_ns = self.entered_ns = self.sync_sent_ns = self.synced_ns = None

    @property
    def name(self) -> str:
        """How sentences call it."""
        return self.client_id or self.member_id


@dataclass(slots=True)
class Departure:
    """A member of the generation before that is in it no more."""

    member: Member
    how: str
    """As in groups.table.DEPARTURES."""
    why: str | None = None
    """A sentence; of a replaced member, the member id that took its place."""
    request_id: str | None = None
    ts_ns: int | None = None


@dataclass(slots=True)
class RejoinRequest:
    """The first response of a coordinator that makes members join again."""

    ts_ns: int
    member_id: str
    request_id: str


@dataclass(slots=True)
class Generation:
    """A generation or group epoch, from the first that is observed of it."""

    group_id: str
    protocol: GroupProtocol
    start_ns: int | None
    """None where its making is not in the capture."""
    number: int | None = None
    node_id: int | None = None
    protocol_type: str | None = None
    assignor: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    listed: dict[str, str | None] | None = None
    """Member id -> group.instance.id of all members, as the coordinator listed them for the leader."""
    rejoin: RejoinRequest | None = None
    left: dict[str, Departure] = field(default_factory=dict)
    settled: bool = False
    """Classic: a member had its assignment, so the coordinator has the leader's. Else all members reached the epoch."""
    had_assignments: bool = False
    """Whether any member had an assignment when the epoch ended."""
    took_over: str | None = None
    """Member id whose place a new one of the same group.instance.id took, without a new generation."""
    n_refused: int = 0
    refused: list[str] = field(default_factory=list)
    fenced: list[str] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=dict)
    """Request id -> when it was sent."""
    coordinator_lookup: tuple[str, int] | None = None
    """A request that looked for the coordinator meanwhile: its id, when it was sent."""

    def member(self, member_id: str) -> Member:
        """The member; a new one where it is not known."""
        return self.members.setdefault(member_id, Member(member_id))

    def prove(self, request_id: str, ts_ns: int) -> None:
        """Keeps a request as evidence."""
        if len(self.evidence) < MOST_EVIDENCE:
            self.evidence.setdefault(request_id, ts_ns)

    def served_by(self, node_id: int | None) -> None:
        """Notes the coordinator where it is not known yet."""
        self.node_id = node_id if self.node_id is None else self.node_id

    def refuse(self, request: GroupRequest) -> None:
        """Counts a refused commit."""
        self.n_refused += 1
        if len(self.refused) < MOST_EVIDENCE:
            self.refused.append(request.request_id)

    def fence(self, request: GroupRequest) -> None:
        """Keeps a request that was refused because another has its group.instance.id."""
        if len(self.fenced) < MOST_EVIDENCE:
            self.fenced.append(request.request_id)

    @property
    def present(self) -> dict[str, Member]:
        """Its members: those that the leader was given, else all that are known."""
        if self.listed is None:
            return self.members
        return {m: self.members.get(m) or Member(m, group_instance_id=i) for m, i in self.listed.items()}
