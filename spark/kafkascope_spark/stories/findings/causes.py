"""`Causes`: the incident of which each finding is a consequence.

A family is an incident that followed from no other, with all incidents that followed from it. A finding belongs to a
family with an incident of the kinds in its rule's `Follows` that shares a client, a group or a broker with it; of
several, to the one with the longest overlap. It never belongs to a family that is less severe than itself, unless that
is the same fault, nor to one in which nobody stalled, because reports do not list those one by one. A finding that is
made from an incident belongs to that incident.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_analyzer.dataset.table_rows import read
from kafkascope_spark.stories.findings.rule import Facts, Follows
from kafkascope_spark.stories.findings.table import SEVERITIES, FindingRow
from kafkascope_spark.stories.tables import INCIDENTS, STALLS

_ROUTINE = SEVERITIES.index("info")


@dataclass(frozen=True, slots=True)
class Cause(Row):
    """The columns of an incident that decide."""

    TABLE: ClassVar[Table] = INCIDENTS
    incident_id: str
    root_incident_id: str | None
    kind: str
    node_id: int | None
    start_ns: int
    end_ns: int | None
    family_severity: str
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CauseStall(Row):
    """The columns of a stall that decide."""

    TABLE: ClassVar[Table] = STALLS
    incident_id: str | None
    group_id: str | None
    to_ns: int | None


@dataclass(slots=True)
class _Family:
    """A family of incidents. incident_id: the incident from which the others followed; severity: index in SEVERITIES of
    the worst; end_ns: when the last stall ended, FOREVER if the capture does not show that."""

    incident_id: str
    start_ns: int = FOREVER
    end_ns: int = 0
    severity: int = _ROUTINE
    kinds: set[str] = field(default_factory=set)
    clients: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)

    def take(self, incident: Cause) -> None:
        """Adds an incident."""
        self.start_ns = min(self.start_ns, incident.start_ns)
        self.take_end(incident.end_ns)
        self.severity = SEVERITIES.index(incident.family_severity)
        self.kinds.add(incident.kind)
        self.clients.update(incident.clients)
        self.nodes.update([] if incident.node_id is None else [incident.node_id])

    def take_end(self, end_ns: int | None) -> None:
        """Extends the end of the family to end_ns."""
        self.end_ns = max(self.end_ns, FOREVER if end_ns is None else end_ns)


class Causes:
    """Takes all incidents, then all stalls, and returns the incident of which a finding is a consequence."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}
        """Families by the incident from which the others followed."""
        self._family_of: dict[str, _Family] = {}
        """Family of each incident."""
        self._able: dict[tuple[Follows, str], Stretches[_Family]] = {}

    def take_incident(self, row: Cause) -> None:
        """Takes an incident."""
        identity = row.root_incident_id or row.incident_id
        family = self._families.setdefault(identity, _Family(identity))
        family.take(row)
        self._family_of[row.incident_id] = family

    def take_stall(self, row: CauseStall) -> None:
        """Takes a stall. A stall without an incident is ignored."""
        family = self._family_of.get(row.incident_id or "")
        if family is None:
            return
        family.take_end(row.to_ns)
        family.groups.update([] if row.group_id is None else [row.group_id])

    def incident_of(self, follows: Follows | None, finding: FindingRow, facts: Facts) -> str | None:
        """Returns the incident_id for a finding; None if it is a consequence of no incident. follows: `follows` of its
        rule; facts: facts of the finding."""
        if facts.incident_id is not None:
            family = self._family_of[facts.incident_id]
            return family.incident_id if family.severity >= SEVERITIES.index(finding.severity) else None
        if follows is None or finding.first_ns is None:
            return None
        start_ns = min(finding.first_ns, facts.since_ns or finding.first_ns)
        end_ns = finding.last_ns or finding.first_ns
        clients = {finding.client_instance_id, *(facts.client_instance_ids or ())}
        group, nodes = facts.group_id, set(facts.node_ids or ())

        def concerns(family: _Family) -> bool:
            of_broker = family.nodes if follows.any_broker else family.nodes & nodes
            return bool(family.clients & clients) or group in family.groups or bool(of_broker)

        found = self._stretches(follows, finding.severity).longest(start_ns, end_ns, concerns)
        if found is None or (follows.half_of_time and 2 * found[0] < end_ns - start_ns):
            return None
        return found[1].incident_id

    def _stretches(self, follows: Follows, severity: str) -> Stretches[_Family]:
        """Returns the families of which a finding of that severity may be a consequence, the worst first, then by
        time."""
        key = follows, severity
        if key not in self._able:
            able = (family for family in self._families.values() if _may_cause(family, follows, severity))
            self._able[key] = Stretches(_in_order(able))
        return self._able[key]


def causes_in(dataset: Dataset) -> Causes:
    """Reads the causes from the incidents and stalls of a dataset. Raises UsageError where they cannot be read."""
    causes = Causes()
    for incident in read(dataset, Cause):
        causes.take_incident(incident)
    for stall in read(dataset, CauseStall):
        causes.take_stall(stall)
    return causes


def _may_cause(family: _Family, follows: Follows, severity: str) -> bool:
    """Whether reports list the family, its kinds fit, and it is at least as severe as the finding or the same fault."""
    if family.severity <= _ROUTINE or not family.kinds & follows.kinds:
        return False
    return family.severity >= SEVERITIES.index(severity) or bool(family.kinds & follows.same)


def _in_order(families: Iterable[_Family]) -> list[tuple[int, int, _Family]]:
    ordered = sorted(families, key=lambda f: (-f.severity, f.start_ns, f.incident_id))
    return [(family.start_ns, family.end_ns, family) for family in ordered]
