"""Drops facts that repeat an earlier one: every Metadata response repeats the whole cluster, but the table topology has
only changes. Facts about different clusters are never repetitions of each other.

The rule does not depend on which connections were read together, or in what pieces. A fact that has its own age (a
leader with its epoch), or that never returns to an older value, is kept at its first occurrence. Any other is kept when
it differs from the previous one; of repeated values within WINDOW_NS the first one counts. `FirstOccurrences` is the
part of the rule that can be applied to some connections alone: it keeps at least all changes. `only_changes` applies
the rule to all facts in their order."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.scan.first_rows import first_rows

_KEY = {
    "broker": ("node_id", "host", "port"),
    "leader": ("topic", "topic_id", "partition"),
    "coordinator": ("coordinator_key", "coordinator_type"),
    "controller": (),
    "cluster": ("cluster_id",),
    "topic": ("topic", "topic_id"),
}
"""The columns that identify the subject of a fact, by its kind; the other columns are its content."""
_VALUE = {
    "broker": ("rack",),
    "leader": ("node_id", "leader_epoch"),
    "coordinator": ("node_id", "host", "port"),
    "controller": ("node_id", "leader_epoch"),
    "cluster": (),
    "topic": (),
}
_WITH_EPOCH = ("leader", "controller")
"""Kinds that have an epoch, and so an age, in most versions."""
_SEPARATOR = "\x1f"

WINDOW_NS = 1_000_000_000
"""Window of repetitions: far less than the time that leadership takes to move and to return."""
REMEMBERED_WINDOWS = 64
"""Number of latest windows whose facts are remembered: an incomplete response is delayed by at most that. A fact that
is later still is kept twice, and dropped when all are in order."""


_Fact = tuple[int, str]
"""The scope of a fact, and the fact as a text."""


class FirstOccurrences:
    """Remembers the first occurrence of each fact: as many entries as each cluster has brokers, leader epochs,
    coordinators and topics.
    """

    def __init__(self) -> None:
        self._first: dict[_Fact, int] = {}
        self._recent: dict[int, dict[_Fact, int]] = {}

    def only_first(self, facts: pa.Table, scopes: NDArray[np.int64]) -> pa.Table:
        """Returns the facts that did not occur before or, as far as is known, at the same time. facts: topology rows
        with ts_ns, in any order; scopes: a number for the scope of each fact, which is one cluster or a part of one.
        """
        if not facts.num_rows:
            return facts
        ts_ns = facts["ts_ns"].to_numpy()
        texts = _texts(facts)
        window = np.where(_returns(facts), ts_ns // WINDOW_NS, -1)
        distinct, scope = np.unique(scopes, return_inverse=True)
        code = texts.indices.to_numpy().astype(np.int64) * len(distinct) + scope
        order = np.lexsort((ts_ns, code, window))
        code, window = code[order], window[order]
        head = first_of_runs(code, window)
        group = np.cumsum(head) - 1
        names = texts.dictionary.to_pylist()
        heads = np.flatnonzero(head)
        text, scope = np.divmod(code[heads], len(distinct))
        noted = zip(
            text.tolist(), distinct[scope].tolist(), window[heads].tolist(), ts_ns[order[heads]].tolist(), strict=True
        )
        limits = np.array([self._note((of, names[at]), since, first_ns) for at, of, since, first_ns in noted], np.int64)
        first = ts_ns[order[np.flatnonzero(head)]][group]
        kept = (ts_ns[order] == first) & (first <= limits[group])
        self._forget()
        return facts.take(pa.array(np.sort(order[kept])))

    def _note(self, fact: _Fact, window: int, ts_ns: int) -> int:
        """Notes the time of a fact; returns the earliest time before, or this one's where there is none."""
        occurrences = self._first if window < 0 else self._recent.setdefault(window, {})
        before = occurrences.get(fact, ts_ns)
        occurrences[fact] = min(before, ts_ns)
        return before

    def _forget(self) -> None:
        latest = max(self._recent, default=0)
        for window in [window for window in self._recent if window < latest - REMEMBERED_WINDOWS]:
            del self._recent[window]


def only_changes(facts: pa.Table) -> pa.Table:
    """Returns the facts that are changes, in their order, which is that of time. facts: topology rows with ts_ns."""
    if not facts.num_rows:
        return facts
    texts, returns = _texts(facts).indices.to_numpy(), _returns(facts)
    window = np.where(returns, facts["ts_ns"].to_numpy() // WINDOW_NS, -1)
    first = np.sort(first_rows(texts, window))
    again = first[returns[first]]
    keys = _joined(facts, _KEY).indices.to_numpy()[again]
    order = np.argsort(keys, kind="stable")
    key, text = keys[order], texts[again][order]
    same = np.concatenate([[False], (key[1:] == key[:-1]) & (text[1:] == text[:-1])])[: len(again)]
    is_change = np.zeros(facts.num_rows, np.bool_)
    is_change[first] = True
    is_change[again[order[same]]] = False
    return facts.take(pa.array(np.flatnonzero(is_change)))


def _returns(facts: pa.Table) -> NDArray[np.bool_]:
    """Whether each fact may be true again after another one was: a coordinator; a leader or controller without an
    epoch; and facts of the controller about a topic without an id, because a topic that is created again begins with
    epoch 0.
    """
    no_epoch = pc.less(pc.fill_null(facts["leader_epoch"], -1), 0)
    of_any_topic = pc.and_(pc.fill_null(facts["from_controller"], False), pc.is_null(facts["topic_id"]))
    made_anew = pc.and_(pc.equal(facts["kind"], "leader"), of_any_topic)
    with_epoch = pc.is_in(facts["kind"], pa.array(_WITH_EPOCH))
    returns = pc.or_(pc.equal(facts["kind"], "coordinator"), pc.or_(pc.and_(with_epoch, no_epoch), made_anew))
    return np.asarray(returns)


def _texts(facts: pa.Table) -> pa.DictionaryArray:
    """Returns the subject and the content of each fact as a text."""
    return _joined(facts, {kind: key + _VALUE[kind] for kind, key in _KEY.items()})


def _joined(facts: pa.Table, columns: dict[str, tuple[str, ...]]) -> pa.DictionaryArray:
    """Returns the kind and its columns of each row as one dictionary-encoded text; null for a kind without columns."""
    kinds = facts["kind"].combine_chunks()
    texts, places = [pa.array([], pa.string())], [np.empty(0, np.int64)]
    for kind, names in columns.items():
        rows = np.flatnonzero(np.asarray(pc.equal(kinds, kind)))
        if len(rows):
            chosen = facts.select(["kind", *names]).take(pa.array(rows))
            parts = [pc.fill_null(pc.cast(column, pa.string()), "") for column in chosen.columns]
            texts.append(flat(pc.binary_join_element_wise(*parts, _SEPARATOR)))
            places.append(rows)
    place = np.concatenate(places)
    at = np.full(len(kinds), -1)
    at[place] = np.arange(len(place))
    coded = pa.concat_arrays(texts).dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices.take(pa.array(at, mask=at < 0)), coded.dictionary)
