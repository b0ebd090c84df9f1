"""Stretches of a batch of events in which one client's request fails on one topic-partition again and again.

A storm is a million of the same. Such a stretch is handed on whole (Run), in columns: who cannot make use of that takes
its rows one by one (Run.rows). Nothing but ids, times and counts differs within a stretch, by comparison of neighbours.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_spark import wire
from kafkascope_spark.recoveries.failures import OVERDUE_NS
from kafkascope_spark.rows import EventRow, Key

LEAST_ROWS = 600
"""A shorter stretch is not worth the look."""
EDGE_ERRORS = 32
"""Errors at the begin and at the end of a stretch that are told one by one: more than an episode keeps of either."""
_OWN = {
    "request": {"request_id", "correlation_id", "ts_ns", "request_last_ns", "response_ns", "response_last_ns"}
    | {"latency_us", "n_records"},
    "failure": {"request_id"},
    "touch": {"request_id", "ts_ns"},
}
"""What may differ from row to row, by the kind of row."""
_RANKS = {"request": 0, "failure": 1, "touch": 2}
_APIS = (wire.PRODUCE, wire.FETCH)

Bools = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]
Rows = Callable[[pa.RecordBatch], Iterator[EventRow]]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The same error again and again: what happened in order of time, in columns. ts_ns; is_error: whether an error
    came, else a request that names the topic-partition was sent; ids: number of the request in names; sent_ns: when it
    was sent (as an error's mark says: in whole microseconds before the answer). request, failure: of one of them;
    leader_id: what the hint in each answer says, None without hints."""

    ts_ns: Longs
    is_error: Bools
    ids: Longs
    sent_ns: Longs
    names: pa.Array
    request: wire.Request
    failure: wire.Failure
    leader_id: int | None

    @property
    def n_errors(self) -> int:
        """How many errors came."""
        return int(np.count_nonzero(self.is_error))

    @property
    def last_ns(self) -> int:
        """Time of the last error."""
        return int(self.ts_ns[self.is_error].max())

    @property
    def has_tries(self) -> bool:
        """Whether requests are told when they are sent."""
        return not bool(self.is_error.all())

    def last_error_ns(self, before_ns: int) -> Longs:
        """Time of the last error before each; before_ns for none."""
        last = np.maximum.accumulate(np.where(self.is_error, np.arange(len(self.ts_ns)), -1))
        last = np.concatenate([[-1], last[:-1]])
        found: Longs = np.where(last >= 0, self.ts_ns[last], before_ns)
        return found

    def tries(self, last_error_ns: int, tried: str | None, *, of_errors: bool) -> tuple[Bools, str | None]:
        """Which of them are tries that were not seen before: sent after the error before it (last_error_ns: before the
        first) and not by the request that was tried last (tried), which says so only where it is an error (of_errors);
        and the request that was tried last."""
        candidates = np.flatnonzero(self.sent_ns > self.last_error_ns(last_error_ns))
        told = np.zeros(len(self.ts_ns), bool)
        if not len(candidates):
            return told, tried
        ids = self.ids[candidates]
        before = np.concatenate([[pc.index(self.names, pa.scalar(tried, pa.string())).as_py()], ids[:-1]])
        same = ids == before
        told[candidates] = ~(same & self.is_error[candidates]) if of_errors else ~same
        return told, self.names[int(ids[-1])].as_py()


class Run:
    """A stretch of a batch: requests of one connection, their errors, and the errors' hints. ts_ns: of its rows."""

    def __init__(self, batch: pa.RecordBatch, rows: Rows) -> None:
        self._batch = batch
        self._rows = rows
        self._ranks = _numbers(batch.column("rank"))
        self.ts_ns = _numbers(batch.column("ts_ns"))
        self.client_ip = str(batch.column("client_ip")[0]) if batch.num_rows else ""

    @property
    def first_key(self) -> Key:
        """Of its first row."""
        return self.client_ip, 1, int(self.ts_ns[0]), int(self._ranks[0])

    @property
    def last_key(self) -> Key:
        """Of its last row."""
        return self.client_ip, 1, int(self.ts_ns[-1]), int(self._ranks[-1])

    def rest(self, begin: int) -> "Run":
        """What is left of it from that row on."""
        return Run(self._batch.slice(begin), self._rows)

    def rows(self, begin: int, end: int | None = None) -> Iterator[EventRow]:
        """The rows of that range, one by one."""
        return self._rows(self._batch.slice(begin) if end is None else self._batch.slice(begin, end - begin))

    def middle(self) -> tuple[int, int] | None:
        """The range without EDGE_ERRORS errors at either end, cut where time goes on; None where nothing is left."""
        errors = np.flatnonzero(self._ranks == _RANKS["failure"])
        if len(errors) < 3 * EDGE_ERRORS:
            return None
        begin, end = (int(np.searchsorted(self.ts_ns, self.ts_ns[errors[at]])) for at in (EDGE_ERRORS, -EDGE_ERRORS))
        return (begin, end) if 0 < begin < end else None

    def repeats(self, begin: int, end: int, waiting: list[wire.Request]) -> "tuple[Repeats, list[EventRow]] | None":
        """What happened in that range, and the requests in it that are answered later. waiting: requests from before
        that are answered in it. None where answers and errors do not match one to one."""
        until, ranks = int(self.ts_ns[end]), self._ranks[begin:end]
        part = self._batch.slice(begin, end - begin)
        asked, failed, named = (part.column(name).flatten() for name in _RANKS)
        if not len(asked) or not len(failed):
            return None
        is_hint = _bools(named.field("hints"))
        ids = [structs.field("request_id") for structs in (asked, failed, named)]
        waited = [r for r in waiting if r.response_ns is not None]
        names, (waits, asks, fails, names_it) = _numbered([pa.array([r.request_id for r in waited], pa.string()), *ids])
        sent, answered = (np.array([_of(r, n) for r in waited], np.int64) for n in ("ts_ns", "response_ns"))
        is_answered = _numbers(asked.field("response_ns")) < until
        known, which = np.unique(np.concatenate([waits, asks[is_answered]]), return_index=True)
        sent, answered = (
            np.concatenate([mine, _numbers(asked.field(name))[is_answered]])[which]
            for mine, name in ((sent, "ts_ns"), (answered, "response_ns"))
        )
        times = self.ts_ns[begin:end]
        errors = _pairs(fails, times[ranks == _RANKS["failure"]])
        hinted = _pairs(names_it[is_hint], _numbers(named.field("ts_ns"))[is_hint])
        if not np.array_equal(errors, _pairs(known, answered)):
            return None
        if hinted.size and not np.array_equal(hinted, errors):
            return None
        hints, tries = named.filter(pa.array(is_hint)), named.filter(pa.array(~is_hint))
        request, failure = (self._first(part, ranks, kind) for kind in ("request", "failure"))
        if not all(_is_about(each, failure) for each in (hints, tries)):
            return None
        tried = _numbers(tries.field("ts_ns"))
        columns = (
            np.concatenate([tried, answered]),
            np.repeat([False, True], [len(tried), len(known)]),
            np.concatenate([names_it[~is_hint], known]),
            np.concatenate([tried, answered - (answered - sent) // 1000 * 1000]),
        )
        order = _by_time(columns[0], columns[1], columns[2], names)
        leader_id = hints.field("leader_id")[0].as_py() if hinted.size else None
        ts_ns, is_error, numbers, sent_ns = (column[order] for column in columns)
        found = Repeats(ts_ns, is_error, numbers, sent_ns, names, request, failure, leader_id)
        later = np.flatnonzero(ranks == 0)[~np.isin(asks, known)]
        return found, list(self._rows(part.take(pa.array(later)))) if len(later) else []

    def _first(self, part: pa.RecordBatch, ranks: Longs, kind: str) -> Any:
        """The first of the part's requests or failures."""
        return next(body for _, body in self._rows(part.slice(int(np.argmax(ranks == _RANKS[kind])), 1)))


def _of(request: wire.Request, name: str) -> int:
    number: int = getattr(request, name)
    return number


def _numbered(ids: list[pa.Array]) -> tuple[pa.Array, list[Longs]]:
    """Ids as numbers: all that there are, and the number of each in each list."""
    found = pc.dictionary_encode(pa.concat_arrays(ids))
    numbers = _numbers(found.indices)
    return found.dictionary, np.split(numbers, np.cumsum([len(each) for each in ids])[:-1])


def _pairs(ids: Longs, times: Longs) -> Longs:
    """Ids and times, in order of both."""
    order = np.lexsort((times, ids))
    return np.stack([ids[order], times[order]])


def _by_time(ts_ns: Longs, is_error: Bools, ids: Longs, names: pa.Array) -> Longs:
    """How they follow one another: requests before errors, and at one instant by their names."""
    order: Longs = np.lexsort((is_error, ts_ns))
    if ((np.diff(ts_ns[order]) == 0) & (np.diff(is_error[order].astype(np.int8)) == 0)).any():
        rank = np.empty(len(names), np.int64)
        rank[pc.sort_indices(names).to_numpy()] = np.arange(len(names))
        order = np.lexsort((rank[ids], is_error, ts_ns))
    return order


def _is_about(named: pa.StructArray, failure: wire.Failure) -> bool:
    """Whether the first of them names the topic-partition that failed; the others do as the first."""
    if not len(named):
        return True
    return (named.field("topic")[0].as_py(), named.field("partition")[0].as_py()) == (failure.topic, failure.partition)


def runs_of(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    """Ranges of the batch's rows (from, to) that are stretches of the same failure, in order."""
    if batch.num_rows < LEAST_ROWS:
        return []
    ranks, sections = _numbers(batch.column("rank")), _numbers(batch.column("section"))
    if np.count_nonzero((sections == 1) & (ranks == _RANKS["failure"])) < LEAST_ROWS // 3:
        return []
    breaks = (sections != 1) | _differs(batch.column("client_ip"))
    times = _numbers(batch.column("ts_ns"))
    breaks[1:] |= (np.diff(times) < 0) | ((np.diff(times) == 0) & (np.diff(ranks) < 0))
    for name, rank in _RANKS.items():
        mine = np.flatnonzero((sections == 1) & (ranks == rank))
        structs = batch.column(name).flatten()
        if len(mine) != len(structs):
            return []
        for alike in _kinds(structs):
            breaks[mine[alike]] |= _changes(structs.take(pa.array(alike)), _OWN[name])
        breaks[mine] |= ~_FIT[name](structs)
    edges = [0, *np.flatnonzero(breaks).tolist(), batch.num_rows]
    return [(a, b) for a, b in itertools.pairwise(edges) if b - a >= LEAST_ROWS and not _is_odd(batch, a)]


def _kinds(structs: pa.StructArray) -> list[Longs]:
    """Which structs are to be compared with one another: tries and hints apart."""
    if structs.type.get_field_index("hints") < 0:
        return [np.arange(len(structs))]
    hints = _bools(structs.field("hints"))
    return [np.flatnonzero(hints), np.flatnonzero(~hints)]


def _is_odd(batch: pa.RecordBatch, at: int) -> bool:
    """Whether the row that a stretch begins with is itself none of a stretch."""
    one = batch.slice(at, 1)
    if one.column("section")[0].as_py() != 1:
        return True
    name = next(name for name, rank in _RANKS.items() if rank == one.column("rank")[0].as_py())
    return not bool(_FIT[name](one.column(name).flatten()).all())


def _changes(structs: pa.StructArray, own: set[str]) -> Bools:
    """Whether a struct differs from the one before it in any other field."""
    changed = np.zeros(len(structs), bool)
    for field in structs.type:
        if field.name not in own:
            changed |= _differs(structs.field(field.name))
    return changed


def _differs(column: pa.Array) -> Bools:
    differs = np.zeros(len(column), bool)
    if len(column) > 1 and column.null_count != len(column):
        codes = pc.dictionary_encode(column, null_encoding="encode").indices
        differs[1:] = np.diff(_numbers(codes)) != 0
    return differs


def _fit_requests(structs: pa.StructArray) -> Bools:
    """Answered data requests of no group and no transaction, which prove nothing and silence nobody."""
    plain = pc.and_(pc.equal(structs.field("status"), "ok"), pc.is_in(structs.field("api_key"), _api_keys(structs)))
    for name in ("group_id", "member_id", "transactional_id"):
        plain = pc.and_(plain, pc.is_null(structs.field(name)))
    plain = pc.and_(plain, pc.equal(pc.fill_null(structs.field("throttle_ms"), 0), 0))
    plain = pc.and_(plain, pc.invert(_may_be_late(structs)))
    return _bools(pc.and_(plain, pc.is_valid(structs.field("response_ns"))))


def _may_be_late(structs: pa.StructArray) -> pa.Array:
    """Whether the answer came after it was overdue: recoveries.failures.late_since looks at such."""
    wait_us = pc.multiply(pc.fill_null(structs.field("max_wait_ms"), 0).cast(pa.int64()), 1_000)
    return pc.greater(pc.fill_null(structs.field("latency_us"), 0), pc.add(wait_us, OVERDUE_NS // 1_000))


def _api_keys(structs: pa.StructArray) -> pa.Array:
    return pa.array(_APIS, structs.type.field("api_key").type)


def _fit_failures(structs: pa.StructArray) -> Bools:
    return _bools(pc.and_(pc.is_valid(structs.field("topic")), pc.is_valid(structs.field("partition"))))


def _fit_touches(structs: pa.StructArray) -> Bools:
    hints = pc.and_(structs.field("hints"), pc.is_valid(structs.field("leader_id")))
    tries = pc.invert(pc.or_(structs.field("hints"), pc.or_(structs.field("answered"), structs.field("vain"))))
    tries = pc.and_(tries, pc.is_null(structs.field("leader_id")))
    return _bools(pc.or_(hints, tries))


_FIT: dict[str, Callable[[Any], Bools]] = {
    "request": _fit_requests,
    "failure": _fit_failures,
    "touch": _fit_touches,
}


def _bools(column: pa.Array) -> Bools:
    found: Bools = pc.fill_null(column, fill_value=False).to_numpy(zero_copy_only=False)
    return found


def _numbers(column: pa.Array) -> Longs:
    numbers: Longs = pc.fill_null(column, 0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers
