"""`Failures`: an index of the failures of a capture by time and by what they concern.

A long capture may have thousands of failures, and as many stalls, starts and recoveries that may follow from them. Each
of these looks only at the failures of its client, group, broker, ... near its time, and not at all open failures. A key
is what a failure concerns: a pair of the kind of thing and its name.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from kafkascope_analyzer.dataset.stretches import FOREVER, Stretches
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS

Key = tuple[str, object]
T = TypeVar("T")


class KeyedStretches(Generic[T]):
    """Stretches of time by key. All stretches must be added before the first lookup: a lookup sorts those of its
    key."""

    def __init__(self) -> None:
        self._listed: dict[Key, list[tuple[int, int, T]]] = defaultdict(list)
        self._ordered: dict[Key, Stretches[T]] = {}

    def add(self, key: Key, start_ns: int, end_ns: int | None, owner: T) -> None:
        """Adds a stretch. Results in the order of listing have the first added stretch first."""
        self._listed[key].append((start_ns, FOREVER if end_ns is None else end_ns, owner))

    def of(self, key: Key) -> Stretches[T]:
        """Returns the stretches of a key."""
        if key not in self._ordered:
            self._ordered[key] = Stretches(self._listed.pop(key, ()))
        return self._ordered[key]


class Failures:
    """Index of failures. failures: of several that fit equally well, the one that begins first wins, then the one that
    is listed first. keys: returns what a failure concerns; until_ns: returns until when something may follow from it;
    times: returns the spans in which something may follow from it, empty for the whole time from its start to
    until_ns."""

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
        """Returns the failure with the longest overlap with from_ns to to_ns, and the length of the overlap (negative
        if they are up to a second apart). Only failures of one of the keys that satisfy is_able and began by
        begun_by_ns are considered. None if there is none."""
        until = FOREVER if to_ns is None else to_ns
        times = (self._times.of(key) for key in dict.fromkeys(keys))
        found = (each.longest(from_ns, until, is_able, begun_by_ns) for each in times)
        return min((best for best in found if best is not None), key=self._rank, default=None)

    def _rank(self, found: tuple[int, Failure]) -> tuple[int, int]:
        return -found[0], self._place[found[1]]

    def latest(self, key: Key, from_ns: int, to_ns: int) -> Iterator[Failure]:
        """Yields the failures of a key that begin at to_ns or before and last to from_ns or longer, the last first."""
        return self._times.of(key).latest(from_ns, to_ns)

    def after(self, key: Key, ts_ns: int) -> Iterator[tuple[int, Failure]]:
        """Yields the failures of a key that begin after ts_ns, each with its start, the earliest first."""
        return self._times.of(key).after(ts_ns)

    def in_order(self, failures: Iterable[Failure]) -> list[Failure]:
        """Returns the given failures in the order of the index, each once."""
        return sorted(set(failures), key=self._place.__getitem__)


def followed_until_ns(failure: Failure) -> int:
    """Returns until when something may follow from a failure."""
    if failure.end_ns is None:
        return FOREVER
    return max(failure.end_ns, failure.affected_until_ns or failure.end_ns) + FOLLOWS_NS


def is_of_time(failure: Failure, from_ns: int, to_ns: int | None) -> bool:
    """Whether something that lasted from from_ns to to_ns may follow from a failure: the failure began at most a second
    after it, and ended at most FOLLOWS_NS before it."""
    until = FOREVER if to_ns is None else to_ns + SECOND
    return failure.start_ns <= until and followed_until_ns(failure) >= from_ns
