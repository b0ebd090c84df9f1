"""What was found decides how a command ends: `--fail-on`, `--ignore`, and captures without Kafka."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.exits import FOUND, NO_KAFKA, CommandEnd
from kafkascope_analyzer.cli.messages import closest
from kafkascope_analyzer.cli.options import Severity
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset

_ORDER = tuple(Severity)
MOST_NAMED = 3
"""Captures that a sentence names."""


def known_rules(names: Sequence[str] | None) -> frozenset[str]:
    """The rules named, all of which there are. Raises UsageError with the closest name for one that there is not."""
    if not names:
        return frozenset()
    from kafkascope_spark.findings.rules import RULES

    known = [rule.name for rule in RULES]
    for name in names:
        if name not in known:
            raise UsageError(f"--ignore {name}: no such rule{closest(name, known)}; kafkascope rules lists them")
    return frozenset(names)


def end_if_found(dataset: "Dataset", fail_on: Severity | None) -> None:
    """Ends the command with exit code 1 where the dataset has a finding of that severity or worse; does nothing without
    fail_on."""
    if fail_on is None:
        return
    n = n_found(dataset, fail_on)
    if n:
        raise CommandEnd(f"{n} finding{'' if n == 1 else 's'} at {fail_on.value} or worse", FOUND)


def end_without_kafka(dataset: "Dataset") -> None:
    """Ends the command with exit code 5, and says why, where no Kafka was read from the capture."""
    from kafkascope_analyzer.report.model.incidents.preconditions import why_no_kafka

    why = why_no_kafka(dataset)
    if why is not None:
        names = ", ".join(entry["path"] for entry in dataset.manifest.inputs[:MOST_NAMED])
        raise CommandEnd(f"{names}: {why}", NO_KAFKA)


def n_found(dataset: "Dataset", severity: Severity) -> int:
    """Findings of the severity or worse. Raises UsageError where the dataset has no findings to look at."""
    import pyarrow.dataset as ds

    from kafkascope_analyzer.dataset.stories import FINDINGS
    from kafkascope_analyzer.dataset.table_rows import has_table, rows

    if not has_table(dataset, FINDINGS):
        raise UsageError(
            f"--fail-on needs the table stories/{FINDINGS.name}, and {dataset} has none; kafkascope stories {dataset} "
            "makes the stories"
        )
    severities = [one.value for one in _ORDER[_ORDER.index(severity) :]]
    return sum(1 for _ in rows(dataset, FINDINGS, ["rule"], ds.field("severity").isin(severities)))
