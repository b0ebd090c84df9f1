"""Between the passes: the clocks of producers, and how long the batches of producers waited, on the capture's clock.

The create time in a batch's header is the time at which its first record was passed to the client library, on the
producer's clock. The smallest distance between creation and sending, over all connections of a client, is taken as the
difference between the clocks; the median of the excess over it as the client's usual linger. The excess over both is
the batch's wait, but only where packets prove a wait: it was refused, answered late or not at all; or, between its
creation and its sending, its client waited in that way for another batch (or for an earlier attempt of the same one) or
opened a connection. A create time alone proves nothing: applications may set it. Where the median is far above the
smallest distance, or the distance keeps falling, the time is not a create time: mirrors and replays keep times that run
at another rate than the clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.proven_waits import ProvenWaits, proven_waits
from kafkascope_analyzer.scan.clock_samples import CLOCK_EDGES_NS, CLOCKS
from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS, MILLISECOND
from kafkascope_analyzer.scan.spill import read_spill

WAITS = pa.schema(
    [
        ("conn_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("sent_ns", pa.int64()),
        ("created_ns", pa.int64()),
        ("accepted_ns", pa.int64()),
        ("longest_ns", pa.int64()),
        ("ended_ns", pa.int64()),
        ("error_code", pa.int16()),
        ("number", pa.int64()),
        ("last_number", pa.int64()),
        ("last_sent_ns", pa.int64()),
        ("n", pa.int64()),
        ("n_records", pa.int64()),
    ]
)
"""Consecutive batches of a connection and topic-partition that waited, or failed with the same error, by time.
accepted_ns: null where they were not accepted; longest_ns: the longest wait of one of them, null like accepted_ns;
ended_ns: the last answer, null without one; error_code: 0 for none; n_records: for accepted batches, the records that
waited for at least LEAST_PAUSE_NS; for others all records, those of a batch that was sent several times once."""
LONGEST_NS = 600_000 * MILLISECOND
"""Longest wait that counts. A longer one comes from a time that the application set (delivery.timeout.ms is
2 minutes)."""


@dataclass(frozen=True, slots=True)
class ProducerClocks:
    """Clocks of the producers of all connections, one bucket after the other: least_ns, the smallest distance of its
    client between creation and sending; linger_ns, the usual excess over that, _UNUSABLE where the times are not create
    times; client, the number of its client, _NO_CLIENT where it sent no batch with a create time."""

    least_ns: NDArray[np.int64]
    linger_ns: NDArray[np.int64]
    client: NDArray[np.int64]

    @property
    def is_usable(self) -> NDArray[np.bool_]:
        """Whether the times in the batches of each connection are create times."""
        return np.asarray(self.linger_ns != _UNUSABLE)

    @property
    def has_sent(self) -> NDArray[np.bool_]:
        """Whether each connection sent a batch with a create time."""
        return np.asarray(self.client != _NO_CLIENT)


_CLOCK_ERROR_NS = 50 * MILLISECOND
"""Largest remaining difference between the clocks of a client and of the capture after their alignment; a wait that is
not longer does not count."""
CANDIDATES = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("sent_ns", pa.int64()),
        ("created_ms", pa.int64()),
        ("last_ms", pa.int64()),
        ("n_records", pa.int64()),
        ("answered_ns", pa.int64()),
        ("error_code", pa.int16()),
    ]
)
"""Batches that may have waited, or were not accepted. conn: number of the connection in its bucket, number: number of
the request on it; created_ms, last_ms: create times of the first and the last record, on the producer's clock, -1 where
they are not known; answered_ns: null without a response."""


def produce_waits(
    candidates: Mapping[Path, pa.Table], connections: Mapping[Path, pa.Table], clocks: ProducerClocks
) -> pa.Table:
    """Returns the waits of all producers (WAITS). candidates (CANDIDATES), connections (with conn_id, client_ip, syn_ns
    and last_ns): by the directory of a bucket's spill."""
    if not connections:
        return WAITS.empty_table()
    known = pa.concat_tables([rows.select(_CONNECTION_COLUMNS) for rows in connections.values()]).combine_chunks()
    parts, n_before = [], 0
    for spill, of_bucket in connections.items():
        rows = candidates[spill]
        conn = pc.add(rows["conn"], n_before)
        parts.append(rows.set_column(rows.schema.get_field_index("conn"), "conn", conn))
        n_before += of_bucket.num_rows
    rows = pa.concat_tables(parts)
    waits = _with_times(rows, clocks, proven_waits(rows, known, clocks.client))
    return _in_rows(waits.append_column("conn_id", known["conn_id"].take(waits["conn"])))


_CONNECTION_COLUMNS = ["conn_id", "client_ip", "syn_ns", "last_ns"]
_UNUSABLE = -1
_NO_CLIENT = -1


def producer_clocks(connections: Mapping[Path, pa.Table]) -> ProducerClocks:
    """Returns the clocks of the producers of all buckets. connections: with client_ip, by the directory of a bucket's
    spill."""
    n_counts = len(CLOCK_EDGES_NS) + 1
    tables, conns, n_before = [], [], 0
    for spill, known in connections.items():
        for rows in read_spill(spill, CLOCKS):
            tables.append(rows.append_column("client_ip", known["client_ip"].take(rows["conn"])))
            conns.append(rows["conn"].to_numpy() + n_before)
        n_before += known.num_rows
    found = ProducerClocks(np.zeros(n_before, np.int64), np.full(n_before, _UNUSABLE), np.full(n_before, _NO_CLIENT))
    if not tables:
        return found
    clocks, conn = pa.concat_tables(tables), np.concatenate(conns)
    client = _client_numbers(clocks)
    n = int(client.max()) + 1
    smallest, least = np.full(n, np.iinfo(np.int64).max), clocks["least_ns"].to_numpy()
    np.minimum.at(smallest, client, least)
    of_conns = flat(clocks["counts"]).flatten().to_numpy().reshape(-1, n_counts).copy()
    is_far = least - smallest[client] > CLOCK_EDGES_NS[-1]
    of_conns[is_far, -1] = of_conns[is_far].sum(1)
    of_conns[is_far, :-1] = 0
    counts = np.zeros((n, n_counts), np.int64)
    np.add.at(counts, client, of_conns)
    found.client[conn] = client
    found.least_ns[conn] = smallest[client]
    found.linger_ns[conn] = _medians(counts)[client]
    return found


def _client_numbers(clocks: pa.Table) -> NDArray[np.int64]:
    """Returns a number for each client; rows of one address with the same client id are one client."""
    ips, ids = (clocks[name].combine_chunks().fill_null("").dictionary_encode() for name in ("client_ip", "client_id"))
    codes = ips.indices.to_numpy().astype(np.int64) * len(ids.dictionary) + ids.indices.to_numpy()
    return np.unique(codes, return_inverse=True)[1]


def _medians(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the edge up to which half of the distances are; UNUSABLE beyond the last."""
    half = (counts.sum(1) + 1) // 2
    place = (np.cumsum(counts, 1) >= half[:, None]).argmax(1)
    return np.asarray(np.append(CLOCK_EDGES_NS, _UNUSABLE)[place])


def _with_times(rows: pa.Table, clocks: ProducerClocks, proven: ProvenWaits) -> pa.Table:
    """Returns the rows that waited or failed, with created_ns and the other times of WAITS."""
    conn = rows["conn"].to_numpy()
    least, linger = clocks.least_ns[conn], clocks.linger_ns[conn]
    sent, created_ms = rows["sent_ns"].to_numpy(), rows["created_ms"].to_numpy()
    before = sent - created_ms * MILLISECOND - least - linger
    is_used = (created_ms >= 0) & (linger != _UNUSABLE) & (before > 0) & (before < LONGEST_NS)
    is_used &= proven.overlap(sent - before, sent)
    created = sent - np.where(is_used, before, 0)
    answered = flat(rows["answered_ns"])
    is_accepted = (rows["error_code"].to_numpy() == 0) & np.asarray(answered.is_valid())
    waited = answered.fill_null(0).to_numpy() - created
    rows = rows.append_column("created_ns", pa.array(created)).append_column("last_number", rows["number"])
    rows = rows.append_column("accepted_ns", pc.if_else(pa.array(is_accepted), answered, None))
    rows = rows.append_column("longest_ns", pa.array(waited, mask=~is_accepted))
    rows = rows.append_column("ended_ns", answered).append_column("last_sent_ns", rows["sent_ns"])
    rows = rows.append_column("n", pa.array(np.ones(rows.num_rows, np.int64)))
    spread = np.where(is_used, np.maximum(rows["last_ms"].to_numpy() - created_ms, 0) * MILLISECOND, 0)
    n_records = rows["n_records"].to_numpy()
    n_late = np.where(is_accepted, _late_records(n_records, waited, np.minimum(spread, sent - created)), n_records)
    rows = rows.set_column(rows.schema.get_field_index("n_records"), "n_records", pa.array(n_late))
    return rows.filter(pa.array(~is_accepted | (waited >= LEAST_PAUSE_NS)))


def _late_records(
    n_records: NDArray[np.int64], waited_ns: NDArray[np.int64], spread_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns how many records of each batch waited for at least LEAST_PAUSE_NS: the first one if it did, and of the
    others the share that did if they were created evenly. waited_ns: wait of the first one; spread_ns: time between the
    creation of the first and the last one."""
    late_ns = waited_ns - LEAST_PAUSE_NS - _CLOCK_ERROR_NS
    is_part = late_ns < spread_ns
    share = np.clip(late_ns / np.maximum(spread_ns, 1), 0, 1)
    n_late = np.maximum(((n_records - 1) * share).astype(np.int64), 1)
    return np.where(late_ns < 0, 0, np.where(is_part, n_late, n_records))


def _in_rows(waits: pa.Table) -> pa.Table:
    """Returns one row for consecutive batches with the same outcome: failures with the same error, or overlapping waits
    until an answer. Unanswered batches that the kernel sent late, from the send buffer, are rows of their own: the
    client may have sent them elsewhere meanwhile."""
    order = ("conn_id", "topic", "partition", "sent_ns", "number")
    waits = waits.sort_by([(name, "ascending") for name in order]).combine_chunks()
    if not waits.num_rows:
        return WAITS.empty_table()
    same = np.zeros(waits.num_rows, np.bool_)
    same[1:] = True
    for name in ("conn_id", "topic", "partition", "error_code"):
        codes = flat(waits[name]).dictionary_encode().indices.to_numpy()
        same[1:] &= codes[1:] == codes[:-1]
    accepted, ended = (waits[name].fill_null(0).to_numpy() for name in ("accepted_ns", "ended_ns"))
    created = waits["created_ns"].to_numpy()
    same[1:] &= ((accepted[1:] > 0) == (accepted[:-1] > 0)) & ((ended[1:] > 0) == (ended[:-1] > 0))
    same[1:] &= (accepted[1:] == 0) | (created[1:] <= accepted[:-1] + LEAST_PAUSE_NS)
    is_late = waits["sent_ns"].to_numpy() - created >= LEAST_PAUSE_NS
    same[1:] &= (ended[1:] > 0) | (is_late[1:] == is_late[:-1])
    starts = np.flatnonzero(~same)
    ends = np.append(starts[1:], waits.num_rows) - 1
    columns = {name: waits[name].take(pa.array(starts)) for name in waits.column_names}
    for name in ("last_number", "last_sent_ns"):
        columns[name] = waits[name].take(pa.array(ends))
    columns["n"] = pa.array(np.add.reduceat(waits["n"].to_numpy(), starts))
    records = np.where(_is_first_copy(waits, np.cumsum(~same)), waits["n_records"].to_numpy(), 0)
    columns["n_records"] = pa.array(np.add.reduceat(records, starts))
    columns["created_ns"] = pa.array(np.minimum.reduceat(created, starts))
    longest = waits["longest_ns"].fill_null(0).to_numpy()
    for name, times in (("accepted_ns", accepted), ("longest_ns", longest), ("ended_ns", ended)):
        latest = np.maximum.reduceat(times, starts)
        columns[name] = pa.array(latest, mask=latest == 0)
    return pa.table([columns[name] for name in WAITS.names], schema=WAITS)


def _is_first_copy(waits: pa.Table, row: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each batch is the first of its row with its records: batches that are sent again have the same create
    times."""
    copies = [row, *(waits[name].to_numpy() for name in ("created_ms", "last_ms", "n_records"))]
    is_first = np.zeros(waits.num_rows, np.bool_)
    is_first[first_rows(*copies)] = True
    return np.asarray(is_first | (waits["created_ms"].to_numpy() < 0))
