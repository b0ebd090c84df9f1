"""The first screen of the Markdown report: the verdict, one table of all incidents, each incident with the clients that
stalled, other findings, and the commands to read on."""

from collections.abc import Iterator, Sequence

from kafkascope_analyzer.report.formatting import count, sentence
from kafkascope_analyzer.report.markdown.text import code, more, prose, table
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.actions import action_texts
from kafkascope_analyzer.report.model.incidents.model import (
    FIRST_FINDINGS,
    FIRST_INCIDENTS,
    FIRST_STEPS,
    FIRST_WAITS,
    TABLE_INCIDENTS,
    CourseLine,
    Incident,
    Wait,
)
from kafkascope_analyzer.report.model.moments import Moment
from kafkascope_analyzer.report.model.report import Report

MOST_FINDINGS = 20
_VERDICT = {"error": "Error", "warning": "Warning", "none": "Ok", "unknown": "Unknown"}


def markdown_headline(model: Report) -> Iterator[str]:
    """Yields the verdict in a word, and the reason for it."""
    headline = model.headline
    details = [prose(sentence(detail)) for detail in headline.details]
    yield from (
        "",
        " ".join([f"**{_VERDICT[headline.verdict]}.** {prose(sentence(headline.sentence))}", *details]),
    )


def markdown_incidents(model: Report) -> Iterator[str]:
    """Yields the incidents, the most harmful first; the routine ones in one line."""
    found = model.incidents
    findings = {row.finding_id: row for row in model.findings.listed}
    if found.n or found.n_unassigned:
        yield from ("", f"## Incidents ({found.n:,})")
    if found.n:
        yield from ("", *_table(found.listed[:TABLE_INCIDENTS]))
        yield from more(found.n - min(TABLE_INCIDENTS, len(found.listed)), "incident")
    for incident in found.listed[:FIRST_INCIDENTS]:
        yield from _incident(incident, findings)
    yield from more(min(TABLE_INCIDENTS, len(found.listed)) - FIRST_INCIDENTS, "incident in the table above")
    if found.n_unassigned:
        yield from ("", "Stalls that belong to no incident:", "")
        yield from _waits(found.unassigned, found.n_unassigned)
    if found.routine_text:
        yield from ("", prose(found.routine_text))


def _table(incidents: Sequence[Incident]) -> Iterator[str]:
    """Yields a row for each incident: what and where, when, which clients, and whether it is over."""
    columns = ("what and where", "fault from", "to", "served again after", "who stalled", "over")
    rows = [
        (
            f"{row.severity}: {prose(row.title)}",
            _moment(row.fault_start),
            "not seen" if row.fault_end is None else _moment(row.fault_end),
            row.served_after,
            row.who,
            row.over_text,
        )
        for row in incidents
    ]
    yield from table([(title, "") for title in columns], rows)
    moments = [moment for row in incidents for moment in (row.fault_start, row.fault_end) if moment is not None]
    if any(moment.is_between for moment in moments):
        yield from ("", "a - b: between the two; no packet shows it more exactly.")


def _moment(moment: Moment) -> str:
    return f"{moment.at} ({moment.of_day} UTC)"


def _incident(incident: Incident, findings: dict[str, Finding]) -> Iterator[str]:
    yield from ("", f"### {incident.severity.capitalize()}: {prose(incident.title)}", "")
    yield prose(sentence(incident.sentence))
    if incident.waits:
        yield ""
        yield from _waits(incident.waits, incident.n_waits)
    yield from _course(incident.course)
    yield ""
    yield from (f"- restart: {prose(restart)}" for restart in incident.restarts)
    if incident.followed_text:
        yield f"- what followed: {prose(incident.followed_text)}"
    yield from (f"- {prose(owner)}: {prose(sentence(text))}" for owner, text in action_texts(incident.actions))
    if incident.how_known:
        yield f"- shown by: {prose(sentence(incident.how_known))}"
    yield f"- {_proof(incident.packets, incident.incident_id)}"
    under = [findings[name] for name in incident.finding_ids if name in findings]
    for finding in under[:FIRST_FINDINGS]:
        yield from _finding(finding)
    yield from more(len(incident.finding_ids) - len(under[:FIRST_FINDINGS]), "finding")


def _course(course: Sequence[CourseLine]) -> Iterator[str]:
    """Yields the steps from the failure until the last client was served, each with its packet."""
    if not course:
        return
    shown = course[:FIRST_STEPS]
    packets = ("" if row.packet_no is None else str(row.packet_no) for row in shown)
    cells = ((row.step, f"{row.at} ({row.of_day} UTC)", prose(row.what)) for row in shown)
    rows = [(*cell, packet) for cell, packet in zip(cells, packets, strict=True)]
    yield from ("", *table((("course", ""), ("at", "r"), ("what", ""), ("packet", "r")), rows))
    yield from more(len(course) - len(shown), "step")


def _proof(packets: str, identity: str) -> str:
    """Returns the packets, and the id that commands take."""
    return f"{prose(packets)}: {code(identity)}" if packets else code(identity)


def _waits(waits: Sequence[Wait], n_waits: int) -> Iterator[str]:
    columns = (("who stalled", ""), ("waited for", ""), ("from", "r"), ("for", "r"), ("state", ""))
    shown = waits[:FIRST_WAITS]
    rows = ((code(w.who), code(w.what), f"{w.at} ({w.of_day} UTC)", w.lasted, w.state) for w in shown)
    yield from table(columns, rows)
    yield from more(n_waits - len(shown), "such line")


def markdown_findings(model: Report) -> Iterator[str]:
    """Yields the findings that belong to no incident."""
    found = model.findings
    if not found.present:
        return
    alone, n_without_incident, under = found.without_incident, found.n_without_incident, found.n_under_incidents
    if not n_without_incident:
        if not under:
            yield from ("", "## Findings", "", "No rule found fault with anything.")
        return
    counts = {s: sum(row.severity == s for row in alone) for s in found.by_severity if s != "info"}
    counted = ", ".join(count(n, severity) for severity, n in counts.items() if n)
    yield from ("", f"## {'Other findings' if under else 'Findings'}{f': {counted}' if counted else ''}", "")
    for row in alone[:MOST_FINDINGS]:
        yield from _finding(row)
    yield from more(n_without_incident - min(MOST_FINDINGS, len(alone)), "finding")


def markdown_commands(model: Report) -> Iterator[str]:
    """Yields the commands to read on, once for the whole report."""
    commands = model.commands
    listed = [command for command in (commands.explain, commands.cut, commands.wireshark) if command]
    yield from ("", "## To read on, and to see the packets", "", "```", *listed, commands.report_all, "```")
    if commands.likewise:
        yield from ("", prose(commands.likewise))


def _finding(row: Finding) -> Iterator[str]:
    yield f"- **{row.severity}** {code(row.rule)} ({row.when}): {prose(sentence(row.sentence))}"
    if row.advice:
        yield f"  - do: {prose(sentence(row.advice))}"
    yield f"  - {_proof(row.packets, row.finding_id)}"
