"""Between the passes: times at which packets prove that producers waited.

A producer waits while a batch is refused, answered late or not answered, and while it connects. Records that it creates
meanwhile wait in its memory, and are sent afterwards: their create times then show since when.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS

Longs = NDArray[np.int64]


class ProvenWaits:
    """The spans of time in which packets prove a wait, by group of connections.

    groups: the numbers of the groups of spans for each row: its client's, and that of its host's connections that sent
    no batch; group, starts, ends: the spans, in any order.
    """

    def __init__(self, groups: tuple[Longs, Longs], group: Longs, starts: Longs, ends: Longs) -> None:
        self._groups = groups
        self._numbers, number = np.unique(group, return_inverse=True)
        self._times = distinct_sorted(starts)
        order = np.lexsort((starts, number))
        self._keys = self._order_of(number[order], starts[order])
        self._latest = _latest_in_group(number[order], ends[order])

    def overlap(self, from_ns: Longs, to_ns: Longs) -> NDArray[np.bool_]:
        """Whether a span overlaps the time of each row."""
        found = np.zeros(len(from_ns), np.bool_)
        if not len(self._keys):
            return found
        for groups in self._groups:
            number = np.minimum(np.searchsorted(self._numbers, groups), len(self._numbers) - 1)
            before = np.searchsorted(self._keys, self._order_of(number, to_ns), "right") - 1
            begins_before = (before >= 0) & (self._keys[before] >= number * (len(self._times) + 1))
            found |= (self._numbers[number] == groups) & begins_before & (self._latest[before] >= from_ns)
        return found

    def _order_of(self, number: Longs, at_ns: Longs) -> Longs:
        """Returns numbers that sort by group, and then by time, as exactly as the starts of the spans need it. number:
        the index of each group among those with spans."""
        return np.asarray(number * (len(self._times) + 1) + np.searchsorted(self._times, at_ns, "right"))


def _latest_in_group(number: Longs, ends: Longs) -> Longs:
    """Returns the latest end among the spans of a group up to each of them. number: of the groups, ascending."""
    distinct, rank = np.unique(ends, return_inverse=True)
    return np.asarray(distinct[np.maximum.accumulate(number * len(distinct) + rank) % max(len(distinct), 1)])


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
    return ProvenWaits((groups[conn], host_groups[conn]), of_all, starts, ends)


def _or_default(values: pa.ChunkedArray, default: Longs) -> Longs:
    """Returns the values, with the default in place of nulls."""
    is_known = np.asarray(values.is_valid().combine_chunks().to_numpy(zero_copy_only=False))
    return np.where(is_known, values.fill_null(0).to_numpy(), default)
