"""Which captures are read together: those of one capture point, so that a connection that goes on in the next file is
one.

Names decide, because a partition is planned before anything is read: the files of one folder whose names differ only in
their numbers belong together, as `tcpdump -C` counts them and `-G` dates them. Where such files overlap in time, ingest
itself tells the capture points apart.
"""

import re
from collections.abc import Sequence

from kafkascope_analyzer.read.place import CapturePlace

_DIGITS = re.compile(r"\d+")


def capture_points(captures: Sequence[CapturePlace]) -> list[tuple[CapturePlace, ...]]:
    """The captures of each point, in the order of the first of them."""
    points: dict[tuple[str, str], list[CapturePlace]] = {}
    for capture in captures:
        folder, _, name = str(capture).rpartition("/")
        points.setdefault((folder, _DIGITS.sub("0", name)), []).append(capture)
    return [tuple(point) for point in points.values()]
