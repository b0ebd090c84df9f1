"""The part of the terminal report that comes first: the headline, then what failed and who stalled."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import sentence
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.model import Incident, Wait
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.findings import INDENT, STYLE, command_lines, finding_lines
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, labelled, line, more

MOST_INCIDENTS = 20
MOST_WAITS = 8
MOST_FINDINGS = 6
_VERDICT = {"error": "error", "warning": "warning", "none": "ok", "unknown": "unknown"}
_STYLE = {**STYLE, "none": "bold green", "unknown": "bold"}


def render_headline(model: Report) -> Iterator[RenderableType]:
    """The verdict in a word, and why."""
    headline = model.headline
    label = _VERDICT[headline.verdict], _STYLE[headline.verdict]
    yield line("")
    yield labelled(label, INDENT, (sentence(headline.sentence), "bold"))
    for detail in headline.details:
        yield line(sentence(detail), indent=INDENT)


def render_incidents(model: Report, *, routine: bool = False) -> Iterator[RenderableType]:
    """The incidents, worst first, with who stalled; the routine ones in one line, or listed after the others."""
    found = model.incidents
    if not found.present or not (found.n or found.n_routine or found.n_unassigned):
        return
    yield heading(f"Incidents ({found.n:,})")
    findings = {row.finding_id: row for row in model.findings.listed}
    for number, incident in enumerate(found.listed[:MOST_INCIDENTS]):
        if number:
            yield line("")
        yield from incident_lines(incident, findings)
    yield from more(found.n - min(MOST_INCIDENTS, len(found.listed)), "incident", "table stories/incidents")
    if found.n_unassigned:
        yield line("")
        yield line(("Stalls that belong to no incident:", "bold"))
        yield from waits_table(found.unassigned, found.n_unassigned)
    if found.routine_text:
        yield line((found.routine_text, "dim"))
        if not routine:
            yield line(("kafkascope report --routine lists them", "dim"))
    for incident in found.routine if routine else ():
        yield line("")
        yield from incident_lines(incident, findings)


def incident_lines(incident: Incident, findings: dict[str, Finding]) -> Iterator[RenderableType]:
    """One incident: what, who stalled, what followed, what to change, and the proof."""
    severity = incident.severity
    yield labelled((severity, STYLE[severity]), INDENT, (incident.title, "bold"), f" · {incident.when}")
    yield line(sentence(incident.sentence), indent=INDENT)
    yield from waits_table(incident.waits, incident.n_waits)
    if incident.followed_text:
        yield line(("what followed: ", "bold"), incident.followed_text, indent=INDENT)
    if incident.advice:
        yield line(("do: ", "bold"), sentence(incident.advice), indent=INDENT)
    if incident.how_known:
        yield line((f"shown by: {sentence(incident.how_known)}", "dim"), indent=INDENT)
    if incident.packets:
        yield line((incident.packets, "dim"), indent=INDENT)
    for command in (incident.cut, incident.wireshark, incident.explain):
        yield from command_lines(command)
    under = [findings[name] for name in incident.finding_ids if name in findings]
    for row in under[:MOST_FINDINGS]:
        yield from finding_lines(row, INDENT)
    yield from more(len(incident.finding_ids) - MOST_FINDINGS, "finding", "report.json", INDENT)


def waits_table(waits: Sequence[Wait], n_waits: int) -> Iterator[RenderableType]:
    """Who stalled: client, what it waited for, since when, how long, and whether it is over."""
    if not waits:
        return
    columns = (("who stalled", ""), ("waited for", "w"), ("from", "n"), ("for", "rn"), ("state", ""))
    table = grid(*columns)
    for wait in waits[:MOST_WAITS]:
        style = "" if wait.over else "bold yellow"
        cells = (Text(wait.who), Text(wait.what), wait.at, wait.lasted, Text(wait.state, style=style))
        table.add_row(*cells)
    yield indented(table, INDENT)
    yield from more(n_waits - min(MOST_WAITS, len(waits)), "such line", "table stories/stalls", INDENT)
