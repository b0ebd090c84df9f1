"""A stretch of time in which a server looked bad to one host, and what is needed to find them."""

from dataclasses import dataclass, field

from kafkascope_spark.broker_states.record import Moment

SECOND_NS = 1_000_000_000
SOON_NS = 1_500_000_000
"""What happens within so much of each other belongs together."""


@dataclass(slots=True)
class Stretch:
    """A stretch of one state. end: None where it lasts to the end of the capture; resumed: its end is a packet of the
    server, so it is known how the server looked afterwards."""

    host: str
    state: str
    begin: Moment
    end: Moment | None
    resumed: bool
    n_waiting: int
    moments: list[Moment] = field(default_factory=list)
    requests: list[tuple[int, str]] = field(default_factory=list)

    def join(self, other: "Stretch") -> None:
        """Goes on with a later stretch of the same state."""
        self.end, self.resumed = other.end, other.resumed
        self.n_waiting = max(self.n_waiting, other.n_waiting)
        self.moments += other.moments
        self.requests += other.requests

    def covers(self, ts_ns: int) -> bool:
        """Whether a time is in the stretch."""
        return self.begin.ts_ns <= ts_ns and (self.end is None or ts_ns <= self.end.ts_ns)

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        """Whether the stretch and a time have something in common."""
        return self.begin.ts_ns < to_ns and (self.end is None or self.end.ts_ns > from_ns)


def patience_ns(first_ns: int, last_ns: int) -> int:
    """How long after its last attempt a host that tried from first to last may still be waiting: TCP and clients double
    the time between attempts."""
    return max(3 * SECOND_NS, 3 * (last_ns - first_ns))
