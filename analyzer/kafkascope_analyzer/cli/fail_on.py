"""Exit codes that depend on the results: `--fail-on`, `--ignore`, and captures without Kafka."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.exits import FOUND, NO_KAFKA, PART_FAILED, CommandEnd
from kafkascope_analyzer.cli.options import Severity
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.failed_parts import FailedParts
    from kafkascope_analyzer.report.model.clusters import ClusterReports
    from kafkascope_analyzer.report.model.incidents.model import Headline
    from kafkascope_analyzer.report.model.report import Report
    from kafkascope_analyzer.report.model.traffic import Traffic

_ORDER = tuple(Severity)
MOST_NAMED = 3
"""Most captures that a sentence names."""


def known_rules(names: Sequence[str] | None) -> frozenset[str]:
    """Returns the named rules, all of which must exist. Raises UsageError, with similar names, for one that
    does not."""
    if not names:
        return frozenset()
    from kafkascope_spark.stories.findings.registry import RULES

    known = [rule.name for rule in RULES]
    for name in names:
        if name not in known:
            raise UsageError(f"--ignore {name}: no such rule{did_you_mean(name, known)}; kafkascope rules lists them")
    return frozenset(names)


def end_if_found(dataset: "Dataset", model: "Report | ClusterReports", fail_on: Severity | None) -> None:
    """Ends the command with exit code 1 where something of that severity or worse counts towards the verdict of the
    dataset's report; does nothing without fail_on. Raises UsageError where the dataset has no stories."""
    from kafkascope_analyzer.dataset.table_rows import has_table
    from kafkascope_spark.stories.tables import FINDINGS

    if fail_on is None:
        return
    if not has_table(dataset, FINDINGS):
        raise UsageError(
            f"--fail-on needs the table stories/{FINDINGS.name}, and {dataset} has none; kafkascope stories {dataset} "
            "makes the stories"
        )
    from kafkascope_analyzer.report.model.clusters import each_report

    found = sum((Counter(n_found(report.headline, fail_on)) for report in each_report(model)), Counter[str]())
    if found:
        named = ", ".join(f"{n:,} {kind}{'' if n == 1 else 's'}" for kind, n in found.items())
        raise CommandEnd(f"{named} at {fail_on.value} or worse", FOUND)


def n_found(headline: "Headline", severity: Severity) -> dict[str, int]:
    """Returns how many things of each kind count towards the verdict at the severity or worse."""
    counted = [one.value for one in _ORDER[_ORDER.index(severity) :]]
    found: Counter[str] = Counter()
    for each in headline.judged:
        if each.severity in counted:
            found[each.kind] += each.n
    return dict(found)


def end_if_incomplete(model: "Traffic | ClusterReports", not_shown: "FailedParts | None" = None) -> None:
    """Ends the command with exit code 4 where a part of the analysis failed because of a defect, and prints which, and
    that the rest is valid. not_shown: parts that could not be shown, or written as files."""
    from kafkascope_analyzer.report.model.failed_sections import failed_rows

    failed = [*model.failed_parts, *failed_rows(not_shown.taken() if not_shown is not None else ())]
    if failed:
        more = f" (and {len(failed) - 1:,} more, failed_parts in report.json)" if len(failed) > 1 else ""
        raise CommandEnd(
            f"{failed[0].sentence}{more}; the rest of the report stands. Please report this with failed_parts of "
            "report.json",
            PART_FAILED,
        )


def end_without_kafka(dataset: "Dataset") -> None:
    """Ends the command with exit code 5, and prints why, where no Kafka was read from the capture."""
    from kafkascope_analyzer.report.model.incidents.preconditions import why_no_kafka

    why = why_no_kafka(dataset)
    if why is not None:
        names = ", ".join(entry["path"] for entry in dataset.manifest.inputs[:MOST_NAMED])
        raise CommandEnd(f"{names}: {why}", NO_KAFKA)
