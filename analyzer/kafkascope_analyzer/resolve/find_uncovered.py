"""Finds the times between the files of a capture that are not captured, because a file is missing or the capture was
stopped.

A pause between the last packet of a file and the first of the next proves nothing: tcpdump begins a new file with a
packet, so that pauses of a quiet network lie between files. The connections that continue after the pause decide. Where
bytes are missing from them, these were sent in the pause, which is not captured. Where no byte is missing, nothing was
sent. Where no connection continues, only the ends of the files are known. A pause of a month counts as not captured
even within a file: the clock was set there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.read.time_leaps import LEAP_NS
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.liveness_spans import RUNS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import PAYLOAD, RUN_GAP_NS
from kafkascope_parsers.tcp.state import EVENT_KINDS

LEAST_NS = RUN_GAP_NS
"""Shorter pauses between files count as captured, because activity of servers and clients is not tracked at a finer
resolution either."""
LEAST_ALONE_NS = 10_000_000_000
"""Shorter pauses count as captured where no connection continues: a client may connect anew for each piece of work."""
SHARE = 4
"""Share of the continuing connections (1/SHARE) that lack bytes after a pause that is not captured; the others were
idle in it."""
_NOTED_NS = 5_000_000_000
"""A gap is noted when it is given up, which is at most this long after the first payload behind it."""
_GAP = EVENT_KINDS.index("gap")
Flags = NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max


def pauses_between(files: Iterable[tuple[int, int]]) -> Uncovered:
    """Returns the times of LEAST_NS or more between the first and the last packet of all files that are in no file.

    files: times of the first and last packet of each file, or of each span of it between leaps of the clock. Files of
    several capture points overlap.
    """
    pauses, covered_to = [], None
    for first_ns, last_ns in sorted(files):
        if covered_to is not None and first_ns - covered_to >= LEAST_NS:
            pauses.append((covered_to, first_ns))
        covered_to = last_ns if covered_to is None else max(covered_to, last_ns)
    return Uncovered(tuple(pauses))


def uncovered_of_spills(files: Sequence[tuple[int, int]], spills: Iterable[Path]) -> Uncovered:
    """Returns the times that no file covers, from the spills of the buckets. files: as in pauses_between."""
    if not pauses_between(files):
        return NOTHING_UNCOVERED
    found = {spill: list(read_spill(spill, "connections", ["first_ns", "last_ns"])) for spill in spills}
    return find_uncovered(files, {spill: pa.concat_tables(tables) for spill, tables in found.items() if tables})


def find_uncovered(files: Iterable[tuple[int, int]], connections: Mapping[Path, pa.Table]) -> Uncovered:
    """Returns the times that no file covers. files: as in pauses_between; connections: connections of each bucket, with
    first_ns and last_ns."""
    pauses = pauses_between(files)
    if not pauses:
        return pauses
    seen = [_Seen.after(pauses, spill, known) for spill, known in connections.items()]
    n_going_on, n_lacking = (sum(each, np.zeros(len(pauses.times), np.int64)) for each in _counts(seen))
    length = np.array([end - begin for begin, end in pauses.times])
    lacks = (n_lacking > 0) & (n_lacking * SHARE >= n_going_on)
    alone = (n_going_on == 0) & (length >= LEAST_ALONE_NS)
    return Uncovered(tuple(pauses.times[at] for at in np.flatnonzero(lacks | alone | (length >= LEAP_NS))))


def _counts(seen: "list[_Seen]") -> tuple[list[Ints], list[Ints]]:
    """Counts for each bucket and pause the connections that continue with payload, and those of them that
    lack bytes."""
    going_on = [each.went_on.sum(1) for each in seen]
    return going_on, [(each.went_on & each.lacks).sum(1) for each in seen]


@dataclass(frozen=True, slots=True)
class _Seen:
    """Observations about the connections of a bucket after each pause, one row per pause: whether each connection
    continued with payload, and whether bytes before that are missing."""

    went_on: Flags
    lacks: Flags

    @classmethod
    def after(cls, pauses: Uncovered, spill: Path, connections: pa.Table) -> "_Seen":
        """Returns the observations in a bucket's spill."""
        n = connections.num_rows
        first_ns, last_ns = (connections[name].to_numpy() for name in ("first_ns", "last_ns"))
        shape = len(pauses.times), n
        resumed, noted = np.full(shape, _NEVER), np.full(shape, _NEVER)
        goes_on = np.stack([(first_ns <= begin) & (last_ns >= end) for begin, end in pauses.times])
        for rows in read_spill(spill, RUNS, ["conn", "layer", "first_ns"]):
            is_payload = rows["layer"].to_numpy() == PAYLOAD
            _note_first(resumed, pauses, rows["conn"].to_numpy()[is_payload], rows["first_ns"].to_numpy()[is_payload])
        for rows in read_spill(spill, "tcp_events", ["conn", "kind", "ts_ns"]):
            is_gap = rows["kind"].to_numpy() == _GAP
            _note_first(noted, pauses, rows["conn"].to_numpy()[is_gap], rows["ts_ns"].to_numpy()[is_gap])
        resumed, noted = _first_after(resumed), _first_after(noted)
        went_on = goes_on & (resumed < _NEVER)
        return cls(went_on, went_on & (noted < _NEVER) & (noted - _NOTED_NS <= resumed))


def _note_first(first: Ints, pauses: Uncovered, conn: Ints, at_ns: Ints) -> None:
    """Notes for each pause and connection the first time between the pause and the next one."""
    ends = np.array([end for _, end in pauses.times])
    pause = np.searchsorted(ends, at_ns, side="right") - 1
    later = pause >= 0
    np.minimum.at(first, (pause[later], conn[later]), at_ns[later])


def _first_after(first: Ints) -> Ints:
    """Returns for each pause and connection the first time after the pause. first: from _note_first."""
    return np.asarray(np.minimum.accumulate(first[::-1])[::-1])
