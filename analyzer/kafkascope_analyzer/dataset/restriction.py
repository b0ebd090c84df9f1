"""`Restriction`: the clients, brokers, groups, topics and times to which a report is restricted; `Asked`: the same in
the user's words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkascope_parsers.errors import UsageError


@dataclass(frozen=True, slots=True)
class Asked:
    """The names and times to which options of a command, or an assistant, restrict an answer, not checked yet.

    None or none of a kind: all of them. start, end: times as texts, see `dataset.durations.parse_moment`."""

    clients: Sequence[str] | None = None
    nodes: Sequence[int] | None = None
    groups: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    start: str | None = None
    end: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it restricts nothing."""
        names = (self.clients, self.nodes, self.groups, self.topics)
        return not any(names) and self.start is None and self.end is None


@dataclass(frozen=True, slots=True)
class Restriction:
    """The clients, nodes, groups, topics and the time to which a report is restricted. A row has to concern one of the
    values of each kind that has values.

    clients: client ids or client_instance_ids; nodes: node ids; from_ns, to_ns: nanoseconds since the epoch."""

    clients: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it restricts nothing."""
        return self == Restriction()

    def within(self, outer: "Restriction") -> "Restriction":
        """Returns both restrictions at once. Raises UsageError for a value that is not among those of the outer one, if
        that has values of the kind."""
        kinds = {}
        for kind in ("clients", "nodes", "groups", "topics"):
            own, allowed = getattr(self, kind), getattr(outer, kind)
            others = [str(value) for value in own if allowed and value not in allowed]
            if others:
                some = ", ".join(map(str, allowed))
                raise UsageError(f"{kind} are restricted to {some} already; {others[0]} is none of them")
            kinds[kind] = own or allowed
        begins = [ns for ns in (self.from_ns, outer.from_ns) if ns is not None]
        ends = [ns for ns in (self.to_ns, outer.to_ns) if ns is not None]
        return Restriction(**kinds, from_ns=max(begins, default=None), to_ns=min(ends, default=None))

    @property
    def divides_connections(self) -> bool:
        """Whether it may select some requests of a connection and leave out others: then counts by connection cover
        more than the selection."""
        return bool(self.groups or self.topics) or self.from_ns is not None or self.to_ns is not None

    @property
    def divides_clients(self) -> bool:
        """Whether it may select some connections or requests of a client and leave out others."""
        return bool(self.nodes) or self.divides_connections
