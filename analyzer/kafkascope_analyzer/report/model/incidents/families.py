"""Which incidents followed from which, and which incident something else in the capture is a consequence of.

A family is an incident that followed from no other, with all that followed from it. A finding, or a move of
leaders, belongs to the family that it overlaps longest in time and shares a client, a group or the broker with.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from operator import itemgetter

from kafkascope_analyzer.report.model.findings import FindingRow, severity_order
from kafkascope_analyzer.report.model.incidents.load import Facts, IncidentRow, Stall, stalls_by_incident
from kafkascope_analyzer.report.model.incidents.model import ERROR, INFO, WARNING

LONG_MS = 10_000
"""A stall as long as this, or one that never ended, makes its incident an error."""
_OF_BROKERS = frozenset(
    {"broker_lost", "leader_storm", "coordinator_loading", "request_timeout", "not_enough_replicas"}
    | {"evicted_member", "rebalance_storm", "stuck_consumer", "hanging_transaction", "slow_startup"}
)
_OF_MOVES = frozenset({"leader_storm", "coordinator_loading", "request_timeout", "not_enough_replicas", "slow_startup"})
_OF_GROUPS = frozenset({"evicted_member", "rebalance_storm"})
"""Rules whose findings have a group as their subject: whoever left it, its incident is the group's."""
_OF_FAULTS = frozenset({"wrong_protocol", "auth_failed"})
_OF_FAILURES = frozenset({"broker_lost"}) | _OF_FAULTS
"""Rules whose findings repeat an incident, and have its subject: they belong to no other incident."""
_OF_REPLICAS = frozenset({"not_enough_replicas"})
"""Rules whose findings are about leaders that work, and that wait for replicas elsewhere: the brokers that failed at
that time."""
_OF_STARTS = frozenset({"slow_startup"})
"""Rules whose findings say how long a client took: an incident explains one that it has half of the time in common
with."""
NEAR_NS = 1_000_000_000
"""What happened so shortly before or after an incident may belong to it: brokers end some connections a moment before
the first packet that shows that they are down."""
CONSEQUENCES: dict[str, frozenset[str]] = {
    "broker_down": _OF_BROKERS,
    "broker_silent": _OF_BROKERS,
    "broker_frozen": _OF_BROKERS,
    "broker_slow": _OF_BROKERS,
    "zookeeper_session": _OF_BROKERS,
    "path": _OF_BROKERS,
    "replication": frozenset({"broker_lost", "not_enough_replicas", "request_timeout", "slow_startup"}),
    "listener": frozenset(
        {"advertised_mismatch", "advertised_unreachable", "bootstrap_only", "shared_vip", "slow_startup"}
    ),
    "leader_move": _OF_MOVES,
    "coordinator_move": _OF_MOVES | {"rebalance_storm"},
    "member": frozenset({"evicted_member", "rebalance_storm", "static_member_conflict", "stuck_consumer"}),
    "quota": frozenset({"throttled", "slow_startup"}),
    "permission": frozenset({"access_denied"}),
    "missing_topic": frozenset({"missing_topic"}),
    "client": frozenset({"evicted_member", "rebalance_storm", "stuck_consumer", "hanging_transaction", "slow_startup"})
    | _OF_FAULTS,
}
"""Kind of incident -> rules whose findings are consequences of such an incident."""


@dataclass(slots=True)
class Family:
    """An incident with all that followed from it."""

    root: IncidentRow
    members: list[IncidentRow] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    earlier_stalls: list[Stall] = field(default_factory=list)
    """Stalls of other families that went on because of this one too."""
    clients: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    severity: str = INFO
    start_ns: int = 0
    end_ns: int | None = None

    @property
    def identity(self) -> str:
        """The id of the incident that the others followed from."""
        return self.root.incident_id

    def overlap_ns(self, start_ns: int, end_ns: int, capture_end_ns: int) -> int:
        """How long the stretch overlaps it: negative where it does not."""
        own_end = capture_end_ns if self.end_ns is None else self.end_ns
        return min(own_end, end_ns) - max(self.start_ns, start_ns)


@dataclass(frozen=True, slots=True)
class Event:
    """Something in the capture that may be a consequence of an incident."""

    start_ns: int
    end_ns: int
    clients: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    nodes: frozenset[int] = frozenset()


def families_of(facts: Facts) -> list[Family]:
    """All families, worst first, then by time."""
    roots = _roots(facts.incidents)
    members: dict[str, list[IncidentRow]] = {}
    for row in facts.incidents:
        members.setdefault(roots[row.incident_id].incident_id, []).append(row)
    found = _made([(roots[identity], rows) for identity, rows in members.items()], facts)
    return sorted(found, key=lambda f: (severity_order(f.severity), f.start_ns, f.identity))


def every_incident(facts: Facts) -> list[Family]:
    """All families, and each incident that followed from another one with its own stalls alone."""
    families = families_of(facts)
    followed = [row for family in families for row in family.members if row is not family.root]
    return families + _made([(row, [row]) for row in followed], facts)


def _made(rooted: Iterable[tuple[IncidentRow, list[IncidentRow]]], facts: Facts) -> list[Family]:
    """A family of each incident and its members."""
    stalls, by_id = stalls_by_incident(facts), {stall.stall_id: stall for stall in facts.stalls}
    found = []
    for root, members in rooted:
        family = Family(root, members, [stall for row in members for stall in stalls[row.incident_id]])
        _add_earlier(family, by_id)
        _complete(family)
        found.append(family)
    return found


def _add_earlier(family: Family, by_id: dict[str, Stall]) -> None:
    """Adds the stalls of other families that its incidents name. by_id: stall_id -> stall."""
    own = {stall.stall_id for stall in family.stalls}
    named = dict.fromkeys(identity for row in family.members for identity in row.earlier_stalls)
    family.earlier_stalls = [by_id[identity] for identity in named if identity in by_id and identity not in own]


def _roots(incidents: list[IncidentRow]) -> dict[str, IncidentRow]:
    """incident_id -> the incident that it followed from in the end; itself where that one is not in the table."""
    by_id = {row.incident_id: row for row in incidents}
    found = {}
    for row in incidents:
        root, seen = row, {row.incident_id}
        while root.root_incident_id in by_id and root.root_incident_id not in seen:
            root = by_id[root.root_incident_id]
            seen.add(root.incident_id)
        found[row.incident_id] = root
    return found


def _complete(family: Family) -> None:
    """Sets what is decided over all members and stalls: severity, times, clients, groups, brokers."""
    severities = [row.severity or INFO for row in family.members] + [stall_severity(stall) for stall in family.stalls]
    family.severity = min(severities, key=severity_order)
    family.start_ns = min(row.begin_ns for row in family.members)
    ends = [row.end_ns for row in family.members] + [stall.to_ns for stall in family.stalls]
    family.end_ns = None if None in ends else max(end for end in ends if end is not None)
    for row in family.members:
        family.clients.update(row.clients)
        family.nodes.update([row.node_id] if row.node_id is not None else [])
    for stall in family.stalls:
        family.clients.update([stall.client_instance_id] if stall.client_instance_id else [])
        family.groups.update([stall.group_id] if stall.group_id else [])


def stall_severity(stall: Stall) -> str:
    """error for a stall that is long or not over; warning for any other."""
    return ERROR if stall.to_ns is None or stall.waited_ms >= LONG_MS else WARNING


class Owners:
    """Families that events may belong to, found by time, as a long capture may have thousands. families: of two that
    an event overlaps for equally long the first is its owner; capture_end_ns: the end of those that are not over."""

    def __init__(self, families: Iterable[Family], capture_end_ns: int) -> None:
        self._capture_end_ns = capture_end_ns
        self._ordered = sorted(enumerate(families), key=lambda placed: placed[1].start_ns)
        self._latest_ends = list(accumulate((self._end_ns(family) for _, family in self._ordered), max))
        self.nodes = frozenset().union(*(family.nodes for _, family in self._ordered))
        """The brokers of all families."""

    def owner_of(self, event: Event, *, anybody: bool = False) -> Family | None:
        """The family that the event belongs to; None where it shares time and a client, group or broker with none.
        anybody: time alone decides.
        """
        best: tuple[int, Family] | None = None
        for family in self._near(event):
            overlap = family.overlap_ns(event.start_ns, event.end_ns, self._capture_end_ns)
            if overlap < -NEAR_NS or (best is not None and overlap <= best[0]):
                continue
            if anybody or event.clients & family.clients or event.groups & family.groups or event.nodes & family.nodes:
                best = overlap, family
        return best[1] if best else None

    def _near(self, event: Event) -> list[Family]:
        """The families that end NEAR_NS before the event or later, and begin NEAR_NS after it or sooner."""
        first = bisect_left(self._latest_ends, event.start_ns - NEAR_NS)
        last = bisect_right(self._ordered, event.end_ns + NEAR_NS, key=lambda placed: placed[1].start_ns)
        return [family for _, family in sorted(self._ordered[first:last], key=itemgetter(0))]

    def _end_ns(self, family: Family) -> int:
        return self._capture_end_ns if family.end_ns is None else family.end_ns


def assigned_findings(facts: Facts, families: list[Family]) -> list[FindingRow]:
    """The rows of findings, each with the `incident_id` of the incident that it is a consequence of, or None.

    A finding never stands under an incident that is less severe than itself: routine incidents are not listed.
    """
    by_rule: dict[str, list[Family]] = defaultdict(list)
    for family in families:
        for rule in frozenset().union(*(CONSEQUENCES.get(row.kind, frozenset()) for row in family.members)):
            by_rule[rule].append(family)

    @cache
    def able(rule: str, severity: str | None, failed: str | None) -> Owners:
        grave = (f for f in by_rule[rule] if f.severity != INFO)
        found = [f for f in grave if severity_order(f.severity) <= severity_order(severity)]
        if rule in _OF_FAILURES:
            found = [f for f in found if any(member.subject == failed for member in f.members)]
        return Owners(found, facts.end_ns)

    assigned = []
    for row in facts.findings:
        owners = able(row.rule, row.severity, row.subject if row.rule in _OF_FAILURES else None)
        owner = _owner_of_finding(row, row.first_ns, owners, facts) if row.first_ns is not None else None
        assigned.append(replace(row, incident_id=owner.identity if owner else None))
    return assigned


def _owner_of_finding(finding: FindingRow, first_ns: int, able: Owners, facts: Facts) -> Family | None:
    """The family of which the finding is a consequence. able: those that may have such consequences."""
    event = _event_of(finding, first_ns, facts)
    if finding.rule in _OF_REPLICAS:
        event = replace(event, nodes=able.nodes)
    owner = able.owner_of(event, anybody=finding.rule in _OF_FAILURES)
    if owner is not None and finding.rule in _OF_STARTS:
        explained = owner.overlap_ns(event.start_ns, event.end_ns, facts.end_ns)
        return owner if 2 * explained >= event.end_ns - event.start_ns else None
    return owner


def _event_of(finding: FindingRow, first_ns: int, facts: Facts) -> Event:
    """The time of what a finding shows, from its first proof on, and the client, group and brokers that it is about. A
    member that was thrown out learns that late: its last request that went well is the first proof."""
    nodes = {facts.nodes_of_connections.get(conn) for conn in finding.conn_ids}
    nodes |= {proof.node_id for name in finding.evidence if (proof := facts.proofs.get(name))}
    client = finding.client_instance_id
    proofs = (facts.proofs.get(name) for name in finding.evidence)
    proven = [proof.ts_ns for proof in proofs if proof is not None and proof.ts_ns is not None]
    return Event(
        start_ns=min([first_ns, *proven]),
        end_ns=finding.last_ns or first_ns,
        clients=frozenset([client] if client else []),
        groups=frozenset([finding.subject] if finding.subject and finding.rule in _OF_GROUPS else []),
        nodes=frozenset(node for node in nodes if node is not None),
    )
