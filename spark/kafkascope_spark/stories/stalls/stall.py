"""Makes rows of the table `stalls` from waits."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_spark.stories.stalls.table import Stall, StallKind

JOIN_NS = 500_000_000
"""Waits of one subject that are less than this apart are one wait. Waits that are too short to be stalls are not
joined: a subject that is served after each of them is served."""
MOST_EVIDENCE = 32
_OF_RECORDS = frozenset({"produce", "consume"})
"""Kinds of stalls whose service goes on record by record."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in which a subject was not served. to_ns: None if it was not served again by the end of the capture.
    requests: (time, request id) that prove it; n_attempts: None if they are not counted; progress_ns: for a wait for
    records, when some were last received; unasked_ns: how long of it no Fetch was in flight for them, FOREVER for all
    of it; longest_ns: the longest of several overlapping waits, None for a single wait; served: False if the client
    gave up or ended at to_ns, None if the capture does not show the time from then on, or whether it was served then.
    n_late, n_failed: records that were late or failed."""

    from_ns: int
    to_ns: int | None
    client_instance_id: str | None = None
    node_id: int | None = None
    n_attempts: int | None = None
    error_names: frozenset[str] = frozenset()
    requests: tuple[tuple[int, str], ...] = ()
    progress_ns: int | None = None
    longest_ns: int | None = None
    served: bool | None = True
    n_late: int = 0
    n_failed: int = 0
    unasked_ns: int = 0

    def lasted_ns(self, end_ns: int) -> int:
        """Returns the length of the wait, or of the longest of several. end_ns: end of the capture."""
        lasted = (self.to_ns or end_ns) - self.from_ns
        return lasted if self.longest_ns is None else min(lasted, self.longest_ns)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a wait: a client or group, and its topic-partition or other service."""

    kind: StallKind
    owner: str
    """Client instance or group."""
    group_id: str | None = None
    transactional_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    claimed: bool = False
    """Whether the wait is guessed from the lengths of TLS records."""


class NamedClient(Protocol):
    """A client that waited."""

    @property
    def client_id(self) -> str | None:
        """Client id of the client."""

    @property
    def client_ip(self) -> str:
        """IP address of the client."""


@dataclass(slots=True)
class JoinedWaits:
    """Waits that count as one, the earliest first."""

    waits: list[Wait] = field(default_factory=list)
    to_ns: int | None = 0

    @property
    def from_ns(self) -> int:
        """Begin of the first wait."""
        return self.waits[0].from_ns

    def waited_ms(self, end_ns: int) -> int:
        """Returns the length of the whole. end_ns: end of the capture."""
        return ((end_ns if self.to_ns is None else self.to_ns) - self.from_ns) // 1_000_000

    def unserved_ms(self, end_ns: int) -> int:
        """Returns the length of the longest wait: a subject that waits again after each service was served, only late.
        A wait that ended without service counts until the next wait that ended with service, or the end of all. end_ns:
        end of the capture."""
        until = end_ns if self.to_ns is None else self.to_ns
        services = sorted(wait.to_ns for wait in self.waits if wait.served and wait.to_ns is not None)

        def lasted_ns(wait: Wait) -> int:
            if wait.served or wait.to_ns is None:
                return wait.lasted_ns(end_ns)
            following = bisect_left(services, wait.to_ns)
            return (services[following] if following < len(services) else until) - wait.from_ns

        return max(map(lasted_ns, self.waits)) // 1_000_000

    @property
    def served(self) -> bool | None:
        """Whether the subject was served at the end of the last wait; None if one still waits or it is not known."""
        ends = {wait.served for wait in self.waits if wait.to_ns == self.to_ns}
        if self.to_ns is None or ends == {None}:
            return None
        return True in ends

    def take(self, wait: Wait) -> bool:
        """Adds a wait if it belongs to these. Returns whether it does."""
        if self.waits and self.to_ns is not None and wait.from_ns > self.to_ns + JOIN_NS:
            return False
        self.waits.append(wait)
        self.to_ns = None if self.to_ns is None or wait.to_ns is None else max(self.to_ns, wait.to_ns)
        return True

    def covers(self, wait: Wait) -> bool:
        """Whether the wait lies within the time of these."""
        is_over = self.to_ns is None or (wait.to_ns is not None and wait.to_ns <= self.to_ns)
        return is_over and self.from_ns <= wait.from_ns


def join_waits(waits: Iterable[Wait], end_ns: int, least_ns: int = 0) -> list[JoinedWaits]:
    """Joins waits of one subject that are less than JOIN_NS apart. Waits shorter than least_ns are dropped unless they
    lie within a longer one. waits: in any order; end_ns: end of the capture."""
    joined = [JoinedWaits()]
    ordered = sorted(waits, key=lambda w: (w.from_ns, w.to_ns or end_ns, w.requests))
    for wait in (wait for wait in ordered if wait.lasted_ns(end_ns) >= least_ns):
        if not joined[-1].take(wait):
            joined.append(JoinedWaits())
            joined[-1].take(wait)
    found = [each for each in joined if each.waits]
    for wait in (wait for wait in ordered if wait.lasted_ns(end_ns) < least_ns):
        at = bisect_right(found, wait.from_ns, key=lambda each: each.from_ns) - 1
        if at >= 0 and found[at].covers(wait):
            found[at].waits.append(wait)
    return found


@dataclass(frozen=True, slots=True)
class StallLimits:
    """Limits from which on a wait is a stall. end_ns: end of the capture; least_ns: shortest stall; uncovered: times
    that no file covers, in which no wait is known."""

    end_ns: int
    least_ns: int
    uncovered: Uncovered = NOTHING_UNCOVERED

    def known(self, wait: Wait) -> Wait:
        """Returns the wait as far as the capture shows it: it is cut at the begin of an uncovered time, in which it may
        have ended."""
        ended_ns = self.uncovered.first_in(wait.from_ns, self.end_ns if wait.to_ns is None else wait.to_ns)
        return wait if ended_ns is None else replace(wait, to_ns=ended_ns, served=None)


def stalls_of(
    subject: Subject, waits: Iterable[Wait], clients: Mapping[str, NamedClient], limits: StallLimits
) -> list[Stall]:
    """Returns the stalls, without incident_id, from the waits of one subject, in any order. A client whose requests are
    all answered in time is served, no matter how many are in flight."""
    known = map(limits.known, waits)
    return [_stall(subject, each, clients, limits) for each in join_waits(known, limits.end_ns, limits.least_ns)]


def _stall(subject: Subject, joined: JoinedWaits, clients: Mapping[str, NamedClient], limits: StallLimits) -> Stall:
    waits = joined.waits
    counted = [wait.n_attempts for wait in waits if wait.n_attempts is not None]
    requests = sorted({request for wait in waits for request in wait.requests})
    identity = next((wait.client_instance_id for wait in waits if wait.client_instance_id), None)
    client = None if identity is None else clients.get(identity)
    return Stall(
        stall_id=_stall_id(subject, joined.from_ns),
        kind=subject.kind,
        client_instance_id=identity,
        client_ip=None if client is None else client.client_ip,
        client_id=None if client is None else client.client_id,
        group_id=subject.group_id,
        transactional_id=subject.transactional_id,
        topic=subject.topic,
        partition=subject.partition,
        node_id=next((wait.node_id for wait in waits if wait.node_id is not None), None),
        from_ns=joined.from_ns,
        to_ns=joined.to_ns,
        served=joined.served,
        claimed=subject.claimed,
        waited_ms=_waited_ms(subject, joined, limits.end_ns),
        n_attempts=sum(counted) if counted else None,
        error_names=tuple(sorted(frozenset().union(*(wait.error_names for wait in waits)))),
        incident_id=None,
        evidence=tuple(dict.fromkeys(request for _, request in requests))[:MOST_EVIDENCE],
        n_records_late=sum(wait.n_late for wait in waits),
        n_records_failed=max((wait.n_failed for wait in waits), default=0),
        unasked_ms=_unasked_ms(waits, limits.end_ns),
    )


def _unasked_ms(waits: Iterable[Wait], end_ns: int) -> int:
    """Returns the longest time in which no Fetch was in flight for the records; 0 if Fetches were in flight for most of
    the waits."""
    lasted = ((wait, wait.lasted_ns(end_ns)) for wait in waits)
    sums = [(min(wait.unasked_ns, lasted_ns), lasted_ns) for wait, lasted_ns in lasted]
    is_most = 2 * sum(unasked for unasked, _ in sums) > sum(lasted for _, lasted in sums)
    return max(unasked for unasked, _ in sums) // 1_000_000 if is_most else 0


def _waited_ms(subject: Subject, joined: JoinedWaits, end_ns: int) -> int:
    """Returns how long the subject was not served: for records, the longest wait, because service goes on record by
    record; for other services, the whole time, because all requests are for the same thing."""
    return joined.unserved_ms(end_ns) if subject.kind in _OF_RECORDS else joined.waited_ms(end_ns)


def _stall_id(subject: Subject, from_ns: int) -> str:
    """Returns the id of a stall. The same subject and time give the same id, even if the capture is cut in another
    way."""
    parts = (subject.kind, subject.owner, subject.topic, subject.partition, from_ns)
    digest = hashlib.sha256("|".join(str(part) for part in parts).encode()).hexdigest()
    return f"stall-{digest[:16]}"
