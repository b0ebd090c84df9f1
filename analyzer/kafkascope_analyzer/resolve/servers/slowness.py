"""Finds processes of servers that were slow for some time: their own work took several times as long as usual for them,
while other processes were as quick as ever.

Two kinds of samples show how quick a process is, whatever its clients do: the latency of responses that it gives
without another broker (beyond what the request allows it to wait), and, for a replica, the time from a leader's
response to its next Fetch. Each sample is compared with the lower quartile of the process for samples of its kind. The
median over a short time slice shows how many times as long as usual the process took; the median of the other processes
in the same slice shows how much of that has an external cause, such as a loaded host or a capture that stalls. A
process was slow where the rest, summed over slices, exceeds a limit.

A process that runs in turns (one whose container has used up its share of the processor, or that collects garbage)
responds at once to most requests, because clients send the next one as soon as they have a response, and late to those
that come last in its turn. Then the upper quartile of a slice, or its upper tenth, is far above that of the other
processes.

Latencies are counted in classes, so that memory does not grow with their number.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.servers import MOST_DOUBLINGS, USUAL_DOUBLINGS
from kafkascope_analyzer.resolve.servers.cells import Cells, Slices
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.kernels import slow_stretches
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.resolve.servers.samples import (
    N_CLASSES,
    N_KINDS,
    PER_OCTAVE,
    Floats,
    Samples,
    class_of,
    reactions,
    responses,
    spilled_requests,
    times_usual,
)

LEAST_SAMPLES = 3
"""Fewest samples of a slice whose median and upper quartile count."""
LEAST_OF_TENTHS = 10
"""Fewest samples of a slice whose upper tenth counts."""
LEAST_OF_KIND = 16
"""Fewest samples of one kind from which the usual latency is computed."""
UPPER_DOUBLINGS, TENTH_DOUBLINGS = 1.0, 1.5
"""Further doublings above the usual that the upper quartile of a slice, and its upper tenth, may have, compared with
its median."""
LEAST_SCORE = 6.0
"""A span shows a slow process where the doublings of its slices beyond USUAL_DOUBLINGS add up to this: ten times as
slow as usual for six seconds, or four times for sixteen."""
MOST_EVIDENCE = 8
_RATIO_OCTAVES = (-2, 6)
_N_RATIOS = (_RATIO_OCTAVES[1] - _RATIO_OCTAVES[0]) * PER_OCTAVE
_LEAST_USUAL = int(class_of(np.array([300_000]))[0])
"""Shorter usual latencies count as this class: the clocks of threads are not finer."""
SLOW_ROWS = pa.schema(
    [
        ("key", pa.string()),
        ("conn_id", pa.string()),
        ("host", pa.string()),
        ("first_ns", pa.int64()),
        ("first_packet", pa.int64()),
        ("last_ns", pa.int64()),
        ("last_packet", pa.int64()),
        ("n_samples", pa.int64()),
        ("times_usual", pa.int64()),
        ("slice_ms", pa.int64()),
        ("slowest", pa.list_(pa.string())),
    ]
)


class _Level(NamedTuple):
    """A quantile of a slice: the share of samples up to it, the fewest samples for which it counts, and the doublings
    above the usual that it may have beyond those of the median."""

    share: float
    least: int
    allowed: float


_LEVELS = (
    _Level(0.5, LEAST_SAMPLES, 0.0),
    _Level(0.75, LEAST_SAMPLES, UPPER_DOUBLINGS),
    _Level(0.9, LEAST_OF_TENTHS, TENTH_DOUBLINGS),
)


class Processes:
    """The processes that serve a host, numbered consecutively: of all endpoints of a capture few are servers. names:
    for each process the server by which it is named; number: the reverse."""

    def __init__(self, hosts: ServerHosts) -> None:
        self.hosts = hosts
        found = np.unique(np.concatenate([hosts.process, hosts.client_process]))
        self.names: Ints = found[found != NONE]
        self.n = len(self.names)
        self.number: Ints = np.full(len(hosts.servers), NONE)
        self.number[self.names] = np.arange(self.n)

    def samples(self) -> Iterator[Samples]:
        """Yields the samples of all connections, batch by batch."""
        for rows, conn, last in spilled_requests(self.hosts):
            for samples in (responses(self.hosts, rows, conn), reactions(self.hosts, rows, conn, last)):
                yield samples._replace(process=self.number[samples.process])


def slow_rows(processes: Processes, cells: Cells, slices: Slices) -> pa.Table:
    """Returns one row per slow span of a process and server of it: key and conn_id of the server, the first and the
    last packet of late samples, the number of samples, how many times as long as usual the median took (or the upper
    quartile or tenth, where most were as quick as ever), and the slowest requests. cells: samples of the processes, by
    slice and sample_code."""
    if not processes.n:
        return SLOW_ROWS.empty_table()
    usual = usual_classes(cells, (processes.n, N_KINDS))
    levels, n_samples = doublings_of(cells, usual, slices)
    own, doublings = _own(levels)
    found = np.zeros((own.size + 1, 3), np.int64)
    n = slow_stretches(own, (USUAL_DOUBLINGS, MOST_DOUBLINGS, LEAST_SCORE), found)
    stretches = [
        _Stretch((process, first, last), doublings[process, first : last + 1], n_samples[process, first : last + 1])
        for process, first, last in found[:n].tolist()
    ]
    if stretches:
        for samples in processes.samples():
            above = times_usual(samples, usual)
            for stretch in stretches:
                stretch.take(samples.taken(np.flatnonzero(above >= stretch.late_doublings)), slices)
    found_rows = [row for stretch in stretches for row in stretch.rows(processes, slices.length_ms)]
    return pa.Table.from_pylist(found_rows, SLOW_ROWS)


class _Stretch:
    """A process that was slow in some time slices, and the samples that show it. place: the number of the process, its
    first and its last slice; doublings, n_samples: one value per slice."""

    def __init__(self, place: tuple[int, int, int], doublings: Floats, n_samples: Ints) -> None:
        self._process, self._first, self._last = place
        middle = float(np.nanmedian(doublings))
        self.late_doublings = max(USUAL_DOUBLINGS, middle / 2)
        """Doublings above the usual from which on a sample shows the slow span: others come closer to the usual."""
        self._times_usual = max(round(2**middle), 2)
        self._n_samples = int(n_samples.sum())
        self._slowest: list[tuple[int, ...]] = []
        self._begin = self._end = (0, 0)

    def take(self, late: Samples, slices: Slices) -> None:
        """Takes late samples; keeps the first, the last and the slowest of its process and slices."""
        at = slices.of(late.from_ns)
        mine = late.taken(np.flatnonzero((late.process == self._process) & (at >= self._first) & (at <= self._last)))
        if not len(mine.process):
            return
        ends = mine.from_ns + mine.took_ns
        first, last = int(mine.from_ns.argmin()), int(ends.argmax())
        begin = int(mine.from_ns[first]), int(mine.packet_no[first])
        self._begin = min(self._begin, begin) if self._begin[0] else begin
        self._end = max(self._end, (int(ends[last]), int(mine.end_packet_no[last])))
        most = np.argsort(-mine.took_ns, kind="stable")[:MOST_EVIDENCE]
        columns = (-mine.took_ns[most], mine.conn[most], mine.number[most])
        slowest = [*self._slowest, *zip(*(column.tolist() for column in columns), strict=True)]
        self._slowest = sorted(slowest)[:MOST_EVIDENCE]

    def rows(self, processes: Processes, slice_ms: int) -> Iterator[dict[str, object]]:
        """Yields one row for each server of the process that has a host."""
        hosts = processes.hosts
        conn_ids = hosts.connections["conn_id"]
        requests = request_ids(
            flat(conn_ids), np.array([c for _, c, _ in self._slowest]), np.array([n for _, _, n in self._slowest])
        )
        for server in np.flatnonzero(hosts.server_process == processes.names[self._process]).tolist():
            of_server = np.flatnonzero(hosts.server == server)
            if len(of_server):
                yield {
                    "key": hosts.keys[server].as_py(),
                    "conn_id": conn_ids[int(of_server[0])].as_py(),
                    "host": "",
                    "first_ns": self._begin[0],
                    "first_packet": self._begin[1],
                    "last_ns": self._end[0],
                    "last_packet": self._end[1],
                    "n_samples": self._n_samples,
                    "times_usual": self._times_usual,
                    "slice_ms": slice_ms,
                    "slowest": requests.to_pylist(),
                }


def usual_classes(cells: Cells, shape: tuple[int, int]) -> Ints:
    """Returns the class of the lower quartile of each subject and kind; NONE where there are too few samples. shape:
    the number of subjects and of kinds; cells: samples by sample_code."""
    n_subjects, n_kinds = shape
    counts = np.zeros((n_subjects * n_kinds, N_CLASSES), np.int64)
    for each in cells.each():
        np.add.at(counts, (each.subject * n_kinds + each.code // N_CLASSES, each.code % N_CLASSES), each.n)
    total = counts.sum(1)
    quartile = (np.cumsum(counts, 1) * 4 >= total[:, None]).argmax(1)
    return np.where(total >= LEAST_OF_KIND, np.maximum(quartile, _LEAST_USUAL), NONE).reshape(shape)


def doublings_of(cells: Cells, usual: Ints, slices: Slices) -> tuple[list[Floats], Ints]:
    """Returns the quantiles of _LEVELS of each subject in each slice, as doublings above the usual, NaN where there are
    too few samples; and the number of samples. usual: as from usual_classes."""
    shape = len(usual), slices.n
    counts = np.zeros((shape[0] * shape[1], _N_RATIOS), np.int32)
    least = _RATIO_OCTAVES[0]
    for each in cells.each():
        compared = usual[each.subject, each.code // N_CLASSES]
        ratio = np.clip(each.code % N_CLASSES - compared - least * PER_OCTAVE, 0, _N_RATIOS - 1)
        known = np.flatnonzero(compared != NONE)
        place = each.subject[known] * slices.n + each.slice[known]
        np.add.at(counts, (place, ratio[known]), each.n[known].astype(np.int32))
    below = np.cumsum(counts, 1, out=counts)  # in place: this is the largest array that is held between the passes
    total = below[:, -1].astype(np.int64)
    found = []
    for level in _LEVELS:
        at = (below >= level.share * np.maximum(total, 1)[:, None]).argmax(1)
        found.append(np.where(total >= level.least, at / PER_OCTAVE + least, np.nan).reshape(shape))
    return found, total.reshape(shape)


def _own(levels: list[Floats]) -> tuple[Floats, Floats]:
    """Returns how much slower each process was in each slice than others, by the level at which that is most; and its
    doublings above the usual at that level. Levels above the median count only where there are others to compare them
    with."""
    own, doublings = beyond_others(levels[0]), levels[0]
    for level, above in zip(_LEVELS[1:], levels[1:], strict=True):
        has_others = (~np.isnan(above)).sum(0) > 1
        beyond = np.where(has_others, beyond_others(above) - level.allowed, np.nan)
        is_more = (beyond > own) | (np.isnan(own) & ~np.isnan(beyond))
        own, doublings = np.where(is_more, beyond, own), np.where(is_more, above, doublings)
    return np.asarray(own), np.asarray(doublings)


def beyond_others(doublings: Floats) -> Floats:
    """Returns by how many doublings each process exceeded the others in each slice."""
    return doublings - np.maximum(_of_others(doublings), 0)


def _of_others(doublings: Floats) -> Floats:
    """Returns for each process and slice the lower median of all other processes; 0 where there are none."""
    n = (~np.isnan(doublings)).sum(0)
    order = np.argsort(doublings, axis=0, kind="stable")  # NaN last
    rank = np.argsort(order, axis=0, kind="stable")
    ordered = np.take_along_axis(doublings, order, 0)
    others = np.where(np.isnan(doublings), n, n - 1)
    middle = np.maximum((others - 1) // 2, 0)
    middle += (rank <= middle) & (others < n)
    taken = np.take_along_axis(ordered, np.minimum(middle, max(len(doublings) - 1, 0)), 0)
    return np.where(others > 0, np.nan_to_num(taken), 0.0)
