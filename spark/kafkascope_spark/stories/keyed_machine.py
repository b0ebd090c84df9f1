"""`KeyedMachine`: a state machine that is fed one key after the other, of which a defect costs one key alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts, Part
from kafkascope_spark.stories.model import Row

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Machine(Protocol[T_co]):
    """Rows of events in, in their order; rows of what it follows out."""

    def feed(self, rows: Iterable[Row]) -> Iterator[T_co]:
        """Rows that the events end."""
        ...

    def finish(self) -> Iterator[T_co]:
        """Rows of the last key; the machine may be fed another one then."""
        ...


class KeyedMachine(Generic[T]):
    """Runs a machine. kind: what a key is, for failed_parts; make: a new machine; take: takes the rows that it gives.

    Where the machine fails, the rest of the key's rows are passed over, and a new machine goes on with the next key.
    """

    def __init__(
        self, kind: str, make: Callable[[], Machine[T]], take: Callable[[Iterable[T]], None], failed_parts: FailedParts
    ) -> None:
        self._kind = kind
        self._make = make
        self._take = take
        self._failed_parts = failed_parts
        self._machine = make()
        self._key: str | None = None
        self._part: Part | None = None

    def feed(self, key: str, rows: Sequence[Row]) -> None:
        """Take rows of a key. All rows of a key come one after the other."""
        if self._part is None or self._key != key:
            self.finish()
            self._key = key
            self._part = self._failed_parts.part(self._kind, key)
        self._run(self._part, lambda: self._machine.feed(rows))

    def finish(self) -> None:
        """End the last key."""
        if self._part is not None:
            self._run(self._part, self._machine.finish)
        self._part = None

    def _run(self, part: Part, rows: Callable[[], Iterator[T]]) -> None:
        if part.has_failed:
            return
        with part:
            self._take(rows())
        if part.has_failed:
            self._machine = self._make()
