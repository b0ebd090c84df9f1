"""A stretch of time in which a server looked bad to one host, and what is needed to find them."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from kafkascope_spark.broker_states.record import Moment

SECOND_NS = 1_000_000_000
SOON_NS = 1_500_000_000
"""What happens within so much of each other belongs together."""


@dataclass(slots=True)
class Stretch:
    """A stretch of one state. end: None where it lasts to the end of the capture; resumed: its end is a packet of the
    server, so it is known how the server looked afterwards; layers: of a silent one, those of the waits that show
    it."""

    host: str
    state: str
    begin: Moment
    end: Moment | None
    resumed: bool
    n_waiting: int
    moments: list[Moment] = field(default_factory=list)
    requests: list[tuple[int, str]] = field(default_factory=list)
    layers: set[str] = field(default_factory=set)

    def join(self, other: "Stretch") -> None:
        """Goes on with a later stretch of the same state."""
        self.end, self.resumed = other.end, other.resumed
        self.n_waiting = max(self.n_waiting, other.n_waiting)
        self.moments += other.moments
        self.requests += other.requests
        self.layers |= other.layers


class Stretches:
    """Stretches in order of when they begin, which say at once whether one of them is at a time."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        ordered = sorted(stretches, key=lambda each: each.begin)
        self._begins = [each.begin.ts_ns for each in ordered]
        ends = (math.inf if each.end is None else each.end.ts_ns for each in ordered)
        self._latest_ends = list(accumulate(ends, max))

    def cover(self, ts_ns: int) -> bool:
        """Whether a time is in a stretch."""
        at = bisect_right(self._begins, ts_ns)
        return at > 0 and self._latest_ends[at - 1] >= ts_ns

    def overlap(self, from_ns: int, to_ns: int) -> bool:
        """Whether a stretch and a time have something in common."""
        at = bisect_left(self._begins, to_ns)
        return at > 0 and self._latest_ends[at - 1] > from_ns


def by_host(stretches: Iterable[Stretch]) -> dict[str, list[Stretch]]:
    """The stretches of each host, in the order in which they came; of other hosts none."""
    hosts: dict[str, list[Stretch]] = defaultdict(list)
    for each in stretches:
        hosts[each.host].append(each)
    return hosts


def stretches_by_host(stretches: Iterable[Stretch]) -> dict[str, Stretches]:
    """The same, to be asked for times."""
    hosts = {host: Stretches(mine) for host, mine in by_host(stretches).items()}
    return defaultdict(lambda: Stretches([]), hosts)


def patience_ns(first_ns: int, last_ns: int) -> int:
    """How long after its last attempt a host that tried from first to last may still be waiting: TCP and clients double
    the time between attempts."""
    return max(3 * SECOND_NS, 3 * (last_ns - first_ns))
