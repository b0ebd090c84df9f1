"""Between the passes: times at which packets prove that producers waited.

A producer waits while a batch is refused, answered late or not answered, and while it connects. Records that it creates
meanwhile wait in its memory, and are sent afterwards: their create times then show since when.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ProvenWaits:
    """The spans of time in which packets prove a wait: for each group of rows, one sorted array of starts, and one with
    the latest end up to each of them. groups: the numbers of the groups of spans for each row: its client's, and that
    of its host's connections that sent no batch."""

    groups: tuple[Longs, Longs]
    starts: dict[int, Longs]
    ends: dict[int, Longs]

    def overlap(self, from_ns: Longs, to_ns: Longs) -> NDArray[np.bool_]:
        """Whether a span overlaps the time of each row."""
        found = np.zeros(len(from_ns), np.bool_)
        for groups in self.groups:
            order = np.argsort(groups, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
                group = int(groups[rows[0]]) if len(rows) else None
                if group in self.starts:
                    before = np.searchsorted(self.starts[group], to_ns[rows], side="right") - 1
                    found[rows] |= (before >= 0) & (self.ends[group][before] >= from_ns[rows])
        return found


def proven_waits(rows: pa.Table, connections: pa.Table, clients: Longs) -> ProvenWaits:
    """Returns the proven waits. rows: batches that may have waited (produce_facts.CANDIDATES), with numbers of
    connections; connections: with client_ip, syn_ns and last_ns; clients: the number of each connection's client, below
    0 for one that sent no batch, which counts for all clients of its address."""
    hosts = connections["client_ip"].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    host_groups = -2 - hosts.astype(np.int64)
    groups = np.where(clients >= 0, clients, host_groups)
    conn, sent = rows["conn"].to_numpy(), rows["sent_ns"].to_numpy()
    ended = np.maximum(_or_default(rows["answered_ns"], connections["last_ns"].to_numpy()[conn]), sent)
    is_proof = (rows["error_code"].to_numpy() != 0) | (ended - sent >= LEAST_PAUSE_NS)
    is_proof |= np.asarray(rows["answered_ns"].is_null().combine_chunks().to_numpy(zero_copy_only=False))
    syn = _or_default(connections["syn_ns"], np.full(connections.num_rows, -1))
    opened = np.flatnonzero(syn >= 0)
    of_all = np.concatenate([groups[conn[is_proof]], groups[opened]])
    starts = np.concatenate([sent[is_proof], syn[opened]])
    ends = np.concatenate([ended[is_proof], syn[opened]])
    order = np.lexsort((starts, of_all))
    of_all, starts, ends = of_all[order], starts[order], ends[order]
    numbers, first = np.unique(of_all, return_index=True)
    parts = [np.split(each, first[1:]) for each in (starts, ends)] if len(first) else [[], []]
    return ProvenWaits(
        (groups[conn], host_groups[conn]),
        dict(zip(numbers.tolist(), parts[0], strict=True)),
        {number: np.maximum.accumulate(part) for number, part in zip(numbers.tolist(), parts[1], strict=True)},
    )


def _or_default(values: pa.ChunkedArray, default: Longs) -> Longs:
    """Returns the values, with the default in place of nulls."""
    is_known = np.asarray(values.is_valid().combine_chunks().to_numpy(zero_copy_only=False))
    return np.where(is_known, values.fill_null(0).to_numpy(), default)
