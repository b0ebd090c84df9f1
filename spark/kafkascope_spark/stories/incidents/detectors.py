"""`Detectors`: runs each detector of incidents so that a defect of one does not end the others."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.incidents.failures.failure import Failure

R = TypeVar("R")
T = TypeVar("T")
INCIDENT_DETECTOR = "incident detector"
"""The kind of failed parts."""


class Detectors:
    """Runs detectors, and records those that raise an error as failed parts."""

    def __init__(self, failed_parts: FailedParts) -> None:
        self.failed_parts = failed_parts
        self.is_complete = True
        """Whether no detector has failed. Only then are stalls without an explanation reported as unexplained."""

    def found(self, detector: str, find: Callable[[], Iterable[Failure]]) -> list[Failure]:
        """Returns the failures that a detector finds; none if it raises an error."""
        found: list[Failure] = []
        self.do(detector, lambda: found.extend(find()))
        return found

    def left(
        self,
        attribute: Callable[[list[R], T], list[R]],
        rows: list[R],
        failures: list[Failure],
        index: Callable[[list[Failure]], T],
    ) -> list[R]:
        """Attributes rows to failures and returns those that belong to none. If that raises an error, it is repeated
        row by row, and a row that raises one is dropped. index: makes the index of failures that attribute needs; it is
        made once."""
        if not rows:
            return []
        left: list[R] = []
        known: list[T] = []
        if not self.do("what belongs to them", lambda: known.append(index(failures))):
            return []

        def take(some: list[R]) -> None:
            left.extend(attribute(some, known[0]))

        if not self.do("what belongs to them", partial(take, rows)):
            belonging = {id(row) for failure in failures for row in (*failure.stalls, *failure.recoveries)}
            for row in rows:
                if id(row) not in belonging:
                    self.do("what belongs to them", partial(take, [row]))
        return left

    def do(self, detector: str, step: Callable[[], None]) -> bool:
        """Runs a step. Returns whether it raised no error."""
        with self.failed_parts.part(INCIDENT_DETECTOR, detector) as part:
            step()
        self.is_complete &= not part.has_failed
        return not part.has_failed
