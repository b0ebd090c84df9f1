"""Findings on a terminal: each with its sentence, advice and proof."""

import re
from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType

from kafkascope_analyzer.report.formatting import count, list_of, safe, sentence, visible
from kafkascope_analyzer.report.model.findings import WORST_FIRST, Finding
from kafkascope_analyzer.report.model.incidents.model import ALONE_FINDINGS, INFO
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.layout import heading, labelled, line, more

MOST_RULES = 6
LONGEST_COMMAND = 70
"""Longest command on one line, in characters; a longer one has each option on a line of its own, in shell syntax."""
STYLE = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
INDENT = max(map(len, WORST_FIRST)) + 2


def render_findings(model: Report, *, everything: bool = False) -> Iterator[RenderableType]:
    """Yields findings that belong to no incident, the most severe first; one line where there are none. everything:
    whether those of severity info are shown, and not only counted.
    """
    found = model.findings
    if not found.present:
        return
    alone, n_without_incident, under = found.without_incident, found.n_without_incident, found.n_under_incidents
    if not n_without_incident:
        if not under:
            yield heading("Findings (0)")
            yield line("no rule found a problem")
        return
    yield heading(f"{'Other findings' if under else 'Findings'} ({n_without_incident:,})")
    shown = alone if everything else [row for row in alone if row.severity != INFO][:ALONE_FINDINGS]
    for number, row in enumerate(shown):
        if number:
            yield line("")
        yield from finding_lines(row)
    yield from _not_shown(alone, shown, n_without_incident)


def _not_shown(alone: list[Finding], shown: list[Finding], n_without_incident: int) -> Iterator[RenderableType]:
    """Yields how many findings of each rule are not shown, and where they are."""
    if len(shown) == len(alone):
        yield from more(n_without_incident - len(shown), "finding", "table stories/findings")
        return
    rules = Counter(safe(row.rule) for row in alone if row not in shown)
    listed = list_of([f"{n:,} {rule}" if n > 1 else rule for rule, n in rules.most_common()], MOST_RULES)
    left = count(n_without_incident - len(shown), "more finding")
    yield line((f"{left}, in short: {listed} (kafkascope report --all)", "dim"))


def finding_lines(row: Finding, indent: int = 0) -> Iterator[RenderableType]:
    """Yields the lines of a finding: rule and time, sentence, advice, packets, and the id that commands take."""
    severity = row.severity
    inner = indent + INDENT
    label = severity, STYLE.get(severity, "bold")
    yield labelled(label, INDENT, (safe(row.rule), "bold"), f" · {row.when}", indent=indent)
    yield line(sentence(row.sentence), indent=inner)
    if row.advice:
        yield line(("do: ", "bold"), sentence(row.advice), indent=inner)
    packets = f"{row.packets} · " if row.packets else ""
    yield line((f"{packets}{row.finding_id}", "dim"), indent=inner)


_BEFORE_OPTION = re.compile(r" (?=--|-[a-z] )")


def command_lines(command: str, indent: int = INDENT) -> Iterator[RenderableType]:
    """Yields a command on one line, or split before its options with line continuations of the shell."""
    shown = visible(command)
    if len(shown) <= LONGEST_COMMAND:
        yield line((shown, "dim"), indent=indent)
        return
    parts = _BEFORE_OPTION.split(shown)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        yield line((part + ("" if last else " \\"), "dim"), indent=indent + (2 if number else 0))
