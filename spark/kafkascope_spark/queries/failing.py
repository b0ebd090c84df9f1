"""Finds the detectors that fail, if their queries cannot all run together: each is run alone, which is rare and
slow."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_parsers.errors import SparkError
from kafkascope_spark.stories.findings.file_reads import FileReads
from kafkascope_spark.stories.findings.preconditions import Preconditions
from kafkascope_spark.stories.findings.rule import Detector, Rule
from kafkascope_spark.task_reports import TaskReport, reports_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

RULE = "rule"
"""Kind of failed part for rules."""
Detectors = Mapping[str, tuple[Rule, Detector]]
"""Key -> a detector and its rule."""


def satisfied_detectors(
    dataset: Dataset, detectors: Detectors, failed_parts: FailedParts, file_reads: FileReads | None = None
) -> dict[str, bool]:
    """Returns whether the dataset satisfies the precondition of each detector; False if reading for it raises an error.
    file_reads: see Preconditions."""
    together, preconditions = FailedParts(), Preconditions(dataset, file_reads=file_reads)
    every = [detector for _, detector in detectors.values()]
    found = together.value(RULE, "preconditions", None, lambda: preconditions.satisfied(every))
    if found is None:
        alone = FailedParts()
        found = [alone.value(RULE, rule.name, False, _satisfied(dataset, one)) for rule, one in detectors.values()]
        for part in alone.taken() or together.taken():
            failed_parts.record(part)
    return dict(zip(detectors, found, strict=True))


def _satisfied(dataset: Dataset, detector: Detector) -> "Callable[[], bool]":
    return lambda: Preconditions(dataset).satisfied([detector])[0]


def reports_of_working(
    detectors: Detectors, frame_of: "Callable[[Detectors], DataFrame]", failed_parts: FailedParts
) -> list[TaskReport]:
    """Returns the reports of the frame over all detectors, or over those that do not fail. Raises Spark's error if it
    is not one of a query, or if no detector fails alone."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        with _system_failures():
            return _reports(frame_of(detectors))
    except (PySparkException, Py4JJavaError):
        working = {key: one for key, one in detectors.items() if not _fails(key, one, frame_of, failed_parts)}
        if len(working) == len(detectors):
            raise
    return _reports(frame_of(working)) if working else []


def _fails(
    key: str, one: tuple[Rule, Detector], frame_of: "Callable[[Detectors], DataFrame]", failed_parts: FailedParts
) -> bool:
    """Whether the detector's query fails when it runs alone."""
    part = failed_parts.part(RULE, one[0].name)
    with part, _system_failures():
        _reports(frame_of({key: one}))
    return part.has_failed


def _reports(frame: "DataFrame") -> list[TaskReport]:
    return reports_of(frame.toArrow())


@contextmanager
def _system_failures() -> Iterator[None]:
    """Raises SparkError if Spark fails for another reason than the query: no memory, a full disk, a lost JVM."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from kafkascope_spark.failures import failure_sentence, is_of_system

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if is_of_system(error):
            raise SparkError(f"Spark failed: {failure_sentence(error)}") from error
        raise
