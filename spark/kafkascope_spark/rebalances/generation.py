"""A generation while it is told: its members, what they had before and have now, the signs of what made it."""

from dataclasses import dataclass, field

from kafkascope_spark.rebalances.wire import Exchange, Heard

MOST_EVIDENCE = 100
"""Request ids kept of a generation: enough to open it, however many members there are."""
Items = tuple[str, ...]


@dataclass(slots=True)
class Member:
    """A member of a generation."""

    member_id: str
    client_id: str | None = None
    client_instance_id: str | None = None
    conn_id: str | None = None
    group_instance_id: str | None = None
    asked_ns: int | None = None
    """Its first join of this round was sent."""
    joined_ns: int | None = None
    """That was answered, or it reached the epoch."""
    sync_asked_ns: int | None = None
    synced_ns: int | None = None
    """It had its assignment."""
    stopped_ns: int | None = None
    """Since when it does not read: its first join since it had an assignment."""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: Items | None = None
    """What it subscribes to, where it said so."""
    fresh: bool = False
    """It joined as one that was no member before."""
    prompted: bool = True
    """It joined because it was told to (or its session was gone), not by its own choice."""
    reason: str | None = None
    """Why it joined, in its own words (KIP-800)."""
    owned: Items = ()
    """What it kept while it joined: it is cooperative where that is not nothing."""
    assigned: Items | None = None
    standby: Items = ()
    heard_ns: int | None = None
    """When it was last heard of."""
    close_ns: int | None = None
    close_kind: str | None = None

    def seen_in(self, what: Exchange | Heard) -> None:
        """Take over who it is from a request of its own."""
        self.client_id = what.client_id or self.client_id
        self.client_instance_id = what.client_instance_id or self.client_instance_id
        self.group_instance_id = what.group_instance_id or self.group_instance_id
        self.conn_id = what.conn_id
        last = what.last_ns if isinstance(what, Heard) else what.ts_ns
        self.heard_ns = max(self.heard_ns or 0, last)
        if isinstance(what, Exchange):
            self.close_ns, self.close_kind = what.close_ns, what.close_kind


@dataclass(slots=True)
class Departure:
    """A member of the generation before that is in it no more."""

    member: Member
    how: str
    why: str | None = None
    request_id: str | None = None
    ts_ns: int | None = None


@dataclass(slots=True)
class Told:
    """The first of all that a coordinator says to make members join again."""

    ts_ns: int
    member_id: str
    request_id: str


@dataclass(slots=True)
class Generation:
    """A generation or group epoch, from its first sign on."""

    group_id: str
    protocol: str
    start_ns: int | None
    """None where its making is not in the capture."""
    number: int | None = None
    node_id: int | None = None
    protocol_type: str | None = None
    assignor: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    listed: dict[str, str | None] | None = None
    """Member id -> group.instance.id of all members, as the coordinator told the leader."""
    told: Told | None = None
    left: dict[str, Departure] = field(default_factory=dict)
    settled: bool = False
    """A member had its assignment: the coordinator has the leader's answer."""
    took_over: str | None = None
    """Member id whose place a new one of the same group.instance.id took, without a new generation."""
    n_refused: int = 0
    refused: list[str] = field(default_factory=list)
    fenced: list[str] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=dict)
    """Request id -> when it was sent."""
    sought: tuple[str, int] | None = None
    """A request that looked for the coordinator meanwhile."""

    def member(self, member_id: str) -> Member:
        """The member; a new one where it is not known."""
        if member_id not in self.members:
            self.members[member_id] = Member(member_id)
        return self.members[member_id]

    def prove(self, request_id: str, ts_ns: int) -> None:
        """Keep a request as evidence."""
        if len(self.evidence) < MOST_EVIDENCE:
            self.evidence.setdefault(request_id, ts_ns)

    def refuse(self, exchange: Exchange) -> None:
        """Count a refused commit."""
        self.n_refused += 1
        if len(self.refused) < MOST_EVIDENCE:
            self.refused.append(exchange.request_id)

    def fence(self, exchange: Exchange) -> None:
        """Keep a request that was refused because another has its group.instance.id."""
        if len(self.fenced) < MOST_EVIDENCE:
            self.fenced.append(exchange.request_id)

    @property
    def present(self) -> dict[str, Member]:
        """Its members: those that the leader was told of, else all that are known."""
        if self.listed is None:
            return self.members
        return {m: self.members.get(m) or Member(m, group_instance_id=i) for m, i in self.listed.items()}
