"""Builds the summary of a dataset: the headline, the incidents with their stalls, consequences and findings, and the
other findings."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.dataset.stall_limit import limit_text
from kafkascope_analyzer.report.commands import cut_command, explain_command, report_command, wireshark_command
from kafkascope_analyzer.report.formatting import clock, count, list_of, safe, time_of_day, visible
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_analyzer.report.model.findings import WORST_FIRST, Finding, FindingSources, merged_findings
from kafkascope_analyzer.report.model.incidents.actions import actions_of, with_repeats
from kafkascope_analyzer.report.model.incidents.consequences import Found, consequences_of, load_consequences
from kafkascope_analyzer.report.model.incidents.families import Family, every_incident, families_of, root_ids
from kafkascope_analyzer.report.model.incidents.headline import headline_of
from kafkascope_analyzer.report.model.incidents.impact import (
    ending_of,
    fault_end,
    fault_start,
    served_after_text,
    when_text,
    who_text,
)
from kafkascope_analyzer.report.model.incidents.load import Facts, load_facts, stalls_by_incident
from kafkascope_analyzer.report.model.incidents.model import (
    ERROR,
    INFO,
    Commands,
    CourseLine,
    Incident,
    Incidents,
    Summary,
)
from kafkascope_analyzer.report.model.incidents.waits import MOST_WAITS, waits_of
from kafkascope_analyzer.report.model.proofs import packets_text, proofs_of
from kafkascope_analyzer.report.model.restarts import Restarts, restarts_of
from kafkascope_spark.stories.incidents.kind_names import CLIENT_FAULTS
from kafkascope_spark.stories.incidents.kinds import words_of
from kafkascope_spark.stories.incidents.table import Ending, IncidentRow

MOST_INCIDENTS = 100
MOST_CLIENTS = 20
MOST_HOSTS = 2
"""Limits of report.json; the table incidents has everything."""
_ENDINGS: Mapping[Ending, str] = {"over": "yes", "going_on": "no", "not_seen": "not seen"}


@dataclass(frozen=True, slots=True)
class Overview:
    """The facts of a dataset with the families, findings and consequences that follow from them."""

    facts: Facts
    families: list[Family]
    findings: tuple[Finding, ...]
    consequences: Found
    restarts: Restarts

    def incident(self, incident_id: str) -> tuple[Incident, Family]:
        """Returns the incident, with its stalls and those of its consequences. A consequent incident has only its own
        stalls. Raises KeyError.
        """
        families = {family.identity: family for family in self.families}
        family = families.get(incident_id) or {f.identity: f for f in every_incident(self.facts)}[incident_id]
        under = [finding for finding in self.findings if finding.incident_id == incident_id]
        adding = [finding for finding in under if not _repeats(finding, family.root)]
        return _incident(family, self, adding), family

    def root_of(self, incident_id: str) -> IncidentRow:
        """Returns the root of this incident: the incident that it is a consequence of, or itself."""
        members = ((row, family) for family in self.families for row in family.members)
        return next(family.root for row, family in members if row.incident_id == incident_id)


def load_overview(dataset: Dataset) -> Overview:
    """Reads the facts and assigns stalls, findings and consequences to incidents. Raises UsageError where a table
    cannot be read."""
    facts = load_facts(dataset)
    families = families_of(facts)
    roots = root_ids(families)
    rows = [replace(row, incident_id=roots.get(row.incident_id or "")) for row in facts.findings]
    findings = merged_findings(rows, _sources(facts))
    consequences = load_consequences(dataset, facts, families)
    return Overview(facts, families, findings, consequences, restarts_of(dataset, facts, families))


def summary_of(overview: Overview, n_errors: int) -> Summary:
    """Returns the summary. n_errors: error codes in the brokers' responses."""
    incidents = _incidents(overview)
    headline = headline_of(overview.facts, incidents, overview.findings, n_errors)
    commands = _commands(incidents, overview.findings, overview.facts.restriction)
    return Summary(headline, incidents, commands, overview.findings, overview.facts.no_kafka)


def _commands(incidents: Incidents, findings: tuple[Finding, ...], wanted: Restriction | None) -> Commands:
    """Returns the commands for the worst incident, else for the worst finding that belongs to no incident."""
    if incidents.listed:
        worst = incidents.listed[0]
        others = "other incidents (--incident ID) and of findings (--finding ID)"
        return Commands(worst.explain, worst.cut, worst.wireshark, _likewise(others), report_command(wanted, "--all"))
    alone = [finding for finding in findings if finding.incident_id is None]
    if not alone:
        return Commands("", "", "", "", report_command(wanted, "--all"))
    first = alone[0]
    wireshark = wireshark_command(first.finding_id, [proof.server_port for proof in first.evidence])
    likewise = _likewise("other findings (--finding ID)")
    return Commands(
        explain_command(first.finding_id, wanted), first.cut, wireshark, likewise, report_command(wanted, "--all")
    )


def _likewise(ids: str) -> str:
    return f"The same works with the ids of {ids}. What a rule looks at: kafkascope rules NAME."


def _sources(facts: Facts) -> FindingSources:
    names = {identity: facts.name(identity) for identity in facts.clients}
    return FindingSources(names, facts.proofs, facts.start_ns, facts.n_files)


def _incidents(overview: Overview) -> Incidents:
    facts, families = overview.facts, overview.families
    grave = [family for family in families if family.severity != INFO]
    routine = [family for family in families if family.severity == INFO]
    unassigned = waits_of(stalls_by_incident(facts)[None], facts)
    severities = Counter(family.severity for family in families)

    def shown(chosen: list[Family]) -> tuple[Incident, ...]:
        return with_repeats([overview.incident(family.identity)[0] for family in chosen[:MOST_INCIDENTS]])

    return Incidents(
        present=facts.has_incidents,
        why_not=None if facts.has_incidents else OLD_STORIES if facts.has_stories else NO_STORIES,
        stall_ms=facts.stall_ms,
        n=len(grave),
        n_not_over=sum(ending_of(family) == "going_on" for family in grave),
        n_not_seen=sum(ending_of(family) == "not_seen" for family in grave),
        by_severity={severity: severities[severity] for severity in WORST_FIRST},
        listed=shown(grave),
        n_routine=len(routine),
        routine_text=_routine_text(routine, facts),
        routine=shown(routine),
        n_unassigned=len(unassigned),
        unassigned=unassigned[:MOST_WAITS],
    )


def _incident(family: Family, overview: Overview, findings: list[Finding]) -> Incident:
    root, facts = family.root, overview.facts
    began, ending = fault_start(root, facts.start_ns), ending_of(family)
    waits = waits_of(family.stalls, facts, family.earlier_stalls)
    followed = consequences_of(family, overview.consequences, findings)
    members = {row.incident_id for row in family.members}
    restarts = [restart for restart in overview.restarts.listed if members.intersection(restart.incident_ids[:1])]
    proofs = proofs_of(root.evidence, facts.proofs)
    evidence = root.evidence
    outside = {identity for row in family.members for identity in facts.outside.get(row.incident_id, ())}
    names = sorted({safe(facts.name(identity)) for identity in family.clients})
    conns = sum(identity not in facts.proofs for identity in evidence)
    return Incident(
        incident_id=root.incident_id,
        kind=root.kind,
        severity=family.severity,
        node_id=root.node_id,
        hosts=root.hosts,
        title=title_of(root),
        sentence=f"{visible(root.sentence)}{_others_text(len(outside))}",
        actions=actions_of(root, None if facts.restriction is None else {facts.name(one) for one in family.clients}),
        how_known=visible(shown_by(root)),
        confidence=root.confidence,
        start_ns=family.start_ns,
        end_ns=family.end_ns,
        over=ending == "over",
        over_text=_ENDINGS[ending],
        when=when_text(family, facts.start_ns),
        fault_start=began,
        fault_end=fault_end(root, facts.start_ns),
        served_after=served_after_text(family, began.by_ns, facts),
        who=who_text(family, facts),
        n_clients=len(family.clients),
        clients=tuple(names[:MOST_CLIENTS]),
        n_clients_outside=len(outside),
        n_stalls=len(family.stalls),
        n_waits=len(waits),
        waits=waits[:MOST_WAITS],
        course=tuple(_course(root, facts)),
        restarts=tuple(restart.in_short for restart in restarts),
        followed=followed,
        followed_text=", ".join(part.text for part in followed),
        finding_ids=tuple(finding.finding_id for finding in findings),
        n_evidence=len(evidence),
        evidence=proofs,
        packets=packets_text(proofs, len(evidence), conns, facts.n_files),
        cut=cut_command("incident", [root.incident_id], root.incident_id),
        wireshark=wireshark_command(root.incident_id, [proof.server_port for proof in proofs]),
        explain=explain_command(root.incident_id, facts.restriction),
    )


def _others_text(n_outside: int) -> str:
    """Returns the sentence that counts the affected clients outside of the restriction; empty where there are none."""
    are = "is" if n_outside == 1 else "are"
    return f" Of the clients that it affected, {n_outside:,} {are} outside the restriction." if n_outside else ""


def _course(root: IncidentRow, facts: Facts) -> Iterator[CourseLine]:
    """Yields the steps of the incident's course as lines."""
    for step in root.course:
        at, of_day = clock(step.ts_ns - facts.start_ns), time_of_day(step.ts_ns)
        yield CourseLine(step.step.replace("_", " "), at, of_day, step.ts_ns, step.packet_no, visible(step.what or ""))


def _repeats(finding: Finding, incident: IncidentRow) -> bool:
    """Whether the finding only repeats its incident (broker_lost): both have the same advice."""
    return finding.advice is not None and finding.advice == " ".join(action.text for action in incident.actions)


def shown_by(incident: IncidentRow) -> str:
    """Returns how the capture shows the incident, how certain its place is, and which clients were served meanwhile."""
    if incident.confidence is None:
        return incident.how_known
    beside = f": {incident.contrast}" if incident.contrast is not None else ""
    return f"{incident.how_known}; place {incident.confidence}{beside}"


def title_of(incident: IncidentRow) -> str:
    """Returns what failed, in a few words: `broker silent: node 2 (10.0.0.2:9092)`, `network path failed: 10.0.0.7 to
    node 2 (10.0.0.2:9092)`."""
    kind = CLIENT_FAULTS.get(incident.client_fault or "") or words_of(incident.kind)
    subject = incident.subject or (f"node {incident.node_id}" if incident.node_id is not None else "")
    is_between = incident.place == "path" or (incident.place == "replication" and incident.node_id is not None)
    if is_between and incident.hosts:
        subject = f"{list_of(list(incident.hosts), MOST_HOSTS)} to {subject}"
    return f"{kind}: {safe(subject)}" if subject else kind


def _routine_text(routine: list[Family], facts: Facts) -> str:
    """Returns a line that counts all routine incidents by kind."""
    if not routine:
        return ""
    kinds = Counter(family.root.kind for family in routine)
    texts = []
    for kind, n in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
        texts.append(f"{n:,} {words_of(kind, n)}")
    n_text = count(len(routine), "routine incident")
    return f"{n_text}: {list_of(texts, 6)}.{_how_routine_was(routine, facts)}"


def _how_routine_was(routine: list[Family], facts: Facts) -> str:
    """Returns that everybody was served during the routine incidents, unless one of them is not over, or a client is
    known or suspected not to have been: one that waits right after it goes on to wait."""
    if facts.doubt:
        return ""
    limit = limit_text(facts.stall_ms)
    if any(family.end_ns is None for family in routine) or any(
        start <= (family.end_ns or facts.end_ns) + facts.stall_ms * 1_000_000 and family.start_ns <= end
        for start, end in _unserved_times(facts)
        for family in routine
    ):
        return f" Nobody stalled for {limit} or longer because of {'it' if len(routine) == 1 else 'them'}."
    return f" Everybody was served within {limit}."


def _unserved_times(facts: Facts) -> Iterator[tuple[int, int]]:
    """Yields from when to when a client was not served: stalls, incidents, failed starts, and findings of severity
    error (records or requests that failed for good)."""
    for stall in facts.stalls:
        yield stall.from_ns, facts.end_ns if stall.to_ns is None or stall.served is False else stall.to_ns
    for row in facts.incidents:  # hosts that could not connect wait without a stall
        if row.longest_ms >= facts.stall_ms:
            yield row.start_ns, facts.end_ns if row.end_ns is None else row.end_ns
    for start in facts.failed_starts:
        yield start.start_ns, facts.end_ns
    for finding in facts.findings:
        if finding.severity == ERROR:
            yield finding.first_ns or facts.start_ns, finding.last_ns or facts.end_ns
