"""Formats when something happened: after the capture's start and as time of day (UTC), and between which packets."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.formatting import clock, span, time_of_day


@dataclass(frozen=True, slots=True)
class Moment:
    """The time at which a fault began or ended, as far as packets show it."""

    after_ns: Annotated[
        int | None, "the last packet that shows that it had not happened yet; null where no packet shows that"
    ]
    by_ns: Annotated[int, "the first packet that shows that it had happened"]
    at: Annotated[str, "the time after the capture's start; `a - b` for a time between two packets"]
    of_day: Annotated[str, "that time as time of day (UTC)"]
    is_between: Annotated[bool, "whether the two packets are apart"]


def moment_of(after_ns: int | None, by_ns: int, start_ns: int) -> Moment:
    """Returns the moment between two packets. start_ns: the capture's start."""
    if after_ns is None or clock(after_ns - start_ns) == clock(by_ns - start_ns):
        return Moment(after_ns, by_ns, clock(by_ns - start_ns), time_of_day(by_ns), is_between=False)
    return Moment(
        after_ns,
        by_ns,
        f"{clock(after_ns - start_ns)} - {clock(by_ns - start_ns)}",
        f"{time_of_day(after_ns)} - {time_of_day(by_ns)}",
        is_between=True,
    )


def at_text(ns: int, start_ns: int) -> str:
    """Returns a time after the capture's start, and the time of day: `00:06.816 (12:20:00.671 UTC)`."""
    return f"{clock(ns - start_ns)} ({time_of_day(ns)} UTC)"


def from_to_text(first_ns: int, last_ns: int, start_ns: int, *, lasted: bool = False) -> str:
    """Returns from when to when: `00:06.816 to 00:35.900 (12:20:00.671 to 12:20:29.755 UTC)`. lasted: adds the
    duration. Two times with the same text are given once."""
    if clock(first_ns - start_ns) == clock(last_ns - start_ns):
        return at_text(first_ns, start_ns)
    times = f"{clock(first_ns - start_ns)} to {clock(last_ns - start_ns)}"
    how_long = f", {span((last_ns - first_ns) // 1000)}" if lasted else ""
    return f"{times} ({time_of_day(first_ns)} to {time_of_day(last_ns)} UTC{how_long})"
