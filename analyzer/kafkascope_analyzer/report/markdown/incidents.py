"""The part of the Markdown report that comes first: the headline, incidents with who stalled, other findings."""

from collections.abc import Iterator, Sequence

from kafkascope_analyzer.report.formatting import count, sentence
from kafkascope_analyzer.report.markdown.text import code, more, prose, table
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.model import Incident, Wait
from kafkascope_analyzer.report.model.report import Report

MOST_INCIDENTS = 20
MOST_WAITS = 15
MOST_FINDINGS = 20
_VERDICT = {"error": "Error", "warning": "Warning", "none": "Ok", "unknown": "Unknown"}


def markdown_headline(model: Report) -> Iterator[str]:
    """The verdict in a word, and why."""
    headline = model.headline
    details = [prose(sentence(detail)) for detail in headline.details]
    yield from (
        "",
        " ".join([f"**{_VERDICT[headline.verdict]}.** {prose(sentence(headline.sentence))}", *details]),
    )


def markdown_incidents(model: Report) -> Iterator[str]:
    """The incidents, worst first, with who stalled; the routine ones in one line."""
    found = model.incidents
    findings = {row.finding_id: row for row in model.findings.listed}
    if found.n or found.n_unassigned:
        yield from ("", f"## Incidents ({found.n:,})")
    for incident in found.listed[:MOST_INCIDENTS]:
        yield from _incident(incident, findings)
    yield from more(found.n - min(MOST_INCIDENTS, len(found.listed)), "incident")
    if found.n_unassigned:
        yield from ("", "Stalls that belong to no incident:", "")
        yield from _waits(found.unassigned, found.n_unassigned)
    if found.routine_text:
        yield from ("", prose(found.routine_text))


def _incident(incident: Incident, findings: dict[str, Finding]) -> Iterator[str]:
    severity = incident.severity.capitalize()
    yield from ("", f"### {severity}: {prose(incident.title)}, {prose(incident.when)}", "")
    yield prose(sentence(incident.sentence))
    if incident.waits:
        yield ""
        yield from _waits(incident.waits, incident.n_waits)
    yield ""
    if incident.followed_text:
        yield f"- what followed: {prose(incident.followed_text)}"
    if incident.advice:
        yield f"- do: {prose(sentence(incident.advice))}"
    if incident.how_known:
        yield f"- shown by: {prose(sentence(incident.how_known))}"
    proof = f"{incident.packets}: " if incident.packets else ""
    yield f"- {prose(proof)} {code(incident.cut)}, {code(incident.wireshark)}".replace("-  ", "- ")
    yield f"- {code(incident.explain)}"
    for name in incident.finding_ids[:MOST_FINDINGS]:
        if name in findings:
            yield from _finding(findings[name])


def _waits(waits: Sequence[Wait], n_waits: int) -> Iterator[str]:
    columns = (("who stalled", ""), ("waited for", ""), ("from", "r"), ("for", "r"), ("state", ""))
    shown = waits[:MOST_WAITS]
    yield from table(columns, ((code(w.who), code(w.what), w.at, w.lasted, w.state) for w in shown))
    yield from more(n_waits - min(MOST_WAITS, len(waits)), "such line")


def markdown_findings(model: Report) -> Iterator[str]:
    """The findings that belong to no incident."""
    found = model.findings
    if not found.present:
        return
    alone, n_alone, under = found.standing_alone, found.n_alone, found.n_under_incidents
    if not n_alone:
        if not under:
            yield from ("", "## Findings", "", "No rule found fault with anything.")
        return
    counts = {s: sum(row.severity == s for row in alone) for s in found.by_severity if s != "info"}
    counted = ", ".join(count(n, severity) for severity, n in counts.items() if n)
    yield from ("", f"## {'Other findings' if under else 'Findings'}{f': {counted}' if counted else ''}", "")
    for row in alone[:MOST_FINDINGS]:
        yield from _finding(row)
    yield from more(n_alone - min(MOST_FINDINGS, len(alone)), "finding")
    yield from ("", f"What a rule looks at: {code('kafkascope rules NAME')}.")


def _finding(row: Finding) -> Iterator[str]:
    yield f"- **{row.severity}** {code(row.rule)} ({row.when}): {prose(sentence(row.sentence))}"
    if row.advice:
        yield f"  - do: {prose(sentence(row.advice))}"
    proof = row.packets
    yield f"  - {proof + ': ' if proof else ''}{code(row.cut)}"
