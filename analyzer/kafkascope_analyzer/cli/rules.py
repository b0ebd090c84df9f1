"""`kafkascope rules`: prints the rules behind findings and the kinds of incidents, with their meaning.
Starts no Spark."""

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
    from kafkascope_spark.stories.incidents.failures.failure import Kind

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="A rule or a kind of incident, by name: print its whole page.", show_default=False
    ),
]


def rules(name: Name = None) -> None:
    """Print the rules behind the findings, and the kinds of incidents; for one of them its page."""
    with exit_codes():
        from kafkascope_spark.stories.findings.registry import RULES
        from kafkascope_spark.stories.incidents.kinds import KINDS

        if name is not None:
            print("\n\n".join(_pages(name, RULES, KINDS)))
            return
        from kafkascope_analyzer.report.terminal.page import write_aligned

        write_aligned(rule_table(RULES), sys.stdout)
        print()
        write_aligned(kind_table(KINDS), sys.stdout)


def rule_table(known: "tuple[Rule, ...]") -> list[tuple[str, str, str]]:
    """Returns the header and one row per rule: name, severity, title."""
    return [("rule", "severity", "what it finds"), *((rule.name, rule.severity, rule.title) for rule in known)]


def kind_table(known: "tuple[Kind, ...]") -> list[tuple[str, str]]:
    """Returns the header and one row per kind of incident: name, and its words in reports."""
    return [("kind of incident", "what reports call it"), *((kind.name, kind.words) for kind in known)]


def rule_text(rule: "Rule") -> str:
    """Returns the page of a rule, wrapped for a terminal."""
    from kafkascope_spark.stories.findings.pages import page_parts

    return "\n".join([f"{rule.name} ({rule.severity}): {rule.title}", *map(_section, page_parts(rule))])


def kind_text(kind: "Kind") -> str:
    """Returns the page of a kind of incident, wrapped for a terminal."""
    from kafkascope_spark.stories.incidents.pages import kind_paragraphs, kind_parts

    paragraphs = [f"\n{_wrapped(paragraph)}" for paragraph in kind_paragraphs(kind)]
    return "\n".join([f"{kind.name} (incident): {kind.words}", *paragraphs, *map(_section, kind_parts(kind))])


def _section(part: tuple[str, str]) -> str:
    title, text = part
    return f"\n{title}\n{_wrapped(text)}"


def _wrapped(text: str) -> str:
    width = min(100, max(40, shutil.get_terminal_size().columns))
    return textwrap.fill(text, width - 2, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _pages(name: str, rules: "tuple[Rule, ...]", kinds: "tuple[Kind, ...]") -> list[str]:
    """Returns the pages of that name: a rule and a kind of incident may have the same name. Raises UsageError where
    there is none."""
    found = [rule_text(rule) for rule in rules if rule.name == name]
    found += [kind_text(kind) for kind in kinds if kind.name == name]
    if not found:
        names = sorted({*(rule.name for rule in rules), *(kind.name for kind in kinds)})
        raise UsageError(
            f"no rule and no kind of incident is called {name}{did_you_mean(name, names)}; kafkascope rules lists them"
        )
    return found
