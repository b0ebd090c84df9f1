"""Assigns files to capture points: by the directories that the files are in, or by a text file.

The text file has one line `point: glob` for each group of files; `#` begins a comment. A glob is compared with the end
of a path, as in `broker-1: b1/*.pcap`. A point may have several lines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kafkascope_analyzer.read.place import CapturePlace, LocalCapture
from kafkascope_analyzer.read.series import in_time_order
from kafkascope_parsers.errors import UsageError

OPTION = "--capture-points"
AUTO = "auto"
POINT_LIMIT = 1000
"""Most capture points of one dataset; one file of each is open at the same time."""


@dataclass(frozen=True, slots=True)
class CapturePoint:
    """A host or a mirror port that recorded packets with one clock, and its files in time order."""

    name: str
    files: tuple[CapturePlace, ...]


@dataclass(frozen=True, slots=True)
class CapturePoints:
    """The capture points of a dataset. The clock of the first is the reference."""

    points: tuple[CapturePoint, ...]

    @property
    def places(self) -> tuple[CapturePlace, ...]:
        """The files of all points, by capture_id."""
        return tuple(file for point in self.points for file in point.files)


def capture_points(places: Sequence[CapturePlace], how: str) -> CapturePoints:
    """Returns the capture points of these files. how: AUTO, or the path of a text file.

    Raises UsageError where a point has no file, a file has no point or two, or there are not at least two points.
    """
    for place in places:
        if place.is_stream:
            raise UsageError(f"{place}: {OPTION} reads every capture twice, so a pipe cannot be one of them")
    named = _by_folder(places) if how == AUTO else _by_lines(places, Path(how))
    if len(named) > POINT_LIMIT:
        raise UsageError(f"{OPTION}: there are {len(named):,} capture points; the limit is {POINT_LIMIT:,}")
    return CapturePoints(tuple(CapturePoint(name, in_time_order(files)) for name, files in named.items()))


def _by_folder(places: Sequence[CapturePlace]) -> dict[str, list[CapturePlace]]:
    """Returns files by the name of their directory; where two directories have the same name, by more of
    their paths."""
    folders = {place: _folder(place) for place in places}
    distinct = set(folders.values())
    if len(distinct) < 2:
        raise UsageError(
            f"{OPTION} {AUTO}: all captures are in one directory; give each capture point a directory of its own, or "
            "a file with lines `point: glob`"
        )
    depth = 1
    while len({folder.parts[-depth:] for folder in distinct}) < len(distinct):
        depth += 1
    return _grouped((place, "/".join(folder.parts[-depth:])) for place, folder in folders.items())


def _folder(place: CapturePlace) -> PurePosixPath:
    return PurePosixPath(place.local if isinstance(place, LocalCapture) else str(place)).parent


def _grouped(named: Iterable[tuple[CapturePlace, str]]) -> dict[str, list[CapturePlace]]:
    groups: dict[str, list[CapturePlace]] = {}
    for place, name in named:
        groups.setdefault(name, []).append(place)
    return groups


def _by_lines(places: Sequence[CapturePlace], file: Path) -> dict[str, list[CapturePlace]]:
    """Returns files by the lines of a text file."""
    groups: dict[str, list[CapturePlace]] = {}
    point_of: dict[CapturePlace, str] = {}
    for name, glob in _lines(file):
        matching = [place for place in places if PurePosixPath(str(place)).match(glob)]
        if not matching:
            raise UsageError(f"{file}: capture point {name}: none of the captures matches {glob}")
        for place in matching:
            if point_of.setdefault(place, name) != name:
                raise UsageError(f"{file}: {place} belongs to two capture points, {point_of[place]} and {name}")
        group = groups.setdefault(name, [])
        group += [place for place in matching if place not in group]
    left = next((place for place in places if place not in point_of), None)
    if left is not None:
        raise UsageError(f"{file}: {left} belongs to no capture point; add a line `point: glob` that matches it")
    if len(groups) < 2:
        raise UsageError(f"{file}: names one capture point; {OPTION} compares two or more")
    return groups


def _lines(file: Path) -> list[tuple[str, str]]:
    """Returns names and globs of the lines."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{OPTION} {file}: {getattr(error, 'strerror', None) or error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, glob = (part.strip() for part in line.partition("#")[0].partition(":"))
        if not (name or colon or glob):
            continue
        if not (name and glob):
            raise UsageError(f"{file}, line {number}: expected `point: glob`, as in `broker-1: b1/*.pcap`")
        found.append((name, glob))
    if not found:
        raise UsageError(f"{file}: names no capture point; expected lines `point: glob`")
    return found
