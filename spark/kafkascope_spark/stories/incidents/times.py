"""`Times`: writes the times of a capture in sentences."""

from dataclasses import dataclass
from typing import Protocol

from kafkascope_analyzer.dataset.capture_time import since_start
from kafkascope_spark.stories.findings.wording import begin, duration, listed

_MOST_STRETCHES = 5
"""So many times of a failure that came again a sentence names."""


class Lasting(Protocol):
    """What began, and may be over. closed_ns: when its main part began, where something led up to that; stretches: from
    when to when it lasted each time, where that was several times."""

    start_ns: int
    end_ns: int | None
    closed_ns: int | None
    stretches: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class Times:
    """Writes times as counted from the start of the capture."""

    start_ns: int

    def at(self, ns: int) -> str:
        """A time as mm:ss.mmm after the capture's start."""
        return since_start(ns - self.start_ns)

    def with_time_of_day(self, ns: int) -> str:
        """A time after the capture's start, with the time of day."""
        return begin(ns, self.start_ns)

    def of(self, failure: Lasting) -> str:
        """From when to when it failed, with the time of day at which it began."""
        begin_ns = failure.start_ns if failure.closed_ns is None else failure.closed_ns
        since = f"from {begin(begin_ns, self.start_ns)}"
        if failure.stretches:
            until = "the end of the capture" if failure.end_ns is None else self.at(failure.end_ns)
            lasted = [duration(to_ns - from_ns) for from_ns, to_ns in failure.stretches if to_ns is not None]
            return f"{since} to {until}, {len(failure.stretches)} times ({listed(lasted, _MOST_STRETCHES)})"
        if failure.end_ns is None:
            return f"{since} to the end of the capture"
        return f"{since} to {self.at(failure.end_ns)} ({duration(failure.end_ns - begin_ns)})"

    def between(self, after_ns: int | None, by_ns: int) -> str:
        """When something happened that two packets enclose: after one, and by the other; the first may be unknown."""
        if after_ns is None:
            return f"by {self.at(by_ns)}"
        if self.at(after_ns) == self.at(by_ns):
            return f"at {self.at(by_ns)}"
        return f"between {self.at(after_ns)} and {self.at(by_ns)}"
