"""Findings on a terminal: what is wrong, what to do about it, and the proof."""

import re
from collections.abc import Iterator

from rich.console import RenderableType

from kafkascope_analyzer.report.formatting import safe, sentence, visible
from kafkascope_analyzer.report.model.findings import WORST_FIRST, Finding
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.terminal.layout import heading, labelled, line, more

MOST_FINDINGS = 20
LONGEST_COMMAND = 70
"""Characters of a command on one line; a longer one has each option on a line of its own, as a shell reads it."""
STYLE = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
INDENT = max(map(len, WORST_FIRST)) + 2


def render_findings(model: Report) -> Iterator[RenderableType]:
    """Findings that belong to no incident, the gravest first; one line where there are none."""
    found = model.findings
    if not found.present:
        return
    alone, n_alone, under = found.standing_alone, found.n_alone, found.n_under_incidents
    if not n_alone:
        if not under:
            yield heading("Findings (0)")
            yield line("no rule found fault with anything")
        return
    yield heading(f"{'Other findings' if under else 'Findings'} ({n_alone:,})")
    for number, row in enumerate(alone[:MOST_FINDINGS]):
        if number:
            yield line("")
        yield from finding_lines(row)
    yield from more(n_alone - min(MOST_FINDINGS, len(alone)), "finding", "table stories/findings")
    yield line(("what a rule looks at: kafkascope rules NAME", "dim"))


def finding_lines(row: Finding, indent: int = 0) -> Iterator[RenderableType]:
    """A finding: rule and time, sentence, advice, packets, the command that cuts them out."""
    severity = row.severity
    inner = indent + INDENT
    label = severity, STYLE.get(severity, "bold")
    yield labelled(label, INDENT, (safe(row.rule), "bold"), f" · {row.when}", indent=indent)
    yield line(sentence(row.sentence), indent=inner)
    if row.advice:
        yield line(("do: ", "bold"), sentence(row.advice), indent=inner)
    if row.packets:
        yield line((row.packets, "dim"), indent=inner)
    yield from command_lines(row.cut, inner)


_BEFORE_OPTION = re.compile(r" (?=--|-[a-z] )")


def command_lines(command: str, indent: int = INDENT) -> Iterator[RenderableType]:
    """A command on one line, or cut before its options, where a shell lets a line go on."""
    shown = visible(command)
    if len(shown) <= LONGEST_COMMAND:
        yield line((shown, "dim"), indent=indent)
        return
    parts = _BEFORE_OPTION.split(shown)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        yield line((part + ("" if last else " \\"), "dim"), indent=indent + (2 if number else 0))
