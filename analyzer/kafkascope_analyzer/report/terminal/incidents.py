"""The first screen of the terminal report: the verdict, one table of all incidents, each incident with the clients that
stalled, consequences and advice, and the commands to read on.
"""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import sentence
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.actions import action_texts
from kafkascope_analyzer.report.model.incidents.model import (
    FIRST_FINDINGS,
    FIRST_INCIDENTS,
    FIRST_STEPS,
    FIRST_WAITS,
    TABLE_INCIDENTS,
    Commands,
    CourseLine,
    Incident,
    Wait,
)
from kafkascope_analyzer.report.model.moments import Moment
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.findings import INDENT, STYLE, command_lines, finding_lines
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, labelled, line, more, titled_grid

SEE_ALL = "kafkascope report --all"
_VERDICT = {"error": "error", "warning": "warning", "none": "ok", "unknown": "unknown"}
_STYLE = {**STYLE, "none": "bold green", "unknown": "bold"}


def render_headline(model: Report) -> Iterator[RenderableType]:
    """Yields the verdict in a word, and the reason for it."""
    headline = model.headline
    label = _VERDICT[headline.verdict], _STYLE[headline.verdict]
    yield line("")
    yield labelled(label, INDENT, (sentence(headline.sentence), "bold"))
    for detail in headline.details:
        yield line(sentence(detail), indent=INDENT)


def render_incidents(model: Report, *, everything: bool = False) -> Iterator[RenderableType]:
    """Yields the incidents, the most harmful first; the routine ones in one line. everything: whether all incidents of
    report.json are shown, including routine ones.
    """
    found = model.incidents
    if not found.present or not (found.n or found.n_routine or found.n_unassigned):
        return
    yield heading(f"Incidents ({found.n:,})")
    if found.n:
        yield from _table(found.listed, found.n, everything=everything)
    findings = {row.finding_id: row for row in model.findings.listed}
    shown = found.listed if everything else found.listed[:FIRST_INCIDENTS]
    for incident in shown:
        yield line("")
        yield from incident_lines(incident, findings, everything=everything)
    where = "table stories/incidents" if everything else SEE_ALL
    yield from more(found.n - len(shown), "incident", where)
    if found.n_unassigned:
        yield line("")
        yield line(("Stalls that belong to no incident:", "bold"))
        yield from waits_table(found.unassigned, found.n_unassigned, everything=everything)
    if found.routine_text:
        yield line((found.routine_text, "dim"))
    for incident in found.routine if everything else ():
        yield line("")
        yield from incident_lines(incident, findings, everything=True)


def _table(incidents: Sequence[Incident], n: int, *, everything: bool) -> Iterator[RenderableType]:
    """Yields for each incident its title, and below it a row: when, which clients, and whether it is over. The time of
    day stands below each time."""
    listed = incidents if everything else incidents[:TABLE_INCIDENTS]
    columns = (("fault from", "n"), ("to", "n"), ("served after", ""), ("who stalled", "w"), ("over", "n"))
    yield titled_grid(columns, [_titled_row(row) for row in listed])
    between = [moment for row in listed for moment in (row.fault_start, row.fault_end) if moment is not None]
    if any(moment.is_between for moment in between):
        yield line(("a - b: between the two; no packet shows it more exactly", "dim"))
    yield from more(n - len(listed), "incident", "table stories/incidents" if everything else SEE_ALL)


def _titled_row(row: Incident) -> tuple[Text, tuple[Text, ...]]:
    fault_end = "not seen" if row.fault_end is None else _moment(row.fault_end)
    times = (_moment(row.fault_start), fault_end, row.served_after)
    over = Text(row.over_text, style="" if row.over else "bold yellow")
    return Text(row.title, style=STYLE[row.severity]), (*map(Text, times), Text(row.who), over)


def _moment(moment: Moment) -> str:
    """Returns a time for a cell, with the time of day below it; two times, the second below the first."""
    return f"{moment.at}\n{moment.of_day}".replace(" - ", " -\n")


def incident_lines(
    incident: Incident, findings: dict[str, Finding], *, everything: bool = False
) -> Iterator[RenderableType]:
    """Yields one incident: what failed, which clients stalled, the consequences, what to change, and the proof."""
    severity = incident.severity
    yield labelled((severity, STYLE[severity]), INDENT, (incident.title, "bold"))
    yield line(sentence(incident.sentence), indent=INDENT)
    yield from waits_table(incident.waits, incident.n_waits, everything=everything)
    yield from _course(incident.course, everything=everything)
    for restart in incident.restarts:
        yield line(("restart: ", "bold"), restart, indent=INDENT)
    if incident.followed_text:
        yield line(("what followed: ", "bold"), incident.followed_text, indent=INDENT)
    for owner, text in action_texts(incident.actions):
        yield line((f"{owner}: ", "bold"), sentence(text), indent=INDENT)
    if incident.how_known:
        yield line((f"shown by: {sentence(incident.how_known)}", "dim"), indent=INDENT)
    packets = f"{incident.packets} · " if incident.packets else ""
    yield line((f"{packets}{incident.incident_id}", "dim"), indent=INDENT)
    under = [findings[name] for name in incident.finding_ids if name in findings]
    shown = under if everything else under[:FIRST_FINDINGS]
    for row in shown:
        yield from finding_lines(row, INDENT)
    where = "report.json" if everything else SEE_ALL
    yield from more(len(incident.finding_ids) - len(shown), "finding", where, INDENT)


def _course(course: Sequence[CourseLine], *, everything: bool) -> Iterator[RenderableType]:
    """Yields the steps from the failure until the last client was served, each with its packet."""
    if not course:
        return
    table = grid(("course", "n"), ("at", "n"), ("", "w"), ("packet", "rn"))
    shown = course if everything else course[:FIRST_STEPS]
    for row in shown:
        packet = "" if row.packet_no is None else str(row.packet_no)
        table.add_row(row.step, f"{row.at}\n{row.of_day}", Text(row.what), packet)
    yield indented(table, INDENT)
    yield from more(len(course) - len(shown), "step", SEE_ALL, INDENT)


def waits_table(waits: Sequence[Wait], n_waits: int, *, everything: bool = False) -> Iterator[RenderableType]:
    """Yields the table of stalled clients: client, service, since when, how long, and whether it is over."""
    if not waits:
        return
    columns = (("who stalled", ""), ("waited for", "w"), ("from", "n"), ("for", "rn"), ("state", ""))
    table = grid(*columns)
    shown = waits if everything else waits[:FIRST_WAITS]
    for wait in shown:
        style = "" if wait.over else "bold yellow"
        since = f"{wait.at}\n{wait.of_day}"
        cells = (Text(wait.who), Text(wait.what), since, wait.lasted, Text(wait.state, style=style))
        table.add_row(*cells)
    yield indented(table, INDENT)
    where = "table stories/stalls" if everything else SEE_ALL
    yield from more(n_waits - len(shown), "line", where, INDENT)


def render_commands(commands: Commands, *, everything: bool = False) -> Iterator[RenderableType]:
    """Yields the commands to read on, once for the whole report. everything: whether the report leaves out nothing that
    the last command would print."""
    yield heading("To read on, and to see the packets")
    for command in (commands.explain, commands.cut, commands.wireshark):
        if command:
            yield from command_lines(command, 0)
    if commands.likewise:
        yield line((commands.likewise, "dim"))
    if not everything:
        yield from command_lines(commands.report_all, 0)
        yield line(("prints the rest: clients, starts, recoveries, groups, topics, requests, latency", "dim"))
