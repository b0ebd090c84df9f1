"""Findings: the rows of stories/findings; rows that say the same about several clients become one finding.

Each finding names the incident whose consequence it is, the packets that prove it, and the command that cuts them out.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from kafkascope_analyzer.report.commands import cut_command
from kafkascope_analyzer.report.formatting import count, list_of, safe
from kafkascope_analyzer.report.model.moments import from_to_text
from kafkascope_analyzer.report.model.presence import Presence
from kafkascope_analyzer.report.model.proofs import Proof, packets_text, proofs_of
from kafkascope_spark.stories.findings.table import SEVERITIES, FindingRow

WORST_FIRST = tuple(reversed(SEVERITIES))
MOST_FINDINGS = 200
MOST_CONNECTIONS = 50
MOST_CLIENTS = 20
MOST_CUT = 10
"""Limits of report.json; the table findings has everything."""
NAMED_CLIENTS = 4
MOST_ADVICE = 4
"""Most different pieces of advice of a finding about several clients; the rows have the advice of each client."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a rule about one client, or about several clients for which it is the same."""

    finding_id: Annotated[str, "id of the finding; of several rows the most frequent one"]
    finding_ids: Annotated[tuple[str, ...], "ids of its rows in table findings"]
    incident_id: Annotated[str | None, "incident of which it is a consequence; null without one"]
    rule: Annotated[str, "rule of the finding: `kafkascope rules` lists all"]
    severity: Annotated[str, "error (broken), warning (will break, or costs) or info (worth knowing)"]
    sentence: Annotated[str, "what was found"]
    sentences: Annotated[tuple[str, ...], "the sentence of each row, where there are several"]
    advice: Annotated[str | None, "what to change"]
    subject: Annotated[str | None, "subject: an address, group, topic-partition, transactional id, ..."]
    client_instance_id: Annotated[str | None, "client that it is about; null where it is about none or several"]
    clients: Annotated[tuple[str, ...], "names of the first 20 clients that it is about"]
    n_clients: Annotated[int, "clients that it is about"]
    n: Annotated[int, "number of occurrences"]
    first_ns: Annotated[int | None, "first occurrence"]
    last_ns: Annotated[int | None, "last occurrence"]
    when: Annotated[str, "how often, and from when to when"]
    n_connections: Annotated[int, "connections that it is about"]
    conn_ids: Annotated[tuple[str, ...], "the first 50 of them"]
    n_evidence: Annotated[int, "requests and connections that prove it"]
    evidence: Annotated[tuple[Proof, ...], "the first 20 of them"]
    packets: Annotated[str, "their packets in words"]
    cut: Annotated[str, "the command that cuts its packets out; OUT.kscope stands for the dataset"]


@dataclass(frozen=True, slots=True)
class Findings(Presence):
    """All findings: each with a sentence, advice, and proof."""

    n: Annotated[int, "findings"]
    by_severity: Annotated[dict[str, int], "findings by severity"]
    listed: Annotated[tuple[Finding, ...], "findings, the most severe first, at most 200"]

    @property
    def without_incident(self) -> list[Finding]:
        """The listed findings that belong to no incident."""
        return [finding for finding in self.listed if finding.incident_id is None]

    @property
    def n_under_incidents(self) -> int:
        """The number of listed findings that belong to an incident."""
        return len(self.listed) - len(self.without_incident)

    @property
    def n_without_incident(self) -> int:
        """The number of findings that belong to no incident."""
        return self.n - self.n_under_incidents


@dataclass(frozen=True, slots=True)
class FindingSources:
    """Data that findings need besides their rows: names of clients, proofs, start of the capture, number of
    its files."""

    names: dict[str, str]
    proofs: dict[str, Proof]
    start_ns: int
    n_files: int


def merged_findings(rows: list[FindingRow], sources: FindingSources) -> tuple[Finding, ...]:
    """Returns findings by severity, then by time. rows: rows of table findings."""
    made = [_finding(alike, sources) for alike in _alike(rows)]
    made.sort(key=lambda finding: (severity_order(finding.severity), finding.first_ns or 0, finding.finding_id))
    return tuple(made)


def severity_order(severity: str | None) -> int:
    """Returns the rank of a severity: 0 for the worst."""
    return WORST_FIRST.index(severity) if severity in WORST_FIRST else len(WORST_FIRST)


def counted(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Returns how many findings there are of each severity, the worst first."""
    found = Counter(finding.severity for finding in findings)
    return {severity: found[severity] for severity in WORST_FIRST}


def _alike(rows: list[FindingRow]) -> list[list[FindingRow]]:
    """Groups rows of one rule, severity and incident that share their subject or their advice, where they are about
    different clients."""
    groups: dict[tuple[Any, ...], list[list[FindingRow]]] = {}
    for row in rows:
        key = (row.rule, row.severity, row.incident_id)
        own = () if row.client_instance_id else (row.finding_id,)
        groups.setdefault((*key, *own), []).append([row])
    found = []
    for of_rule in groups.values():
        for alike in _joined(_joined(of_rule, lambda row: row.advice), lambda row: row.subject):
            several = len({row.client_instance_id for row in alike}) > 1
            found += [alike] if several else [[row] for row in alike]
    return found


def _joined(groups: list[list[FindingRow]], key: Callable[[FindingRow], str | None]) -> list[list[FindingRow]]:
    """Merges the groups that share a value of the key."""
    at: dict[Any, int] = {}
    joined: list[list[FindingRow]] = []
    for group in groups:
        values = {key(row) for row in group} - {None}
        places = sorted({at[value] for value in values if value in at})
        place = places[0] if places else len(joined)
        if not places:
            joined.append([])
        moved = [row for other in places[1:] for row in joined[other]] + group
        for other in places[1:]:
            joined[other] = []
        joined[place] += moved
        at.update((key(row), place) for row in moved)
    return [group for group in joined if group]


def _finding(alike: list[FindingRow], sources: FindingSources) -> Finding:
    alike = sorted(alike, key=lambda row: (-row.n, row.first_ns or 0, row.finding_id))
    most = alike[0]
    ids = sorted({row.client_instance_id for row in alike if row.client_instance_id})
    names = sorted({sources.names.get(identity, identity) for identity in ids})
    first = min((row.first_ns for row in alike if row.first_ns is not None), default=None)
    last = max((row.last_ns for row in alike if row.last_ns is not None), default=None)
    n = sum(row.n for row in alike)
    conn_ids = tuple(dict.fromkeys(conn for row in alike for conn in row.conn_ids))
    evidence = list(dict.fromkeys(proof for row in alike for proof in row.evidence))
    proofs = proofs_of(evidence, sources.proofs)
    return Finding(
        finding_id=most.finding_id,
        finding_ids=tuple(row.finding_id for row in alike),
        incident_id=most.incident_id,
        rule=most.rule,
        severity=most.severity or "info",
        sentence=_sentence(alike, names, len(ids)),
        sentences=tuple(row.sentence for row in alike) if len(alike) > 1 else (),
        advice=_advice(alike, sources.names),
        subject=most.subject,
        client_instance_id=ids[0] if len(ids) == 1 else None,
        clients=tuple(names[:MOST_CLIENTS]),
        n_clients=len(ids),
        n=n,
        first_ns=first,
        last_ns=last,
        when=times_text(n, first, last, sources.start_ns),
        n_connections=len(conn_ids),
        conn_ids=conn_ids[:MOST_CONNECTIONS],
        n_evidence=len(evidence),
        evidence=proofs,
        packets=packets_text(proofs, len(evidence), len(conn_ids), sources.n_files),
        cut=cut_command("finding", [row.finding_id for row in alike[:MOST_CUT]], alike[0].finding_id),
    )


def _sentence(alike: list[FindingRow], names: list[str], n_clients: int) -> str:
    """Returns the row's sentence. For several rows: how many clients they are about, and the sentence of the most
    frequent one."""
    sentence = alike[0].sentence
    if len(alike) == 1:
        return sentence
    who = list_of([safe(name) for name in names], NAMED_CLIENTS)
    return f"{count(n_clients, 'client')} ({who}), for example: {sentence}"


def _advice(alike: list[FindingRow], names: dict[str, str]) -> str | None:
    """Returns the rows' advice. Where it differs by client, because the libraries or values do, each one with its
    clients."""
    clients: dict[str, list[str]] = {}
    for row in alike:
        if row.advice:
            name = names.get(row.client_instance_id or "", row.client_instance_id or "")
            clients.setdefault(row.advice, []).append(safe(name))
    if len(clients) < 2:
        return next(iter(clients), None)
    listed = [(advice, list_of(sorted(set(who)), NAMED_CLIENTS)) for advice, who in clients.items()]
    more = len(listed) - MOST_ADVICE
    text = " ".join(f"For {who}: {advice}" for advice, who in listed[:MOST_ADVICE])
    return f"{text} Likewise for {count(more, 'other client')}." if more > 0 else text


def times_text(n: int, first: int | None, last: int | None, start_ns: int) -> str:
    """Returns how often, and from when to when: `3 times, 00:01.000 to 00:04.120 (12:20:00.000 to
    12:20:03.120 UTC)`."""
    times = count(n, "time") + ", " if n > 1 else ""
    if first is None:
        return times.rstrip(", ")
    return times + from_to_text(first, first if last is None else max(first, last), start_ns)
