"""`Failure`: something that failed, and what belongs to it. Each failure becomes an incident."""

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]

SECOND = 1_000_000_000
FOLLOWS_NS = 15 * SECOND
"""Longest time after which a failure that is over still makes somebody wait elsewhere: a session timeout or an
election."""
BROKER_KINDS = frozenset({"broker_down", "broker_silent", "broker_frozen", "broker_slow"})


@dataclass(slots=True, eq=False)
class Failure:
    """Something that failed.

    kind: one of INCIDENT_KINDS. node_id, server: the broker, where one failed. hosts: the hosts that it failed for,
    empty where it failed for everybody; of clients that stood still, their own. subject: what failed, in words.
    end_ns: when it worked again, None where the capture does not show that.
    """

    kind: str
    subject: str
    start_ns: int
    end_ns: int | None
    felt_until_ns: int | None = None
    """Of a broker: when it served the last of the hosts that it had not served."""
    node_id: int | None = None
    server: str | None = None
    hosts: frozenset[str] = frozenset()
    error_names: set[str] = field(default_factory=set)
    states: list[Row] = field(default_factory=list)
    """Rows of broker_states that show it."""
    stalls: list[Row] = field(default_factory=list)
    recoveries: list[Row] = field(default_factory=list)
    resources: set[str] = field(default_factory=set)
    """The resources of the recoveries: a failure may have as many recoveries as a fleet has clients."""
    client_instance_ids: set[str] = field(default_factory=set)
    """The clients of the recoveries."""
    rebalances: list[Row] = field(default_factory=list)
    silences: list[Row] = field(default_factory=list)
    """Of clients: rows that say when each sent nothing (silent_client)."""
    root: "Failure | None" = None
    """The failure that it followed from."""

    def take_recovery(self, recovery: Row) -> None:
        """Add a recovery that belongs to it."""
        self.recoveries.append(recovery)
        self.resources.add(recovery["resource"])
        self.client_instance_ids.add(recovery["client_instance_id"])

    @property
    def is_of_broker(self) -> bool:
        """Whether a broker failed for everybody."""
        return self.kind in BROKER_KINDS

    def overlap_ns(self, from_ns: int, to_ns: int | None) -> int:
        """How long a stretch of time has in common with the time in which it was felt; below 0 where it has
        nothing."""
        felt = self.end_ns if self.felt_until_ns is None or self.end_ns is None else self.felt_until_ns
        until = min(t for t in (felt, to_ns, FOREVER) if t is not None)
        return until - max(self.start_ns, from_ns)

    def reaches(self, client_ip: str | None) -> bool:
        """Whether it failed for the host."""
        return not self.hosts or client_ip in self.hosts


FOREVER = 1 << 62
"""Later than any time in nanoseconds."""
