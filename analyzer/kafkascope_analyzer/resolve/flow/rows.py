"""What the flow through topic-partitions needs of one bucket: counts of the records of its producers, the batches that
may have waited, and the rows that each share follows (flow.shares).
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.blocks import Block, NamedRows
from kafkascope_analyzer.resolve.flow.checkpoint import CLOCK, IS_USABLE, READER
from kafkascope_analyzer.resolve.flow.counts import CONN_SHIFT, MOST_PLACES, ProduceCounts
from kafkascope_analyzer.resolve.flow.kernels import ACCEPTED as ACCEPTED_ROW
from kafkascope_analyzer.resolve.flow.kernels import NONE, US
from kafkascope_analyzer.resolve.flow.produce_facts import CANDIDATES, LONGEST_NS
from kafkascope_analyzer.resolve.flow.shares import ACCEPTED, AGAIN, FETCHED, PLACES, share_table, shares_of
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED as FETCH_RESPONSES
from kafkascope_analyzer.scan.places import NO_PLACE, Slots, TopicPartitions
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS, MILLISECOND
from kafkascope_analyzer.scan.spill import END, Spill
from kafkascope_parsers.row_copies import joined_rows

Longs = NDArray[np.int64]
_STATE = ("partitions", "places", "n_left_out")
"""The attributes of a BucketFlow that make its state, besides the candidates."""


def by_time(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Returns the rows of the parts by time."""
    parts = [part for part in parts if len(part)] or parts[:1]
    rows = joined_rows(parts) if len(parts) > 1 else parts[0]
    ts_ns = np.ascontiguousarray(rows["ts_ns"])
    return rows if (ts_ns[1:] >= ts_ns[:-1]).all() else rows.take(np.argsort(ts_ns, kind="stable"))


class BucketFlow:
    """Takes the Produce and Fetch responses of one bucket, block by block. connections: rows of FlowBasis.connections;
    spill: of the bucket, at the part into which records of producers are counted; n_shares: number of shares.

    n_left_out: topic-partitions of responses that were not counted because of the limits.
    """

    def __init__(self, connections: Longs, slice_ns: int, spill: Spill, n_shares: int) -> None:
        self._connections, self._slice_ns, self._spill = connections, slice_ns, spill
        self._shares = _DividedRows(spill, n_shares)
        self.partitions, self.places = TopicPartitions(), Slots()
        self._candidates: list[pa.Table] = []
        self.n_left_out = 0
        self._counts = ProduceCounts(slice_ns, self.partitions, spill)

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""
        return {name: getattr(self, name) for name in _STATE} | {"candidates": self.candidates()}

    def resume(self, state: dict[str, Any], changed: NDArray[np.bool_]) -> None:
        """Continues with this state, without the candidates of the connections that have changed."""
        for name in _STATE:
            setattr(self, name, state[name])
        is_changed = changed[state["candidates"]["conn"].to_numpy()]
        self._candidates = [state["candidates"].filter(pa.array(~is_changed))]
        self._counts = ProduceCounts(self._slice_ns, self.partitions, self._spill)

    def candidates(self) -> pa.Table:
        """Returns the batches that may have waited (CANDIDATES)."""
        return pa.concat_tables([CANDIDATES.empty_table(), *self._candidates])

    def take(self, block: Block, stage: str) -> None:
        """Takes a block. stage: of the rows for the shares; those that are read again have been counted before."""
        for named in block[BATCHES]:
            self._divide(stage, ACCEPTED, self._accepted(named, is_counted=stage != AGAIN))
        for named in block[FETCH_RESPONSES]:
            self._divide(stage, FETCHED, self._fetched(named, is_counted=stage != AGAIN))

    def recount(self, named: NamedRows, changed: NDArray[np.bool_]) -> None:
        """Counts again the batches that changed connections sent, for batches that were taken in an earlier run."""
        chosen = pa.array(changed[int_column(named.rows, "conn", 0)])
        n_before = self.n_left_out
        self._accepted(NamedRows(named.topics.filter(chosen), named.rows.filter(chosen)), is_counted=True)
        self.n_left_out = n_before

    def begin_end(self) -> None:
        """Ends the files of the part; further records are counted as those of the scan's end."""
        self._counts.finish()
        self._counts = ProduceCounts(self._slice_ns, self.partitions, self._spill)
        self._spill.begin_end()

    def finish(self) -> None:
        """Spills what is left, when all blocks were taken."""
        self._counts.finish()
        self._shares.close(self.partitions.columns(self.places.keys))

    def _divide(self, stage: str, kind: str, columns: dict[str, Longs]) -> None:
        """Spills rows for the shares. columns: with place, the number of the topic-partition, and ts_ns."""
        self._shares.write(stage, kind, columns, lambda first: self.partitions.columns(self.places.keys[first:]))

    def _accepted(self, named: NamedRows, *, is_counted: bool) -> dict[str, Longs]:
        """Counts the batches that brokers accepted, of those whose requests are in the capture, and keeps those that
        may have waited. Returns the rows of accepted batches for the shares; n_records is NONE where records are not
        followed."""
        rows, ts_ns = named.rows, int_column(named.rows, "ts_ns", NONE)
        codes = self.partitions.of_names(named.topics, rows["partition"])
        is_sent, conn = int_column(rows, "sent_ns", NONE) != NONE, int_column(rows, "conn", 0)
        oldest_us = self._age_us(ts_ns, int_column(rows, "first_timestamp_ms", NONE), conn)
        if is_counted:
            self._keep_candidates(named, is_sent & (codes != NO_PLACE), ts_ns, oldest_us)
        is_accepted = (int_column(rows, "error_code", 0) == 0) & (ts_ns != NONE) & (codes != NO_PLACE)
        kept = slice(None) if is_accepted.all() else np.flatnonzero(is_accepted)
        found = np.empty(len(codes[kept]), ACCEPTED_ROW)
        found["ts_ns"], found["cell"] = ts_ns[kept], (conn << CONN_SHIFT | codes)[kept]
        found["place"] = self.places.of(codes[kept])
        found["first_offset"] = int_column(rows, "partition_offset", NONE)[kept]
        found["n_records"] = np.where(is_sent, int_column(rows, "n_records", 0), NONE)[kept]
        found["record_bytes"] = int_column(rows, "record_bytes", 0)[kept]
        youngest_us = np.maximum(self._age_us(ts_ns, int_column(rows, "max_timestamp_ms", NONE), conn), 0)
        found["oldest_us"], found["youngest_us"] = oldest_us[kept], np.minimum(youngest_us, oldest_us)[kept]
        found = by_time([found])
        is_followed = found["place"] < MOST_PLACES
        is_known = found["n_records"] != NONE
        if is_counted:
            self._count(found, is_known, is_followed & is_known)
        found["n_records"][~is_followed] = NONE
        return {name: found[name] for name in ("ts_ns", "place", "first_offset", "n_records")}

    def _count(self, found: NDArray[np.void], is_known: NDArray[np.bool_], is_followed: NDArray[np.bool_]) -> None:
        followed = found if is_followed.all() else found.compress(is_followed)
        self.n_left_out += int(np.count_nonzero(is_known)) - len(followed) + self._counts.take(followed)

    def _keep_candidates(self, named: NamedRows, is_sent: NDArray[np.bool_], ts_ns: Longs, oldest_us: Longs) -> None:
        """Keeps the batches that may have waited: those that were refused, answered late or never, or created long
        before."""
        rows = named.rows
        late = (ts_ns - int_column(rows, "sent_ns", 0) >= LEAST_PAUSE_NS) | (oldest_us >= LEAST_PAUSE_NS // US)
        waited = np.flatnonzero(is_sent & (late | (int_column(rows, "error_code", 0) != 0) | (ts_ns == NONE)))
        if len(waited):
            self._candidates.append(_candidate_rows(rows.take(pa.array(waited)), named.topics.take(pa.array(waited))))

    def _age_us(self, ts_ns: Longs, created_ms: Longs, conn: Longs) -> Longs:
        """Returns the age of records at the time of a response, on the capture's clock; NONE where it is not known."""
        age_ns = ts_ns - created_ms * MILLISECOND - self._connections[conn, CLOCK]
        is_known = (created_ms >= 0) & (self._connections[conn, IS_USABLE] == 1) & (age_ns < LONGEST_NS)
        return np.where(is_known, np.maximum(age_ns, 0) // US, NONE)

    def _fetched(self, named: NamedRows, *, is_counted: bool) -> dict[str, Longs]:
        """Returns the topic-partitions in responses to Fetch for the shares; reader is NONE where they are not
        followed: a response to a replica delivers no records to a consumer."""
        rows = named.rows
        codes = self.partitions.of_names(named.topics, rows["partition"])
        kept = slice(None) if (codes != NO_PLACE).all() else np.flatnonzero(codes != NO_PLACE)
        is_replica = np.asarray(flat(rows["from_replica"]).to_numpy(zero_copy_only=False), np.bool_)[kept]
        conn = int_column(rows, "conn", 0)[kept]
        columns = {"ts_ns": int_column(rows, "ts_ns", 0)[kept], "place": self.places.of(codes[kept]), "conn": conn}
        is_beyond = ~is_replica & (columns["place"] >= MOST_PLACES)
        self.n_left_out += int(np.count_nonzero(is_beyond)) if is_counted else 0
        columns["reader"] = np.where(is_replica | is_beyond, NONE, self._connections[conn, READER])
        for name in ("first_offset", "last_offset", "high_watermark", "last_stable_offset"):
            columns[name] = int_column(rows, name, NONE)[kept]
        for name in ("n_records", "record_bytes"):
            columns[name] = int_column(rows, name, 0)[kept]
        return columns


class _DividedRows:
    """Spills the rows of a bucket for each share."""

    def __init__(self, spill: Spill, n_shares: int) -> None:
        self._spill, self._n_shares = Spill(spill.directory, END), n_shares
        self._share_of = np.empty(0, np.uint16)
        """The share of each topic-partition of the bucket, by its number."""

    def write(self, stage: str, kind: str, columns: dict[str, Longs], new_places: Any) -> None:
        """Spills rows. new_places: returns the columns of the topic-partitions from a number on."""
        order, starts = self._divided(columns, new_places)
        for share in np.flatnonzero(np.diff(starts)).tolist():
            chosen = order[starts[share] : starts[share + 1]]
            rows = {name: pa.array(np.take(values, chosen)) for name, values in columns.items()}
            self._spill.write(share_table(stage, kind, share), pa.table(rows))

    def _divided(self, columns: dict[str, Longs], new_places: Any) -> tuple[Longs, Longs]:
        """Returns the rows by share and time, and the number of the first of each share among them."""
        n_known = len(self._share_of)
        if len(columns["place"]) and int(columns["place"].max()) >= n_known:
            places = new_places(n_known)
            topics, partitions = flat(places["topic"]).dictionary_encode(), places["partition"].to_numpy()
            self._share_of = np.append(self._share_of, shares_of(topics, partitions, self._n_shares))
        ts_ns, share = columns["ts_ns"], self._share_of[columns["place"]]
        order = np.arange(len(ts_ns)) if (ts_ns[1:] >= ts_ns[:-1]).all() else np.argsort(ts_ns, kind="stable")
        order = order[np.argsort(share[order], kind="stable")] if self._n_shares > 1 else order
        return order, np.cumsum([0, *np.bincount(share, minlength=self._n_shares)])

    def close(self, places: dict[str, pa.Array]) -> None:
        """Ends the files. places: topic and partition of all numbers."""
        self._spill.write(PLACES, pa.table({name: places[name] for name in ("topic", "partition")}))
        self._spill.close()


def _candidate_rows(rows: pa.Table, topics: pa.DictionaryArray) -> pa.Table:
    """Returns rows of scan.batches.BATCHES, with the names of their topics, as rows of CANDIDATES."""
    columns = {name: rows[name] for name in ("conn", "number", "partition", "sent_ns", "n_records")}
    columns |= {"topic": topics, "answered_ns": rows["ts_ns"], "error_code": rows["error_code"].fill_null(0)}
    columns["created_ms"] = rows["first_timestamp_ms"].fill_null(NONE)
    columns["last_ms"] = rows["max_timestamp_ms"].fill_null(NONE)
    return pa.table([columns[name] for name in CANDIDATES.names], CANDIDATES.names).cast(CANDIDATES)
