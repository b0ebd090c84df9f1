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
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.kernels import slow_stretches
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.api_keys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
)

Floats = NDArray[np.float64]

SLICE_NS = 2_000_000_000
"""Length of a time slice, unless the capture is so long that its slices would need more than MOST_CELLS counts."""
MOST_CELLS = 16 << 20
LEAST_SAMPLES = 3
"""Fewest samples of a slice whose median and upper quartile count."""
LEAST_OF_TENTHS = 10
"""Fewest samples of a slice whose upper tenth counts."""
LEAST_OF_KIND = 16
"""Fewest samples of one kind from which the usual latency is computed."""
USUAL_DOUBLINGS = 1.2
"""Doublings above the usual that the median of a slice may reach by chance."""
UPPER_DOUBLINGS, TENTH_DOUBLINGS = 1.0, 1.5
"""Further doublings above the usual that the upper quartile of a slice, and its upper tenth, may have, compared with
its median."""
MOST_DOUBLINGS = 4.0
"""Most doublings that count for one slice: a single slice proves nothing."""
LEAST_SCORE = 6.0
"""A span shows a slow process where the doublings of its slices beyond USUAL_DOUBLINGS add up to this: ten times as
slow as usual for six seconds, or four times for sixteen."""
MOST_EVIDENCE = 8
_SERVED = (FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR, OFFSET_FOR_LEADER_EPOCH, API_VERSIONS)
_APIS = ApiSet(_SERVED)
_REACTION = len(_SERVED)
"""The kind of samples for the time from a response to the next Fetch of a replica."""
_N_KINDS = 2 * (_REACTION + 1)
"""Number of kinds: samples of clients, which may be further away, have different kinds from those of brokers."""
_NS_PER_US = 1_000
_PER_OCTAVE, _N_CLASSES = 4, 96
_RATIO_OCTAVES = (-2, 6)
_N_RATIOS = (_RATIO_OCTAVES[1] - _RATIO_OCTAVES[0]) * _PER_OCTAVE
_LEAST_USUAL_NS = 300_000
"""Shorter usual latencies count as this one: the clocks of threads are not finer."""
SPILLED = ["conn", "number", "api_key", "ts_ns", "request_last_ns", "request_packet_no", "response_ns"]
SPILLED += ["response_packet_no", "max_wait_ms", "in_flight", "throttle_ms", "replica_id"]


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


class Samples(NamedTuple):
    """Durations with their process, kind, beginning (or the time at which they were due) and request."""

    process: Ints
    kind: Ints
    from_ns: Ints
    took_ns: Ints
    conn: Ints
    number: Ints
    packet_no: Ints
    end_packet_no: Ints

    def taken(self, rows: NDArray[np.generic]) -> "Samples":
        """Returns the chosen samples."""
        return Samples(*(column[rows] for column in self))


@dataclass(frozen=True, slots=True)
class Slices:
    """The time slices of a capture."""

    begin_ns: int
    length_ns: int
    n: int

    def of(self, ts_ns: Ints) -> Ints:
        """Returns the number of the slice of each time."""
        return np.clip((ts_ns - self.begin_ns) // self.length_ns, 0, self.n - 1)


def slow_rows(hosts: ServerHosts, capture_ns: tuple[int, int]) -> pa.Table:
    """Returns one row per slow span of a process and server of it: key and conn_id of the server, the first and the
    last packet of late samples, the number of samples, how many times as long as usual the median took (or the upper
    quartile or tenth, where most were as quick as ever), and the slowest requests."""
    processes = _Processes(hosts)
    if not processes.n:
        return SLOW_ROWS.empty_table()
    usual = usual_times(processes)
    slices = slices_of(capture_ns, processes.n)
    levels, n_samples = doublings_of(processes, usual, slices)
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
    return pa.Table.from_pylist([row for stretch in stretches for row in stretch.rows(processes)], SLOW_ROWS)


class SampleSource(Protocol):
    """Numbered processes, and samples of n_kinds kinds for them, which can be read again and again."""

    n: int
    n_kinds: int

    def samples(self) -> Iterator[Samples]:
        """Yields the samples, batch by batch."""
        ...


class _Processes:
    """The processes that serve a host, numbered consecutively: of all endpoints of a capture few are servers. names:
    for each process the server by which it is named."""

    def __init__(self, hosts: ServerHosts) -> None:
        self.hosts = hosts
        found = np.unique(np.concatenate([hosts.process, hosts.client_process]))
        self.names: Ints = found[found != NONE]
        self.n = len(self.names)
        self.n_kinds = _N_KINDS

    def samples(self) -> "Iterator[Samples]":
        """Yields the samples of all connections, batch by batch."""
        for samples in _samples(self.hosts):
            yield samples._replace(process=np.searchsorted(self.names, samples.process))


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

    def rows(self, processes: _Processes) -> Iterator[dict[str, object]]:
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
                    "slowest": requests.to_pylist(),
                }


def slices_of(capture_ns: tuple[int, int], n_processes: int) -> Slices:
    """Returns the time slices of a capture with so many processes."""
    begin_ns, end_ns = capture_ns
    most = max(MOST_CELLS // (max(n_processes, 1) * _N_RATIOS), 1)
    length_ns = max(SLICE_NS, -(-(end_ns - begin_ns + 1) // most))
    return Slices(begin_ns, length_ns, (end_ns - begin_ns) // length_ns + 1)


def _samples(hosts: ServerHosts) -> Iterator[Samples]:
    for spill, first in hosts.first_row.items():
        last_ns, last_packet = np.zeros((2, int(hosts.connections.num_rows)), np.int64)
        for rows in read_spill(spill, "requests", SPILLED):
            conn = rows["conn"].to_numpy() + first
            yield _responses(hosts, rows, conn)
            yield _reactions(hosts, rows, conn, (last_ns, last_packet))


def _responses(hosts: ServerHosts, rows: pa.Table, conn: Ints) -> Samples:
    """Returns samples for the responses that servers gave by themselves; for a Fetch that waited for records, its
    excess over that wait."""
    api_key, in_flight = int_column(rows, "api_key", -1), int_column(rows, "in_flight", 1)
    sent, answered = int_column(rows, "request_last_ns", 0), int_column(rows, "response_ns", 0)
    due = sent + np.maximum(int_column(rows, "max_wait_ms", 0), 0) * 1_000_000
    took = answered - due
    kept = _APIS.has(api_key) & (in_flight <= 1) & (int_column(rows, "throttle_ms", 0) <= 0)
    kept &= (api_key != FETCH) | np.asarray(rows["max_wait_ms"].is_valid())
    kept &= (answered > 0) & (took >= 0) & (hosts.process[conn] != NONE)
    kind = np.full(len(conn), NONE)
    for number, api in enumerate(_SERVED):
        kind[api_key == api] = number
    packets = (int_column(rows, name, 0) for name in ("request_packet_no", "response_packet_no"))
    kind += np.where(hosts.client_process[conn] != NONE, _N_KINDS // 2, 0)
    columns = (hosts.process[conn], kind, due, took, conn, rows["number"].to_numpy(), *packets)
    return Samples(*columns).taken(np.flatnonzero(kept))


def _reactions(hosts: ServerHosts, rows: pa.Table, conn: Ints, last: tuple[Ints, Ints]) -> Samples:
    """Returns samples for the time from a leader's response to a replica's next Fetch."""
    process = np.where(int_column(rows, "replica_id", -1) >= 0, hosts.client_process[conn], NONE)
    samples = fetch_reactions(rows, conn, process, last)
    return samples._replace(kind=samples.kind + _N_KINDS // 2 + _REACTION)


def fetch_reactions(rows: pa.Table, conn: Ints, process: Ints, last: tuple[Ints, Ints]) -> Samples:
    """Returns samples, all of kind 0, for the time from the response to a Fetch to the next Fetch on the connection.
    conn, process: connection and process of each row, NONE for rows to be left out. last: time and packet of the last
    response to a Fetch on each connection; updated."""
    at = np.flatnonzero((int_column(rows, "api_key", -1) == FETCH) & (process != NONE))
    number = rows["number"].to_numpy()
    at = at[np.lexsort((number[at], conn[at]))]
    mine, sent, answered = conn[at], int_column(rows, "ts_ns", 0)[at], int_column(rows, "response_ns", 0)[at]
    packet_no, until = (int_column(rows, f"{name}_packet_no", 0)[at] for name in ("request", "response"))
    is_first = np.append(True, mine[1:] != mine[:-1])[: len(at)]
    before_ns = np.where(is_first, last[0][mine], np.roll(answered, 1))
    before_packet = np.where(is_first, last[1][mine], np.roll(until, 1))
    last[0][mine], last[1][mine] = answered, until
    kept = (before_ns > 0) & (sent >= before_ns)
    kind = np.zeros(len(at), np.int64)
    columns = (process[at], kind, before_ns, sent - before_ns, mine, number[at], before_packet, packet_no)
    return Samples(*columns).taken(np.flatnonzero(kept))


def usual_times(processes: SampleSource) -> Ints:
    """Returns the lower quartile of each process and kind, nanoseconds; 0 where there are too few samples."""
    counts = np.zeros((processes.n * processes.n_kinds, _N_CLASSES), np.int32)
    for samples in processes.samples():
        octaves = np.log2(np.maximum(samples.took_ns / _NS_PER_US, 1))
        classes = np.minimum((octaves * _PER_OCTAVE).astype(np.int64), _N_CLASSES - 1)
        np.add.at(counts, (samples.process * processes.n_kinds + samples.kind, classes), 1)
    total = counts.sum(1)
    quartile = (np.cumsum(counts, 1, dtype=np.int64) * 4 >= total[:, None]).argmax(1)
    usual = (2 ** (quartile / _PER_OCTAVE) * _NS_PER_US).astype(np.int64)
    known = np.where(total >= LEAST_OF_KIND, np.maximum(usual, _LEAST_USUAL_NS), 0)
    return np.asarray(known.reshape(-1, processes.n_kinds))


def times_usual(samples: Samples, usual: Ints) -> Floats:
    """Returns how many doublings above the usual each sample is; NaN where that is not known."""
    compared = usual[samples.process, samples.kind].astype(np.float64)
    ratio = np.maximum(samples.took_ns, _NS_PER_US) / np.where(compared > 0, compared, np.nan)
    return np.asarray(np.log2(ratio))


def doublings_of(processes: SampleSource, usual: Ints, slices: Slices) -> tuple[list[Floats], Ints]:
    """Returns the quantiles of _LEVELS of each process in each slice, as doublings above the usual, NaN where there are
    too few samples; and the number of samples."""
    counts = np.zeros((processes.n * slices.n, _N_RATIOS), np.int32)
    least, most = _RATIO_OCTAVES
    for samples in processes.samples():
        above = times_usual(samples, usual)
        known = np.flatnonzero(~np.isnan(above))
        samples, above = samples.taken(known), above[known]
        ratio = ((np.clip(above, least, most - 1 / _PER_OCTAVE) - least) * _PER_OCTAVE).astype(np.int64)
        np.add.at(counts, (samples.process * slices.n + slices.of(samples.from_ns), ratio), 1)
    total = counts.sum(1)
    shape = processes.n, slices.n
    below = np.cumsum(counts, 1, dtype=np.int32)
    found = []
    for level in _LEVELS:
        at = (below >= level.share * np.maximum(total, 1)[:, None]).argmax(1)
        found.append(np.where(total >= level.least, at / _PER_OCTAVE + least, np.nan).reshape(shape))
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
