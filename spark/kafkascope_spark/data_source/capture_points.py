"""Groups captures that are read together: those of one capture point, so that a connection that continues in the next
file is not divided.

File names decide, because partitions are planned before anything is read: files of one folder whose names differ only
in their numbers belong together, as `tcpdump -C` numbers them and `-G` dates them. If such files overlap in time,
ingest itself distinguishes the capture points.
"""

import re
from collections.abc import Sequence

from kafkascope_analyzer.read.place import CapturePlace

_DIGITS = re.compile(r"\d+")


def capture_points(captures: Sequence[CapturePlace]) -> list[tuple[CapturePlace, ...]]:
    """Returns the captures of each point, in the order of the first of them."""
    points: dict[tuple[str, str], list[CapturePlace]] = {}
    for capture in captures:
        folder, _, name = str(capture).rpartition("/")
        points.setdefault((folder, _DIGITS.sub("0", name)), []).append(capture)
    return [tuple(point) for point in points.values()]
