"""`Keyed`: machines over what is sorted by a key: one group, transactional id, server, ... after the other.

Events come any number at a time, in the order of their key and place. Memory is that of one key. Each key has a
machine of its own, which knows neither the key of the exchange nor how events reach it. Events of several clusters
never meet: a stage has runners of its own for each cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts, Part

Body = TypeVar("Body")
Body_contra = TypeVar("Body_contra", contravariant=True)
Out = TypeVar("Out")
Out_co = TypeVar("Out_co", covariant=True)


class Origin(NamedTuple):
    """When and where an event was. client_instance_id: the client that the connection belongs to; group_id: the group
    that this client reads in."""

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
        """The place of the event among those of its key, by which the exchange has sorted them."""
        return self[:_N_PLACE]


_N_PLACE = 6
Place = tuple[Any, ...]


class KeyMachine(Protocol[Body_contra, Out_co]):
    """Follows one key."""

    def take(self, event: Body_contra, origin: Origin) -> Iterable[Out_co] | None:
        """What the next event of the key ends: an event of the capture, or what the machines over clients pass on."""
        ...

    def finish(self) -> Iterable[Out_co]:
        """What is left when no event of the key follows."""
        ...


class Keyed(Generic[Body, Out]):
    """Runs the machines. kind: what a key is, for failed_parts; begin: makes the machine of a key.

    A defect costs one key: the rest of its events are passed over, and the next key has a machine of its own.
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
        """What events of a key end. Raises ValueError where keys or events are out of order."""
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
        """What is left of the last key."""
        machine, part, self._machine, self._part = self._machine, self._part, None, None
        if machine is not None and part is not None:
            yield from part.rows(machine.finish)
