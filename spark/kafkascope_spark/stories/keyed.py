"""`Keyed`: runs machines over events that are sorted by a key: one group, transactional id, server, ... after the
other.

Events come in batches of any size, in the order of their key and place. Memory is that of one key. Each key has its own
machine, which does not depend on how events reach it. Events of different clusters never meet: each stage has separate
runners for each cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts, Part

Body = TypeVar("Body")
Body_contra = TypeVar("Body_contra", contravariant=True)
Out = TypeVar("Out")
Out_co = TypeVar("Out_co", covariant=True)


class Origin(NamedTuple):
    """Time and place of an event. client_instance_id: the client of the connection; group_id: the group in which this
    client reads."""

    section: int
    ts_ns: int
    rank: int
    packet_no: int
    conn_id: str
    seq: int
    client_instance_id: str | None
    group_id: str | None

    @property
    def place(self) -> "Place":
        """Returns the sort key by which the exchange has sorted the event among those of its key."""
        return self[:_N_PLACE]


_N_PLACE = 6
Place = tuple[Any, ...]


class KeyMachine(Protocol[Body_contra, Out_co]):
    """A machine that follows one key."""

    def take(self, event: Body_contra, origin: Origin) -> Iterable[Out_co] | None:
        """Takes the next event of the key, or a row that the machines over clients pass on. Returns the rows that it
        completes."""
        ...

    def finish(self) -> Iterable[Out_co]:
        """Returns the remaining rows when no event of the key follows."""
        ...


class Keyed(Generic[Body, Out]):
    """Runs one machine per key. kind: name of the kind of key for failed_parts; begin: makes the machine of a key.

    If a machine raises an error, the rest of its key is skipped, and the next key gets a new machine.
    """

    def __init__(self, kind: str, begin: Callable[[str], KeyMachine[Body, Out]], failed_parts: FailedParts) -> None:
        self._kind = kind
        self._begin = begin
        self._failed_parts = failed_parts
        self._key: str | None = None
        self._place: Place = ()
        self._part: Part | None = None
        self._machine: KeyMachine[Body, Out] | None = None

    def feed(self, key: str, events: Iterable[tuple[Origin, Body]]) -> Iterator[Out]:
        """Feeds events of a key to its machine and yields the rows that they complete. Raises ValueError if keys or
        events are out of order."""
        if self._key is None or key != self._key:
            yield from self.finish()
            if self._key is not None and key < self._key:
                raise ValueError(f"keys out of order: {self._kind} {key} after {self._key}")
            self._key, self._place = key, ()
            self._part = self._failed_parts.part(self._kind, key)
        if self._part is not None:
            yield from self._part.rows(lambda: self._taken(key, events))

    def _taken(self, key: str, events: Iterable[tuple[Origin, Body]]) -> Iterator[Out]:
        if self._machine is None:
            self._machine = self._begin(key)
        for origin, event in events:
            place = origin.place
            if place < self._place:
                raise ValueError(f"events out of order: {self._kind} {key}: {place} after {self._place}")
            self._place = place
            yield from self._machine.take(event, origin) or ()

    def finish(self) -> Iterator[Out]:
        """Yields the remaining rows of the last key."""
        machine, part, self._machine, self._part = self._machine, self._part, None, None
        if machine is not None and part is not None:
            yield from part.rows(machine.finish)
