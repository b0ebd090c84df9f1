"""`Times`: formats the times of a capture for sentences."""

from dataclasses import dataclass
from typing import Protocol

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_spark.stories.findings.wording import begin, duration, listed

_MOST_STRETCHES = 5
"""Largest number of durations that a sentence lists for a repeated failure."""


class Lasting(Protocol):
    """Something with a begin and perhaps an end. closed_ns: begin of the main part, if something preceded it;
    stretches: begin and end of each time, if there were several."""

    start_ns: int
    end_ns: int | None
    closed_ns: int | None
    stretches: tuple[tuple[int, int | None], ...]

    @property
    def shown_until_ns(self) -> int | None:
        """Time at which it was shown last, if that was before the end of the capture, and its end is not known."""


@dataclass(frozen=True, slots=True)
class Times:
    """Formats times relative to the start of the capture."""

    start_ns: int

    def at(self, ns: int) -> str:
        """Returns a time as mm:ss.mmm after the start of the capture."""
        return since_start(ns - self.start_ns)

    def with_time_of_day(self, ns: int) -> str:
        """Returns a time after the start of the capture, with the time of day."""
        return begin(ns, self.start_ns)

    def of(self, failure: Lasting) -> str:
        """Returns from when to when it lasted, with the time of day of its begin."""
        begin_ns = failure.start_ns if failure.closed_ns is None else failure.closed_ns
        since = f"from {begin(begin_ns, self.start_ns)}"
        if failure.stretches:
            until = "the end of the capture" if failure.end_ns is None else self.at(failure.end_ns)
            lasted = [duration(to_ns - from_ns) for from_ns, to_ns in failure.stretches if to_ns is not None]
            return f"{since} to {until}, {len(failure.stretches)} times ({listed(lasted, _MOST_STRETCHES)})"
        if failure.end_ns is None:
            shown_ns = failure.shown_until_ns
            if shown_ns is None:
                return f"{since} to the end of the capture"
            return f"{since} on (last error at {self.at(shown_ns)})"
        return f"{since} to {self.at(failure.end_ns)} ({duration(failure.end_ns - begin_ns)})"

    def between(self, after_ns: int | None, by_ns: int) -> str:
        """Returns the time of an event that happened after after_ns (None if unknown) and by by_ns."""
        if after_ns is None:
            return f"by {self.at(by_ns)}"
        if self.at(after_ns) == self.at(by_ns):
            return f"at {self.at(by_ns)}"
        return f"between {self.at(after_ns)} and {self.at(by_ns)}"
