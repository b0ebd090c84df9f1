"""`Keyed`: machines over what is sorted by a key: one group, transactional id, server, ... after the other.

Rows come any number at a time, in the order of their key and place. Memory is that of one key. Each key has a machine
of its own, which knows neither the key of the exchange nor how rows reach it. Rows of several clusters never meet: a
stage has runners of its own for each cluster.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts, Part
from kafkascope_spark.stories.model import Row

Out_co = TypeVar("Out_co", covariant=True)
Out = TypeVar("Out")
Place = tuple[Any, ...]
_PLACE = ("section", "ts_ns", "rank", "packet_no", "conn_id", "seq")


class KeyMachine(Protocol[Out_co]):
    """Follows one key."""

    def take(self, row: Row) -> Iterable[Out_co] | None:
        """What the next row of the key ends."""
        ...

    def finish(self) -> Iterable[Out_co]:
        """What is left when no row of the key follows."""
        ...


def place_of(row: Row) -> Place:
    """The place of a row among those of its key, by which the exchange has sorted them."""
    return tuple(row[name] for name in _PLACE)


class Keyed(Generic[Out]):
    """Runs the machines. kind: what a key is, for failed_parts; begin: makes the machine of a key.

    A defect costs one key: the rest of its rows are passed over, and the next key has a machine of its own.
    """

    def __init__(self, kind: str, begin: Callable[[str], KeyMachine[Out]], failed_parts: FailedParts) -> None:
        self._kind = kind
        self._begin = begin
        self._failed_parts = failed_parts
        self._key: str | None = None
        self._place: Place = ()
        self._part: Part | None = None
        self._machine: KeyMachine[Out] | None = None

    def feed(self, key: str, rows: Iterable[Row]) -> Iterator[Out]:
        """What rows of a key end. Raises ValueError where keys or rows are out of order."""
        if self._key is None or key != self._key:
            yield from self.finish()
            if self._key is not None and key < self._key:
                raise ValueError(f"keys out of order: {self._kind} {key} after {self._key}")
            self._key, self._place = key, ()
            self._part = self._failed_parts.part(self._kind, key)
        if self._part is not None:
            yield from self._part.rows(lambda: self._taken(key, rows))

    def _taken(self, key: str, rows: Iterable[Row]) -> Iterator[Out]:
        if self._machine is None:
            self._machine = self._begin(key)
        for row in rows:
            place = place_of(row)
            if place < self._place:
                raise ValueError(f"rows out of order: {self._kind} {key}: {place} after {self._place}")
            self._place = place
            yield from self._machine.take(row) or ()

    def finish(self) -> Iterator[Out]:
        """What is left of the last key."""
        machine, part, self._machine, self._part = self._machine, self._part, None, None
        if machine is not None and part is not None:
            yield from part.rows(machine.finish)
