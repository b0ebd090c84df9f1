"""Families of incidents. A family is an incident that is no consequence of another, with all of its consequences."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkascope_analyzer.report.model.findings import severity_order
from kafkascope_analyzer.report.model.incidents.load import Facts, stalls_by_incident
from kafkascope_analyzer.report.model.incidents.model import ERROR, WARNING
from kafkascope_spark.stories.incidents.attribution.families import roots_of
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.stalls.table import Stall


@dataclass(slots=True)
class Family:
    """An incident with all incidents that are its consequences."""

    root: IncidentRow
    members: list[IncidentRow]
    severity: str
    stalls: list[Stall] = field(default_factory=list)
    earlier_stalls: list[Stall] = field(default_factory=list)
    """Stalls of other families that continued because of this one too."""
    clients: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    start_ns: int = 0
    end_ns: int | None = None

    @property
    def identity(self) -> str:
        """The id of the root incident."""
        return self.root.incident_id

    @property
    def longest_ms(self) -> int:
        """The longest time for which the family kept a client waiting, or from working, in milliseconds."""
        return max((member.longest_ms for member in self.members), default=0)

    @property
    def harm_ms(self) -> int:
        """The harm done: the number of clients that stalled, times the longest of their stalls. For an error without a
        stall (clients that never became ready, records that were lost): the number of clients, times its duration."""
        if not self.stalls:
            lasted_ms = ((self.end_ns or self.start_ns) - self.start_ns) // 1_000_000
            return max(1, len(self.clients)) * max(1, lasted_ms, self.longest_ms) if self.severity == ERROR else 0
        who = {stall.client_instance_id or stall.group_id or stall.client_ip for stall in self.stalls}
        return len(who) * max(stall.waited_ms for stall in self.stalls)


def families_of(facts: Facts) -> list[Family]:
    """Returns all families, worst first: by harm, then by severity, then by time."""
    roots = roots_of(facts.incidents)
    members: dict[str, list[IncidentRow]] = {}
    for row in facts.incidents:
        members.setdefault(roots[row.incident_id].incident_id, []).append(row)
    found = _made([(roots[identity], rows) for identity, rows in members.items()], facts)
    for family in found:
        family.severity = family.root.family_severity
    return sorted(found, key=lambda f: (-f.harm_ms, severity_order(f.severity), f.start_ns, f.identity))


def every_incident(facts: Facts) -> list[Family]:
    """Returns all families, and each consequent incident with only its own stalls."""
    families = families_of(facts)
    followed = [row for family in families for row in family.members if row is not family.root]
    return families + _made([(row, [row]) for row in followed], facts)


def _made(rooted: Iterable[tuple[IncidentRow, list[IncidentRow]]], facts: Facts) -> list[Family]:
    """Returns a family for each incident and its members."""
    stalls, by_id = stalls_by_incident(facts), {stall.stall_id: stall for stall in facts.stalls}
    found = []
    for root, members in rooted:
        family = Family(root, members, root.severity, [stall for row in members for stall in stalls[row.incident_id]])
        _add_earlier(family, by_id)
        _complete(family)
        found.append(family)
    return found


def root_ids(families: Iterable[Family]) -> dict[str, str]:
    """Returns incident_id -> id of its root incident; the incident's own id where it is no consequence of another."""
    return {row.incident_id: family.identity for family in families for row in family.members}


def _add_earlier(family: Family, by_id: dict[str, Stall]) -> None:
    """Adds the stalls of other families that its incidents name. by_id: stall_id -> stall."""
    own = {stall.stall_id for stall in family.stalls}
    named = dict.fromkeys(identity for row in family.members for identity in row.earlier_stalls)
    family.earlier_stalls = [by_id[identity] for identity in named if identity in by_id and identity not in own]


def _complete(family: Family) -> None:
    """Sets the fields that are derived from all members and stalls: times, clients, brokers."""
    family.start_ns = min(row.start_ns for row in family.members)
    ends = [row.end_ns for row in family.members] + [stall.to_ns for stall in family.stalls]
    family.end_ns = None if None in ends else max(end for end in ends if end is not None)
    for row in family.members:
        family.clients.update(row.clients)
        family.nodes.update([row.node_id] if row.node_id is not None else [])
    for stall in family.stalls:
        family.clients.update([stall.client_instance_id] if stall.client_instance_id else [])


def stall_severity(stall: Stall) -> str:
    """Returns error for a stall that is long or not over; warning for any other."""
    return ERROR if stall.is_severe else WARNING
