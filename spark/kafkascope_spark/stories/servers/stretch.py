"""A stretch of time in which a server looked bad to one host, and what is needed to find them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.servers.moments import Moment
from kafkascope_spark.stories.servers.table import StateName

SECOND_NS = 1_000_000_000
_RARE = 0.01
"""How probable a pause between signs may be at least that is still possible before the first and after the last."""
_LONGEST_PAUSE_NS = 10 * SECOND_NS
"""Longer pauses say nothing: so long nobody may have sent anything."""
SOON_NS = 1_500_000_000
"""What happens within so much of each other belongs together."""


@dataclass(slots=True)
class Stretch:
    """A stretch of one state. end: None where it lasts to the end of the capture; resumed: its end is a packet of the
    server, so it is known how the server looked afterwards; layers: of a silent one, those of the waits that show
    it; times_usual: of a slow one, how many times as long as usual things took; late_ms: of a delayed one, how long the
    middle acknowledgment took; lost_bytes: of a silent one in which only long packets are known to be lost, the payload
    of the shortest; unread_ns: for how long the server's receive window was closed; is_to_all: of a silent one, whether
    the server's process sent nothing to anybody meanwhile; last_shown_ns: the last time that shows it, where that is
    none of the moments; lead_ns, lag_ns: how long before its begin and after its end the state may have begun and
    ended, where these are not packets of other states."""

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
        """Whether it ends before it begins: the capture's clock was set back meanwhile."""
        return self.end is not None and self.end.ts_ns < self.begin.ts_ns

    def join(self, other: "Stretch") -> None:
        """Goes on with a later stretch of the same state."""
        self.end, self.resumed = other.end, other.resumed
        self.n_waiting = max(self.n_waiting, other.n_waiting)
        self.moments += other.moments
        self.requests += other.requests
        self.layers |= other.layers
        self.unread_ns = max(self.unread_ns, other.unread_ns)
        self.late_ms = max((ms for ms in (self.late_ms, other.late_ms) if ms is not None), default=None)
        self.lag_ns, self.last_shown_ns = other.lag_ns, other.last_shown_ns


def times_of(stretches: Iterable[Stretch]) -> Stretches[Stretch]:
    """The stretches, to be asked for times."""
    return Stretches((each.begin.ts_ns, FOREVER if each.end is None else each.end.ts_ns, each) for each in stretches)


def by_host(stretches: Iterable[Stretch]) -> dict[str, list[Stretch]]:
    """The stretches of each host, in the order in which they came; of other hosts none."""
    hosts: dict[str, list[Stretch]] = defaultdict(list)
    for each in stretches:
        hosts[each.host].append(each)
    return hosts


def stretches_by_host(stretches: Iterable[Stretch]) -> dict[str, Stretches[Stretch]]:
    """The same, to be asked for times."""
    hosts = {host: times_of(mine) for host, mine in by_host(stretches).items()}
    return defaultdict(lambda: times_of([]), hosts)


def without(stretches: Iterable[Stretch], explaining: Iterable[Stretch]) -> Iterator[Stretch]:
    """The stretches that have no time in common with those of the same host that explain more."""
    explained = stretches_by_host(explaining)
    for stretch in stretches:
        until = stretch.begin.ts_ns if stretch.end is None else stretch.end.ts_ns
        if not explained[stretch.host].overlap(stretch.begin.ts_ns, max(until, stretch.begin.ts_ns + 1)):
            yield stretch


def possible_pause_ns(n: int, lasted_ns: int) -> int:
    """How long a state may have lasted before the first and after the last of n signs of it. Where signs come at
    random, with n - 1 pauses between them in a time T, the next pause is longer than x with the probability
    (1 + x / T) ** (1 - n): the rate itself is only known from these."""
    factor = _RARE ** (-1 / (n - 1)) - 1
    return min(int(factor * lasted_ns), _LONGEST_PAUSE_NS)


def earlier_attempt_ns(asked_ns: int, last_ns: int) -> int:
    """When the last attempt but one of TCP came, at least. It doubles the time between its attempts (RFC 6298, 5.5):
    where the first comes r after the packet, the others come 3 r, 7 r ... after it, so that the last but one came half
    of r before the middle of all. r is a second at most, but for round trips of that length."""
    return asked_ns + max(last_ns - asked_ns - SECOND_NS, 0) // 2


def patience_ns(first_ns: int, last_ns: int) -> int:
    """How long after its last attempt a host that tried from first to last may still be waiting: TCP and clients double
    the time between attempts."""
    return max(3 * SECOND_NS, 3 * (last_ns - first_ns))
