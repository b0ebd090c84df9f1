"""Records parts of an analysis that failed because of a defect of kafkascope, so that the rest can continue.

`FailedParts.part` is the one boundary at which exceptions stop. It passes on exceptions that are not a defect of a
part: errors that tell the user what to do, failures of a store or disk, lack of memory, interruptions. A record has the
type of the exception and the places in the source, but not its text, which may contain a value of the capture.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from types import TracebackType
from typing import Any, TypeVar

from kafkascope_parsers.errors import CaptureError, SparkError, UsageError

T = TypeVar("T")
MOST_NAMES = 50
"""Most names that a record keeps for parts of one kind that failed in the same place: all clients of a capture may."""
MOST_PARTS = 200
"""Most records of one run."""
MOST_PLACES = 8
"""Most places in the source that a record keeps, the innermost last."""
_NOT_DEFECTS = (UsageError, CaptureError, SparkError, OSError, EOFError, MemoryError)
_PACKAGES = ("kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark")


@dataclass(frozen=True, slots=True)
class FailedPart:
    """Parts of one kind that failed in one place of the source.

    kind: their kind, such as `rule` or `client`; names: the first MOST_NAMES of their names; n: their number; reason:
    why they failed, without any value of the capture; places: places in the source, the innermost last.
    """

    kind: str
    names: tuple[str, ...]
    n: int
    reason: str
    places: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """A sentence with the parts that failed, and the reason."""
        shown, left = self.names[:3], self.n - min(self.n, 3, len(self.names))
        which = ", ".join(name for name in shown if name)
        more = f" and {left:,} more" if left else ""
        return f"{self.kind}{' ' if which else ''}{which}{more}: {self.reason}"

    def plain(self) -> dict[str, Any]:
        """Returns the record as plain values, for JSON and Spark's rows."""
        return {**asdict(self), "names": list(self.names), "places": list(self.places)}


def part_from(value: Mapping[str, Any]) -> FailedPart:
    """Returns the part from the result of `plain`. Raises KeyError, TypeError, ValueError."""
    texts = [tuple(map(str, value[name])) for name in ("names", "places")]
    return FailedPart(str(value["kind"]), texts[0], int(value["n"]), str(value["reason"]), texts[1])


def joined_parts(parts: Iterable[FailedPart]) -> tuple[FailedPart, ...]:
    """Returns the parts, with those of one kind that failed in one place joined; the first MOST_PARTS, by kind and
    reason."""
    joined: dict[tuple[str, str], FailedPart] = {}
    for part in parts:
        before = joined.get((part.kind, part.reason))
        names = tuple(dict.fromkeys((*(before.names if before else ()), *part.names)))[:MOST_NAMES]
        n = part.n + (before.n if before else 0)
        joined[part.kind, part.reason] = replace(part, names=tuple(sorted(names)), n=n)
    return tuple(joined[key] for key in sorted(joined)[:MOST_PARTS])


class FailedParts:
    """The parts that failed in this process or task."""

    def __init__(self) -> None:
        self._parts: tuple[FailedPart, ...] = ()

    def part(self, kind: str, name: str = "") -> "Part":
        """Returns the boundary around a part, a context manager."""
        return Part(self, kind, name)

    def rows(self, kind: str, name: str, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """Yields the rows of a part, up to its failure."""
        return self.part(kind, name).rows(make)

    def value(self, kind: str, name: str, default: T, make: Callable[[], T]) -> T:
        """Returns the value of a part; the default where it fails."""
        with self.part(kind, name):
            return make()
        return default

    def record(self, part: FailedPart) -> None:
        """Adds a part."""
        self._parts = joined_parts((*self._parts, part))

    def taken(self) -> tuple[FailedPart, ...]:
        """Returns all parts so far."""
        return self._parts


class Part:
    """The boundary around one part: a defect inside is recorded and not passed on. It may be entered again."""

    __slots__ = ("_failed_parts", "_kind", "_name", "has_failed")

    def __init__(self, failed_parts: FailedParts, kind: str, name: str) -> None:
        self._failed_parts = failed_parts
        self._kind = kind
        self._name = name
        self.has_failed = False

    def __enter__(self) -> "Part":
        return self

    def rows(self, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """Yields the rows that the part makes, up to its failure; none once it has failed."""
        if not self.has_failed:
            with self:
                yield from make()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, _NOT_DEFECTS):
            return False
        self.has_failed = True
        self._failed_parts.record(failed_part(self._kind, self._name, error))
        return True


def failed_part(kind: str, name: str, error: Exception) -> FailedPart:
    """Returns the record of a part that failed with that exception."""
    places = tuple(_places(error))
    condition = getattr(error, "getCondition", lambda: None)()
    what = f"{type(error).__name__}{f' {condition}' if condition else ''}"
    at = f" at {places[-1]}" if places else ""
    return FailedPart(kind, (name,), 1, f"a defect of kafkascope, {what}{at}", places[-MOST_PLACES:])


def _places(error: Exception) -> Iterator[str]:
    """Yields the places in our source that the exception passed: `kafkascope_spark/write_stories.py:12
    make_stories`."""
    for frame in traceback.extract_tb(error.__traceback__):
        parts = PurePath(frame.filename).parts
        package = next((part for part in parts if part in _PACKAGES), None)
        if package is not None:
            yield f"{'/'.join(parts[parts.index(package) :])}:{frame.lineno} {frame.name}"
