"""Makes rows for the flow kernels (flow.kernels.ACCEPTED, FETCHED) from the spills of buckets, and finds the batches of
producers that may have waited.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.flow.blocks import Block, NamedRows
from kafkascope_analyzer.resolve.flow.clients import conn_keys
from kafkascope_analyzer.resolve.flow.counts import CONN_SHIFT, MOST_CELLS, MOST_PLACES, FlowRows, ProduceCounts
from kafkascope_analyzer.resolve.flow.kernels import ACCEPTED as ACCEPTED_ROW
from kafkascope_analyzer.resolve.flow.kernels import FETCHED as FETCHED_ROW
from kafkascope_analyzer.resolve.flow.kernels import NONE, US
from kafkascope_analyzer.resolve.flow.produce_facts import CANDIDATES, LONGEST_NS, ProducerClocks
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED
from kafkascope_analyzer.scan.places import NO_PLACE, Slots, TopicPartitions
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS, MILLISECOND
from kafkascope_parsers.row_copies import joined_rows

Longs = NDArray[np.int64]
_STATE = ("partitions", "_n_beyond_cells", "_n_beyond_places", "_cells", "_places", "_readers")
"""The attributes of a Flow that make its state."""


@dataclass(slots=True)
class BucketRows:
    """The rows that were read of one bucket. number: number of the bucket; base: number of its first connection;
    counts: counts of producers' records; until_ns: the last response of the last block that was read; accepted,
    fetched: rows that are not counted yet, by time; candidates: rows of CANDIDATES."""

    number: int
    base: int
    counts: ProduceCounts
    blocks: Iterator[Block] = field(default_factory=lambda: iter(()))
    until_ns: int = -1
    is_read: bool = False
    accepted: NDArray[np.void] = field(default_factory=lambda: np.empty(0, ACCEPTED_ROW))
    fetched: NDArray[np.void] = field(default_factory=lambda: np.empty(0, FETCHED_ROW))
    candidates: list[pa.Table] = field(default_factory=list)

    def all_candidates(self) -> pa.Table:
        """Returns the batches of the bucket that may have waited, when all blocks were added."""
        return pa.concat_tables([CANDIDATES.empty_table(), *self.candidates])

    def state(self) -> dict[str, Any]:
        """Returns the rows that are not counted yet, to be saved."""
        return {"accepted": self.accepted, "fetched": self.fetched, "candidates": self.all_candidates()}

    def resume(self, state: Mapping[str, Any], changed: NDArray[np.bool_]) -> None:
        """Continues with this state, without the candidates of the connections that have changed."""
        self.accepted, self.fetched = state["accepted"], state["fetched"]
        is_changed = changed[state["candidates"]["conn"].to_numpy()]
        self.candidates = [state["candidates"].filter(pa.array(~is_changed))]


def by_time(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Returns the rows of the parts by time."""
    parts = [part for part in parts if len(part)] or parts[:1]
    rows = joined_rows(parts) if len(parts) > 1 else parts[0]
    ts_ns = np.ascontiguousarray(rows["ts_ns"])
    return rows if (ts_ns[1:] >= ts_ns[:-1]).all() else rows.take(np.argsort(ts_ns, kind="stable"))


class Flow:
    """Makes rows for the kernels from the spills of a number of buckets. readers: the number of the reader of each
    connection."""

    def __init__(self, readers: Longs, clocks: ProducerClocks, n_buckets: int) -> None:
        self.partitions = TopicPartitions()
        self._n_beyond_cells = self._n_beyond_places = 0
        self._reader_of = readers
        self._clocks = clocks
        self._n_buckets = n_buckets
        self._cells, self._places, self._readers = Slots(), Slots(), Slots()

    @property
    def n_left_out(self) -> int:
        """The number of topic-partitions of responses that were not counted because of the limits."""
        return self._n_beyond_cells + self._n_beyond_places

    def state(self) -> dict[str, Any]:
        """Returns the assigned numbers, to be saved."""
        return {name: getattr(self, name) for name in _STATE}

    def resume(self, state: dict[str, Any]) -> None:
        """Continues with these numbers."""
        for name in _STATE:
            setattr(self, name, state[name])

    def add(self, bucket: BucketRows, block: Block) -> None:
        """Adds a block to the rows of a bucket."""
        accepted = [bucket.accepted, *(self._accepted(bucket, named) for named in block[BATCHES])]
        fetched = [self._fetched(bucket, named) for named in block[FETCHED]]
        for rows in accepted[1:]:
            self._n_beyond_places += bucket.counts.take(rows)
        bucket.accepted = by_time(accepted)
        bucket.fetched = by_time([bucket.fetched, *fetched])

    def recount(self, bucket: BucketRows, named: NamedRows, changed: NDArray[np.bool_]) -> None:
        """Counts again the batches that changed connections sent, for batches that were added before."""
        chosen = pa.array(changed[int_column(named.rows, "conn", 0)])
        n_beyond = self._n_beyond_places
        bucket.counts.take(self._accepted(bucket, NamedRows(named.topics.filter(chosen), named.rows.filter(chosen))))
        self._n_beyond_places = n_beyond

    def _accepted(self, bucket: BucketRows, named: NamedRows) -> NDArray[np.void]:
        """Returns the batches that brokers accepted, of those whose requests are in the capture. Keeps those that may
        have waited."""
        bucket.until_ns = max(bucket.until_ns, int(int_column(named.rows, "ts_ns", NONE).max(initial=NONE)))
        places = self.partitions.of_names(named.topics, named.rows["partition"])
        chosen = np.flatnonzero((int_column(named.rows, "sent_ns", NONE) != NONE) & (places != NO_PLACE))
        rows, places = named.rows.take(pa.array(chosen)), places[chosen]
        conn, ts_ns = int_column(rows, "conn", 0) + bucket.base, int_column(rows, "ts_ns", NONE)
        oldest_us = self._age_us(ts_ns, int_column(rows, "first_timestamp_ms", NONE), conn)
        waited = self._may_have_waited(rows, ts_ns, oldest_us)
        if waited.any():
            topics = named.topics.take(pa.array(chosen[waited]))
            bucket.candidates.append(_candidate_rows(rows.filter(pa.array(waited)), topics))
        found = np.empty(len(chosen), ACCEPTED_ROW)
        found["ts_ns"], found["place"], found["cell"] = ts_ns, places, conn - bucket.base << CONN_SHIFT | places
        found["first_offset"] = int_column(rows, "partition_offset", NONE)
        found["n_records"], found["record_bytes"] = (
            int_column(rows, "n_records", 0),
            int_column(rows, "record_bytes", 0),
        )
        youngest_us = np.maximum(self._age_us(ts_ns, int_column(rows, "max_timestamp_ms", NONE), conn), 0)
        found["oldest_us"], found["youngest_us"] = oldest_us, np.minimum(youngest_us, oldest_us)
        is_accepted = (int_column(rows, "error_code", 0) == 0) & (ts_ns != NONE)
        return by_time([self._followed(found if is_accepted.all() else found.compress(is_accepted))])

    def _may_have_waited(self, rows: pa.Table, ts_ns: Longs, oldest_us: Longs) -> NDArray[np.bool_]:
        """Whether each batch may have waited: it was refused, answered late or never, or created long before."""
        late = (ts_ns - int_column(rows, "sent_ns", 0) >= LEAST_PAUSE_NS) | (oldest_us >= LEAST_PAUSE_NS // US)
        return np.asarray(late | (int_column(rows, "error_code", 0) != 0) | (ts_ns == NONE))

    def _age_us(self, ts_ns: Longs, created_ms: Longs, conn: Longs) -> Longs:
        """Returns the age of records at the time of a response, on the capture's clock; NONE where it is not known."""
        age_ns = ts_ns - created_ms * MILLISECOND - self._clocks.least_ns[conn]
        is_known = (created_ms >= 0) & self._clocks.is_usable[conn] & (age_ns < LONGEST_NS)
        return np.where(is_known, np.maximum(age_ns, 0) // US, NONE)

    def _fetched(self, bucket: BucketRows, named: NamedRows) -> NDArray[np.void]:
        """Returns the topic-partitions in responses to consumers."""
        rows = named.rows
        ts_ns = int_column(rows, "ts_ns", 0)
        bucket.until_ns = max(bucket.until_ns, int(ts_ns.max(initial=-1)))
        places = self.partitions.of_names(named.topics, rows["partition"])
        is_replica = np.asarray(rows["from_replica"].combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
        chosen = np.flatnonzero(~is_replica & (places != NO_PLACE))
        found = np.empty(len(chosen), FETCHED_ROW)
        conn = int_column(rows, "conn", 0)[chosen] + bucket.base
        found["ts_ns"], found["place"] = ts_ns[chosen], places[chosen]
        of_all = conn_keys(conn - bucket.base, bucket.number, self._n_buckets)
        found["cell"] = of_all << CONN_SHIFT | places[chosen]
        found["reader"] = self._reader_of[conn] << CONN_SHIFT | places[chosen]
        for name in ("first_offset", "last_offset", "high_watermark"):
            found[name] = int_column(rows, name, NONE)[chosen]
        for name in ("n_records", "record_bytes"):
            found[name] = int_column(rows, name, 0)[chosen]
        return self._followed(found)

    def _followed(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        """Returns rows with numbers in place of topic-partitions; those beyond the limit are left out."""
        rows["place"] = self._places.of(np.ascontiguousarray(rows["place"]))
        if len(self._places) <= MOST_PLACES:
            return rows
        followed = rows[rows["place"] < MOST_PLACES]
        self._n_beyond_places += len(rows) - len(followed)
        return followed

    def numbered(self, accepted: NDArray[np.void], fetched: NDArray[np.void]) -> FlowRows:
        """Returns rows by time with numbers in place of keys; those beyond the limit of cells are left out."""
        n = len(fetched)
        fetched["cell"] = self._cells.of(np.ascontiguousarray(fetched["cell"]))
        fetched["reader"] = self._readers.of(np.ascontiguousarray(fetched["reader"]))
        if len(self._cells) > MOST_CELLS:
            fetched = fetched[fetched["cell"] < MOST_CELLS]
            self._n_beyond_cells += n - len(fetched)
        n_places = min(len(self._places), MOST_PLACES)
        return FlowRows(accepted, fetched, self._cells.keys[:MOST_CELLS], n_places, len(self._readers))


def _candidate_rows(rows: pa.Table, topics: pa.DictionaryArray) -> pa.Table:
    """Returns rows of scan.batches.BATCHES, with the names of their topics, as rows of CANDIDATES."""
    columns = {name: rows[name] for name in ("conn", "number", "partition", "sent_ns", "n_records")}
    columns |= {"topic": topics, "answered_ns": rows["ts_ns"], "error_code": rows["error_code"].fill_null(0)}
    columns["created_ms"] = rows["first_timestamp_ms"].fill_null(NONE)
    columns["last_ms"] = rows["max_timestamp_ms"].fill_null(NONE)
    return pa.table([columns[name] for name in CANDIDATES.names], CANDIDATES.names).cast(CANDIDATES)
