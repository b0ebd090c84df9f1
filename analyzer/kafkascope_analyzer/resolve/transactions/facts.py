"""Facts about the transactions of all buckets that the second pass over each bucket needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.transactions.blocked import blocked_consumers
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.transaction_picks import COORDINATOR_REQUESTS, LEADERS_REQUESTS, MARKERS

_PRODUCERS = pa.schema([("transactional_id", pa.string()), ("producer_id", pa.int64())])


@dataclass(frozen=True, slots=True)
class TransactionFacts:
    """producers: producer_id and transactional_id, one row for each producer id. bounds: by transactional id the sorted
    times of its InitProducerId, EndTxn and markers. blocked: consumers blocked by a last stable offset
    (blocked.BLOCKED_SCHEMA)."""

    producers: pa.Table
    bounds: Mapping[str, NDArray[np.int64]]
    blocked: pa.Table

    def transactional_ids(self, producer_ids: pa.Array) -> pa.Array:
        """Returns the transactional id of each producer id; null where it is not known."""
        rows = pc.index_in(producer_ids, pc.drop_null(self.producers["producer_id"]))
        return self.producers["transactional_id"].combine_chunks().take(rows)

    def stretches(self, transactional_ids: pa.Array, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns how many bounds of its transactional id each request has before it, or at the same time."""
        coded = transactional_ids.dictionary_encode()
        codes = coded.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
        out = np.zeros(len(codes), np.int64)
        for code, name in enumerate(coded.dictionary.to_pylist()):
            rows = order[ends[code] : ends[code + 1]]
            if name in self.bounds:
                out[rows] = np.searchsorted(self.bounds[name], ts_ns[rows], side="right")
        return out


def gather_transaction_facts(spills: Sequence[Path], topics: TopicNames) -> TransactionFacts:
    """Gathers the facts from the spills of the buckets."""
    pairs, bounds = [_PRODUCERS.empty_table()], _Bounds()
    for name in (COORDINATOR_REQUESTS, LEADERS_REQUESTS):
        for rows in _read(spills, name):
            pairs.append(_last_ids(rows.select(_PRODUCERS.names).cast(_PRODUCERS)))
            if "is_bound" in rows.column_names:
                begins_or_ends = rows.filter(rows["is_bound"])
                bounds.add(flat(begins_or_ends["transactional_id"]), begins_or_ends["ts_ns"].to_numpy())
    known = TransactionFacts(_last_ids(pa.concat_tables(pairs)), {}, pa.table({}))
    for rows in _read(spills, MARKERS):
        bounds.add(known.transactional_ids(flat(rows["producer_id"])), rows["ts_ns"].to_numpy())
    return TransactionFacts(known.producers, bounds.by_id(), blocked_consumers(spills, topics))


def _read(spills: Sequence[Path], name: str) -> Iterator[pa.Table]:
    """Yields the rows of a spilled table of all buckets, batch by batch."""
    for spill in spills:
        yield from read_spill(spill, name)


def _last_ids(pairs: pa.Table) -> pa.Table:
    """Returns one row for each producer id. Where several transactional ids have the same one, the last in
    text order."""
    known = pairs.filter(pc.and_(pc.is_valid(pairs["transactional_id"]), pc.is_valid(pairs["producer_id"])))
    distinct = known.group_by(["producer_id", "transactional_id"], use_threads=False).aggregate([])
    last = distinct.group_by("producer_id", use_threads=False).aggregate([("transactional_id", "max")])
    return last.rename_columns({"transactional_id_max": "transactional_id"}).select(_PRODUCERS.names)


class _Bounds:
    """Gathers the times of bounds: 12 bytes for each."""

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._times: list[NDArray[np.int64]] = [np.empty(0, np.int64)]

    def add(self, transactional_ids: pa.Array, ts_ns: NDArray[np.int64]) -> None:
        """Takes bounds; those without a transactional id are left out."""
        coded = transactional_ids.dictionary_encode()
        own = [self._code_of.setdefault(name, len(self._code_of)) for name in coded.dictionary.to_pylist()]
        known = np.asarray(coded.is_valid())
        codes = coded.indices.drop_null().to_numpy()
        self._codes.append(np.array(own, np.int32)[codes])
        self._times.append(ts_ns[known])

    def by_id(self) -> dict[str, NDArray[np.int64]]:
        """Returns the sorted times of each transactional id."""
        codes, times = np.concatenate(self._codes), np.concatenate(self._times)
        order = np.lexsort((times, codes))
        ends = np.searchsorted(codes[order], np.arange(1, len(self._code_of)))
        return dict(zip(self._code_of, np.split(times[order], ends), strict=True)) if len(codes) else {}
