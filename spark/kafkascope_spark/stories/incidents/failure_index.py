"""`Failures`: the failures of a capture, found by time and by what they concern.

A long capture may have thousands of failures, and as many stalls, starts and recoveries that may follow from them:
each looks only at the failures of its client, group, broker, ..., of about its time, and not at all that are open. A
key says what a failure concerns: what kind of thing, and which.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.incidents.failure import FOLLOWS_NS, SECOND, Failure

Key = tuple[str, object]
T = TypeVar("T")


class KeyedStretches(Generic[T]):
    """Stretches of time by key. Add all, then ask: those of a key are put in order when it is first asked for."""

    def __init__(self) -> None:
        self._listed: dict[Key, list[tuple[int, int, T]]] = defaultdict(list)
        self._ordered: dict[Key, Stretches[T]] = {}

    def add(self, key: Key, start_ns: int, end_ns: int | None, owner: T) -> None:
        """Add a stretch; of what is found in the order of listing, the first added comes first."""
        self._listed[key].append((start_ns, FOREVER if end_ns is None else end_ns, owner))

    def of(self, key: Key) -> Stretches[T]:
        """The stretches of a key."""
        if key not in self._ordered:
            self._ordered[key] = Stretches(self._listed.pop(key, ()))
        return self._ordered[key]


class Failures:
    """failures: where several fit equally well, those that begin first come first, then those that are listed first.
    keys: what a failure concerns; until_ns: to when something may follow from it; times: from when to when it may,
    where that is not all the time."""

    def __init__(
        self,
        failures: Iterable[Failure],
        keys: Callable[[Failure], Iterable[Key]],
        until_ns: Callable[[Failure], int] = lambda failure: failure.affected_to_ns,
        times: Callable[[Failure], Sequence[tuple[int, int]]] = lambda _: (),
    ) -> None:
        ordered = sorted(failures, key=lambda failure: failure.start_ns)
        self._place = {failure: place for place, failure in enumerate(ordered)}
        self._times: KeyedStretches[Failure] = KeyedStretches()
        for failure in ordered:
            spans = times(failure) or [(failure.start_ns, until_ns(failure))]
            for key in dict.fromkeys(keys(failure)):
                for start_ns, end_ns in spans:
                    self._times.add(key, start_ns, end_ns, failure)

    def longest(
        self,
        keys: Iterable[Key],
        from_ns: int,
        to_ns: int | None,
        is_able: Callable[[Failure], bool] = lambda _: True,
        begun_by_ns: int = FOREVER,
    ) -> tuple[int, Failure] | None:
        """The failure that is able, concerns one of these and had begun by then, with the longest time in common with a
        stretch of time, and how long that is; below zero where they are up to a second apart."""
        until = FOREVER if to_ns is None else to_ns
        times = (self._times.of(key) for key in dict.fromkeys(keys))
        found = (each.longest(from_ns, until, is_able, begun_by_ns) for each in times)
        return min((best for best in found if best is not None), key=self._rank, default=None)

    def _rank(self, found: tuple[int, Failure]) -> tuple[int, int]:
        return -found[0], self._place[found[1]]

    def latest(self, key: Key, from_ns: int, to_ns: int) -> Iterator[Failure]:
        """The failures that concern this, begin at to_ns or before and last to from_ns or longer, the last first."""
        return self._times.of(key).latest(from_ns, to_ns)

    def after(self, key: Key, ts_ns: int) -> Iterator[tuple[int, Failure]]:
        """The failures that concern this and begin later, each with its start, the first first."""
        return self._times.of(key).after(ts_ns)

    def in_order(self, failures: Iterable[Failure]) -> list[Failure]:
        """Some of the failures in their order, each once."""
        return sorted(set(failures), key=self._place.__getitem__)


def followed_until_ns(failure: Failure) -> int:
    """To when something may follow from a failure."""
    if failure.end_ns is None:
        return FOREVER
    return max(failure.end_ns, failure.affected_until_ns or failure.end_ns) + FOLLOWS_NS


def is_of_time(failure: Failure, from_ns: int, to_ns: int | None) -> bool:
    """Whether something in that time may follow from a failure: it had begun, or began within a second after it, and
    was not over for longer than FOLLOWS_NS."""
    until = FOREVER if to_ns is None else to_ns + SECOND
    return failure.start_ns <= until and followed_until_ns(failure) >= from_ns
