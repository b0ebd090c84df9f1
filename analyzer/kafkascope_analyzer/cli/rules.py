"""`kafkascope rules`: what the findings' rules look for, and what each means. Starts no Spark."""

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_spark.stories.findings.rule import Rule

Name = Annotated[
    str | None,
    typer.Argument(metavar="[RULE]", help="A rule by name: all of its page.", show_default=False),
]


def rules(rule: Name = None) -> None:
    """Print the rules behind the findings: name, severity, title; of one rule its page."""
    with exit_codes():
        from kafkascope_spark.stories.findings.registry import RULES

        if rule is not None:
            print("\n".join(rule_text(_named(rule, RULES))))
            return
        from kafkascope_analyzer.report.terminal.page import write_aligned

        write_aligned(rule_table(RULES), sys.stdout)


def rule_table(known: "tuple[Rule, ...]") -> list[tuple[str, str, str]]:
    """Head and one row a rule: name, severity, title."""
    return [("rule", "severity", "what it finds"), *((rule.name, rule.severity, rule.title) for rule in known)]


def rule_text(rule: "Rule") -> list[str]:
    """The page of a rule, wrapped for a terminal."""
    from kafkascope_spark.stories.findings.pages import page_parts

    width = min(100, max(40, shutil.get_terminal_size().columns))
    out = [f"{rule.name} ({rule.severity}): {rule.title}"]
    for title, text in page_parts(rule):
        out += [
            "",
            title,
            *textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False),
        ]
    return out


def _named(name: str, known: "tuple[Rule, ...]") -> "Rule":
    for rule in known:
        if rule.name == name:
            return rule
    names = [rule.name for rule in known]
    raise UsageError(f"no rule is called {name}{did_you_mean(name, names)}; kafkascope rules lists them")
