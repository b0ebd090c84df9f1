"""Replaces encrypted runs by decrypted ones, so that framing gets one set of streams."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.assemble import PER_RUN, copy_bytes, room_for_runs
from kafkascope_parsers.tcp.streams import Streams


class Spliced(NamedTuple):
    """Streams with the runs of two others. run: int64 per run, its index in its source; is_second: per run, whether
    that is the second one."""

    streams: Streams
    run: NDArray[np.int64]
    is_second: NDArray[np.bool_]

    def consumed(self, consumed: NDArray[np.int64], source: Streams, *, second: bool) -> NDArray[np.int64]:
        """How far each run of a source was read. consumed: the same for the runs here. For a run that is not here, its
        start."""
        out = source.start.copy()
        chosen = self.is_second == second
        out[self.run[chosen]] += (consumed - self.streams.start)[chosen]
        return out


def splice(first: Streams, chosen: NDArray[np.int64], second: Streams) -> Spliced:
    """The chosen runs of the first streams and all of the second; no direction is in both."""
    if not len(chosen):
        return Spliced(second, np.arange(len(second.start)), np.ones(len(second.start), np.bool_))
    run = np.concatenate([chosen, np.arange(len(second.start))])
    is_second = np.arange(len(run)) >= len(chosen)
    directions = np.concatenate([first.direction[chosen], second.direction])
    order = np.argsort(directions, kind="stable")
    run, is_second = run[order], is_second[order]
    sources = (first, second)
    sizes = sum(int((s.end - s.start).sum()) for s in (_taken(first, chosen), second))
    out = room_for_runs(np.empty(sizes, np.uint8), len(first.piece_start) + len(second.piece_start))
    n_pieces = 0
    columns: dict[str, list[object]] = {name: [] for name in PER_RUN}
    place = 0
    for index, source in zip(run.tolist(), is_second.tolist(), strict=True):
        s = sources[source]
        size = int(s.end[index] - s.start[index])
        n_pieces = int(_copy_run(s, index, out, place, n_pieces))
        for name in PER_RUN:
            columns[name].append(getattr(s, name)[index])
        columns["start"][-1], columns["end"][-1] = place, place + size
        place += size
    per_run = {name: np.array(values, getattr(first, name).dtype) for name, values in columns.items()}
    pieces = {name: getattr(out, name)[:n_pieces] for name in ("piece_start", "piece_ts_ns", "piece_packet")}
    return Spliced(out._replace(**per_run, **pieces), run, is_second)


def _taken(streams: Streams, runs: NDArray[np.int64]) -> Streams:
    """Some runs of streams, without their bytes and pieces."""
    return streams._replace(**{name: getattr(streams, name)[runs] for name in PER_RUN})


@kernel
def _copy_run(s: Streams, run: int, out: Streams, place: int, n_pieces: int) -> int:
    """Copies a run's bytes to `place`, and its pieces; returns the new number of pieces."""
    start, end = s.start[run], s.end[run]
    copy_bytes(out.data[place : place + end - start], s.data[start:end])
    low, high = 0, len(s.piece_start)
    while low < high:
        middle = (low + high) >> 1
        if s.piece_start[middle] <= start:
            low = middle + 1
        else:
            high = middle
    piece = max(low - 1, 0)
    while piece < len(s.piece_start) and s.piece_start[piece] < end:
        out.piece_start[n_pieces] = place + max(s.piece_start[piece], start) - start
        out.piece_ts_ns[n_pieces], out.piece_packet[n_pieces] = s.piece_ts_ns[piece], s.piece_packet[piece]
        n_pieces += 1
        piece += 1
    return n_pieces
