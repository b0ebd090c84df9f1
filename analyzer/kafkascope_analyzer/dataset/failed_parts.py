"""Parts of an analysis that failed because of a defect of kafkascope: they are recorded, and the rest goes on.

`FailedParts.part` is the one boundary at which exceptions stop. What it lets through is not a defect of a part: an
error that says itself what the user can do, a store or disk that fails, memory that is not there, an interruption. What
it records holds no text of the exception, which may hold a value of the capture: the type and the places in the source.
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
"""Names that a record keeps of parts of one kind that failed in the same place: all clients of a capture may."""
MOST_PARTS = 200
"""Records of one run."""
MOST_PLACES = 8
"""Places in the source that a record keeps, the innermost last."""
_NOT_DEFECTS = (UsageError, CaptureError, SparkError, OSError, EOFError, MemoryError)
_PACKAGES = ("kafkascope_parsers", "kafkascope_analyzer", "kafkascope_spark")


@dataclass(frozen=True, slots=True)
class FailedPart:
    """Parts of one kind that failed in one place of the source.

    kind: what they are, as `rule` or `client`; names: which, the first MOST_NAMES; n: how many; reason: why, without
    any value of the capture; places: in the source, the innermost last.
    """

    kind: str
    names: tuple[str, ...]
    n: int
    reason: str
    places: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Which parts failed, and why."""
        shown, left = self.names[:3], self.n - min(self.n, 3, len(self.names))
        which = ", ".join(name for name in shown if name)
        more = f" and {left:,} more" if left else ""
        return f"{self.kind}{' ' if which else ''}{which}{more}: {self.reason}"

    def plain(self) -> dict[str, Any]:
        """As JSON and Spark's rows hold it."""
        return {**asdict(self), "names": list(self.names), "places": list(self.places)}


def part_from(value: Mapping[str, Any]) -> FailedPart:
    """The part of what `plain` gave. Raises KeyError, TypeError, ValueError."""
    texts = [tuple(map(str, value[name])) for name in ("names", "places")]
    return FailedPart(str(value["kind"]), texts[0], int(value["n"]), str(value["reason"]), texts[1])


def joined_parts(parts: Iterable[FailedPart]) -> tuple[FailedPart, ...]:
    """The parts, those of one kind that failed in one place as one; the first MOST_PARTS, by kind and reason."""
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
        """The boundary around a part: a context manager."""
        return Part(self, kind, name)

    def rows(self, kind: str, name: str, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The rows of a part, as far as it makes them."""
        return self.part(kind, name).rows(make)

    def value(self, kind: str, name: str, default: T, make: Callable[[], T]) -> T:
        """What a part gives; the default where it fails."""
        with self.part(kind, name):
            return make()
        return default

    def record(self, part: FailedPart) -> None:
        """Adds a part."""
        self._parts = joined_parts((*self._parts, part))

    def taken(self) -> tuple[FailedPart, ...]:
        """All parts so far."""
        return self._parts


class Part:
    """The boundary around one part: a defect inside is recorded and goes no further. It may be entered again."""

    __slots__ = ("_failed_parts", "_kind", "_name", "has_failed")

    def __init__(self, failed_parts: FailedParts, kind: str, name: str) -> None:
        self._failed_parts = failed_parts
        self._kind = kind
        self._name = name
        self.has_failed = False

    def __enter__(self) -> "Part":
        return self

    def rows(self, make: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The rows that the part makes, as far as it makes them; none once it has failed."""
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
    """The record of a part that failed with that exception."""
    places = tuple(_places(error))
    condition = getattr(error, "getCondition", lambda: None)()
    what = f"{type(error).__name__}{f' {condition}' if condition else ''}"
    at = f" at {places[-1]}" if places else ""
    return FailedPart(kind, (name,), 1, f"a defect of kafkascope, {what}{at}", places[-MOST_PLACES:])


def _places(error: Exception) -> Iterator[str]:
    """Where in our source the exception passed: `kafkascope_spark/write_stories.py:12 make_stories`."""
    for frame in traceback.extract_tb(error.__traceback__):
        parts = PurePath(frame.filename).parts
        package = next((part for part in parts if part in _PACKAGES), None)
        if package is not None:
            yield f"{'/'.join(parts[parts.index(package) :])}:{frame.lineno} {frame.name}"
