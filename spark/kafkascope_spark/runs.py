"""Stretches of a batch of events in which one client's request fails on one topic-partition again and again.

A storm is a million of the same. Such a stretch is handed on whole (Run), in columns: who cannot make use of that takes
its rows one by one (Run.rows). Nothing but ids, times and counts differs within a stretch, by comparison of neighbours.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

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


class Again(NamedTuple):
    """One of what happened: a request that names the topic-partition was sent (sent_ns is ts_ns), or its error came
    (sent_ns: when it was sent as the error's mark says, in whole microseconds before the answer)."""

    ts_ns: int
    is_error: bool
    request_id: str
    sent_ns: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """The same error again and again, in order of time. request, failure: of one of them; leader_id: what the hint in
    each answer says, None without hints."""

    told: list[Again]
    n_errors: int
    request: wire.Request
    failure: wire.Failure
    leader_id: int | None

    @property
    def last_ns(self) -> int:
        """Time of the last error."""
        return max(again.ts_ns for again in self.told if again.is_error)

    @property
    def has_tries(self) -> bool:
        """Whether requests are told when they are sent."""
        return len(self.told) > self.n_errors


class Run:
    """A stretch of a batch: requests of one connection, their errors, and the errors' hints. ts_ns: of its rows."""

    def __init__(self, batch: pa.RecordBatch, rows: Rows) -> None:
        self._batch = batch
        self._rows = rows
        self._ranks = _numbers(batch.column("rank"))
        self.ts_ns = _numbers(batch.column("ts_ns"))
        self.client_ip = str(batch.column("client_ip")[0])

    @property
    def first_key(self) -> Key:
        """Of its first row."""
        return self.client_ip, 1, int(self.ts_ns[0]), int(self._ranks[0])

    @property
    def last_key(self) -> Key:
        """Of its last row."""
        return self.client_ip, 1, int(self.ts_ns[-1]), int(self._ranks[-1])

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
        times = self.ts_ns[begin:end]
        part = self._batch.slice(begin, end - begin)
        asked, failed, named = (part.column(name).flatten() for name in _RANKS)
        if not len(asked) or not len(failed):
            return None
        known = {r.request_id: (r.response_ns, r.ts_ns) for r in waiting if r.response_ns is not None}
        answers = {i: (at, ts) for i, at, ts in zip(*map(_values, _fields(asked, *_SENT)), strict=True)}
        known |= {i: answer for i, answer in answers.items() if answer[0] < until}
        errors = list(zip(_values(failed.field("request_id")), times[ranks == _RANKS["failure"]].tolist(), strict=True))
        hints, tries = (named.filter(named.field("hints")), named.filter(pc.invert(named.field("hints"))))
        hinted = {(i, ts) for i, ts in zip(*map(_values, _fields(hints, "request_id", "ts_ns")), strict=True)}
        if {(i, at) for i, (at, _) in known.items()} != set(errors) or len(known) != len(errors):
            return None
        if hinted and (hinted != set(errors) or len(hints) != len(errors)):
            return None
        told = [Again(ts, False, i, ts) for i, ts in zip(*map(_values, _fields(tries, *_NAMED)), strict=True)]
        told += [Again(at, True, i, at - (at - ts) // 1000 * 1000) for i, (at, ts) in known.items()]
        request, failure = (self._first(part, ranks, kind) for kind in ("request", "failure"))
        if not all(_is_about(each, failure) for each in (hints, tries)):
            return None
        leader_id = _values(hints.field("leader_id"))[0] if hinted else None
        rows = dict(zip(_values(asked.field("request_id")), np.flatnonzero(ranks == 0).tolist(), strict=True))
        left = pa.array([row for i, row in rows.items() if i not in known], pa.int64())
        found = Repeats(sorted(told), len(errors), request, failure, leader_id)
        return found, list(self._rows(part.take(left))) if len(left) else []

    def _first(self, part: pa.RecordBatch, ranks: Longs, kind: str) -> Any:
        """The first of the part's requests or failures."""
        return next(body for _, body in self._rows(part.slice(int(np.argmax(ranks == _RANKS[kind])), 1)))


_SENT = ("request_id", "response_ns", "ts_ns")
_NAMED = ("request_id", "ts_ns")


def _is_about(named: pa.StructArray, failure: wire.Failure) -> bool:
    """Whether the first of them names the topic-partition that failed; the others do as the first."""
    places = zip(*map(_values, _fields(named[:1], "topic", "partition")), strict=True)
    return all(place == (failure.topic, failure.partition) for place in places)


def _fields(structs: pa.StructArray, *names: str) -> list[pa.Array]:
    return [structs.field(name) for name in names]


def _values(column: pa.Array) -> list[Any]:
    return list(column.to_numpy(zero_copy_only=False).tolist())


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
