"""Keeps of repeated facts those that are news: a fact is told again with every Metadata answer, but rows are wanted
for changes.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_KEY = {
    "broker": ("node_id", "host", "port"),
    "leader": ("topic", "topic_id", "partition"),
    "coordinator": ("coordinator_key", "coordinator_type"),
    "controller": (),
    "cluster": ("cluster_id",),
    "topic": ("topic", "topic_id"),
}
"""What a fact is about, by its kind; the other columns are what it says."""
_VALUE = {
    "broker": ("rack",),
    "leader": ("node_id", "leader_epoch"),
    "coordinator": ("node_id", "host", "port"),
    "controller": ("node_id",),
    "cluster": (),
    "topic": (),
}
_SEPARATOR = "\x1f"


class News:
    """Remembers the last value of every fact: as many entries as the cluster has brokers, partitions, coordinators
    and topics.
    """

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def only_changes(self, facts: pa.Table) -> pa.Table:
        """The facts that were not known or say something else than before, by time; those of one
        time keep their order. facts: topology rows with ts_ns.
        """
        order = np.argsort(facts["ts_ns"].to_numpy(), kind="stable")
        kinds = facts["kind"].to_numpy()[order]
        kept = [self._of_kind(facts, order[kinds == kind], kind) for kind in _KEY]
        rows = np.sort(np.concatenate(kept))
        return facts.take(pa.array(rows[np.argsort(facts["ts_ns"].to_numpy()[rows], kind="stable")]))

    def _of_kind(self, every: pa.Table, rows: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
        """Which of the rows (in time order) are news."""
        if not len(rows):
            return rows
        facts = every.take(pa.array(rows))
        keys, values = _joined(facts, ("kind", *_KEY[kind])), _joined(facts, ("kind", *_VALUE[kind]))
        order = np.argsort(keys.indices.to_numpy(), kind="stable")
        key, value = keys.indices.to_numpy()[order], values.indices.to_numpy()[order]
        first = np.concatenate([[True], key[1:] != key[:-1]])
        news = first | np.concatenate([[True], value[1:] != value[:-1]])
        names, said = keys.dictionary.to_pylist(), values.dictionary.to_pylist()
        for i in np.flatnonzero(first).tolist():
            news[i] = self._last.get(names[key[i]]) != said[value[i]]
        for i in np.flatnonzero(np.concatenate([first[1:], [True]])).tolist():
            self._last[names[key[i]]] = said[value[i]]
        return np.asarray(rows[order[news]], np.int64)


def _joined(facts: pa.Table, columns: tuple[str, ...]) -> pa.DictionaryArray:
    """The columns of each row as one dictionary-encoded text."""
    texts = [pc.fill_null(pc.cast(facts[name], pa.string()), "") for name in columns]
    joined = pc.binary_join_element_wise(*texts, _SEPARATOR)
    return joined.combine_chunks().dictionary_encode()
