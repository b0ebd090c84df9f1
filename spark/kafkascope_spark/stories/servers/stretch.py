"""`Stretch`: a time in which a host saw a server in a bad state, and functions to find stretches."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.table import StateName

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
_RARE = 0.01
"""Least probability of a pause between signs that still counts as possible before the first and after the last sign."""
_LONGEST_PAUSE_NS = 10 * SECOND_NS
"""Upper limit of the possible pause: for longer, nobody may have sent anything."""
SOON_NS = 1_500_000_000
"""Events within this time of each other belong together."""


@dataclass(slots=True)
class Stretch:
    """A stretch of one state. end: None if it lasts to the end of the capture; resumed: whether its end is a packet of
    the server, so that the state afterwards is known. For a silent stretch, layers: layers of the waits that show it;
    lost_bytes: payload of the shortest lost packet, if only long packets are known to be lost; is_to_all: whether the
    server's process sent nothing to any host. For a slow one, times_usual: ratio to the usual time. For a delayed one,
    late_ms: median time of acknowledgments. unread_ns: how long the server's receive window was closed; last_shown_ns:
    last time that shows it, if that is none of the moments; lead_ns, lag_ns: how long before its begin and after its
    end the state may have begun and ended, if these are not packets of other states."""

    host: str
    state: StateName
    begin: Moment
    end: Moment | None
    resumed: bool
    n_waiting: int
    moments: list[Moment] = field(default_factory=list)
    requests: list[tuple[int, str]] = field(default_factory=list)
    layers: set[str] = field(default_factory=set)
    times_usual: int | None = None
    late_ms: int | None = None
    lost_bytes: int | None = None
    unread_ns: int = 0
    is_to_all: bool = False
    last_shown_ns: int | None = None
    lead_ns: int = 0
    lag_ns: int = 0

    @property
    def goes_back(self) -> bool:
        """Whether it ends before it begins, because the capture's clock was set back."""
        return self.end is not None and self.end.ts_ns < self.begin.ts_ns

    def join(self, other: "Stretch") -> None:
        """Extends it by a later stretch of the same state."""
        self.end, self.resumed = other.end, other.resumed
        self.n_waiting = max(self.n_waiting, other.n_waiting)
        self.moments += other.moments
        self.requests += other.requests
        self.layers |= other.layers
        self.unread_ns = max(self.unread_ns, other.unread_ns)
        self.late_ms = max((ms for ms in (self.late_ms, other.late_ms) if ms is not None), default=None)
        self.lag_ns, self.last_shown_ns = other.lag_ns, other.last_shown_ns


def times_of(stretches: Iterable[Stretch]) -> Stretches[Stretch]:
    """Returns an index of the stretches by time."""
    return Stretches((each.begin.ts_ns, FOREVER if each.end is None else each.end.ts_ns, each) for each in stretches)


def by_host(stretches: Iterable[Stretch]) -> dict[str, list[Stretch]]:
    """Returns the stretches of each host, in their order; a missing host has none."""
    hosts: dict[str, list[Stretch]] = defaultdict(list)
    for each in stretches:
        hosts[each.host].append(each)
    return hosts


def stretches_by_host(stretches: Iterable[Stretch]) -> dict[str, Stretches[Stretch]]:
    """Returns an index of the stretches by time for each host; a missing host has an empty one."""
    hosts = {host: times_of(mine) for host, mine in by_host(stretches).items()}
    return defaultdict(lambda: times_of([]), hosts)


def without(stretches: Iterable[Stretch], explaining: Iterable[Stretch]) -> Iterator[Stretch]:
    """Yields the stretches that do not overlap stretches of the same host in `explaining`."""
    explained = stretches_by_host(explaining)
    for stretch in stretches:
        until = stretch.begin.ts_ns if stretch.end is None else stretch.end.ts_ns
        if not explained[stretch.host].overlap(stretch.begin.ts_ns, max(until, stretch.begin.ts_ns + 1)):
            yield stretch


def possible_pause_ns(n: int, lasted_ns: int) -> int:
    """Returns how long a state may have lasted before the first and after the last of n signs of it. If signs come at
    random, with n - 1 pauses between them in a time T, the next pause is longer than x with the probability (1 + x / T)
    ** (1 - n), as the rate is estimated from the same signs."""
    factor = _RARE ** (-1 / (n - 1)) - 1
    return min(int(factor * lasted_ns), _LONGEST_PAUSE_NS)


def earlier_attempt_ns(asked_ns: int, last_ns: int) -> int:
    """Returns a lower limit for the time of TCP's last but one attempt. TCP doubles the time between attempts (RFC
    6298, 5.5): if the first comes r after the packet, the others come 3 r, 7 r ... after it, so the last but one came
    half of r before the middle of the whole time. r is a second at most, except for round trips of that length."""
    return asked_ns + max(last_ns - asked_ns - SECOND_NS, 0) // 2


def patience_ns(first_ns: int, last_ns: int) -> int:
    """Returns how long after its last attempt a host may still be waiting: TCP and clients double the time between
    attempts."""
    return max(3 * SECOND_NS, 3 * (last_ns - first_ns))
