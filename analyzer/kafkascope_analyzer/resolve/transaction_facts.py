"""What the second pass over each bucket needs to know of the transactions of all buckets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.ingest.spill import read_spill
from kafkascope_analyzer.resolve.transaction_blocked import blocked_consumers
from kafkascope_analyzer.resolve.transaction_picks import COORDINATOR_REQUESTS, LEADERS_REQUESTS, MARKERS

_PRODUCERS = pa.schema([("transactional_id", pa.string()), ("producer_id", pa.int64())])
_TIMES = pa.schema([("transactional_id", pa.string()), ("ts_ns", pa.int64())])
_MARKERS = pa.schema([("producer_id", pa.int64()), ("ts_ns", pa.int64())])
_REQUESTS = pa.schema([*_PRODUCERS, ("ts_ns", pa.int64()), ("is_bound", pa.bool_())])


@dataclass(frozen=True, slots=True)
class TransactionFacts:
    """producers: producer_id and transactional_id, one row for each producer id. bounds: by transactional id the sorted
    times of its InitProducerId, EndTxn and markers. blocked: consumers blocked by a last stable offset
    (transaction_blocked.BLOCKED_SCHEMA)."""

    producers: pa.Table
    bounds: Mapping[str, NDArray[np.int64]]
    blocked: pa.Table

    def transactional_ids(self, producer_ids: pa.Array) -> pa.Array:
        """The transactional id of each producer id; null where it is not known."""
        rows = pc.index_in(producer_ids, pc.drop_null(self.producers["producer_id"]))
        return self.producers["transactional_id"].combine_chunks().take(rows)

    def stretches(self, transactional_ids: pa.Array, ts_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many bounds of its transactional id each request has before it, or at the same time."""
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


def gather_transaction_facts(spills: Sequence[Path], topics: Mapping[str, str]) -> TransactionFacts:
    """Reads what the buckets spilled. topics: names by topic id."""
    requests = _read(spills, COORDINATOR_REQUESTS, _REQUESTS)
    of_leaders = _read(spills, LEADERS_REQUESTS, _PRODUCERS)
    producers = _producers(pa.concat_tables([requests.select(_PRODUCERS.names), of_leaders]))
    markers = _read(spills, MARKERS, _MARKERS)
    known = TransactionFacts(producers, {}, pa.table({}))
    marked = pa.table([known.transactional_ids(_flat(markers, "producer_id")), _flat(markers, "ts_ns")], schema=_TIMES)
    bounds = pa.concat_tables([requests.filter(requests["is_bound"]).select(_TIMES.names), marked])
    return TransactionFacts(producers, _times(bounds), blocked_consumers(spills, topics))


def _read(spills: Sequence[Path], name: str, schema: pa.Schema) -> pa.Table:
    """The rows of a spilled table of all buckets."""

    def batches() -> Iterator[pa.Table]:
        for spill in spills:
            yield from read_spill(spill, name)

    return pa.concat_tables([schema.empty_table(), *(batch.select(schema.names).cast(schema) for batch in batches())])


def _flat(rows: pa.Table, name: str) -> pa.Array:
    column = rows[name].combine_chunks()
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


def _producers(pairs: pa.Table) -> pa.Table:
    """One row for each producer id. Where several transactional ids have the same one, the last in order of text."""
    known = pairs.filter(pc.and_(pc.is_valid(pairs["transactional_id"]), pc.is_valid(pairs["producer_id"])))
    distinct = known.group_by(["producer_id", "transactional_id"]).aggregate([])
    last = distinct.group_by("producer_id").aggregate([("transactional_id", "max")])
    return last.rename_columns({"transactional_id_max": "transactional_id"}).sort_by("producer_id")


def _times(bounds: pa.Table) -> dict[str, NDArray[np.int64]]:
    """The sorted times of each transactional id."""
    known = bounds.filter(pc.is_valid(bounds["transactional_id"]))
    coded = _flat(known, "transactional_id").dictionary_encode()
    codes, times = coded.indices.to_numpy(), known["ts_ns"].to_numpy()
    order = np.lexsort((times, codes))
    ends = np.searchsorted(codes[order], np.arange(1, len(coded.dictionary)))
    return dict(zip(coded.dictionary.to_pylist(), np.split(times[order], ends), strict=True)) if len(codes) else {}
