"""The topic-partitions for which each server answered: the counts of all blocks of a bucket (COUNTS_SCHEMA), joined, so
that results do not depend on the block boundaries.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.cluster import Cluster, Follower
from kafkascope_analyzer.connections.leaders import UNKNOWN, Leaders
from kafkascope_analyzer.connections.nodes import EqualAnswers
from kafkascope_analyzer.connections.role_rules import FOLLOWER_FETCH
from kafkascope_analyzer.connections.roles import COMPACT_ROWS
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.schema import api_keys, api_name

COUNTS = "partition_counts"
FETCHES = pa.array([key for key in api_keys() if api_name(key) in FOLLOWER_FETCH.apis], pa.int16())
_PLACE = ["conn", "topic", "partition"]
_TIMES = ["answered_first_ns", "answered_last_ns"]


def partition_answers(spill: Path, topics: TopicNames) -> pa.Table:
    """Returns one row for each connection, API and topic-partition that a server confirmed: conn, api_key, topic,
    partition, and the times of the first and the last confirmation (answered_first_ns, answered_last_ns). Partitions of
    unnamed topics are left out.
    """
    parts: list[pa.Table] = []
    n_new = 0
    for counts in read_spill(spill, COUNTS, ["conn", "api_key", "topic", "topic_id", "partition", *_TIMES]):
        parts.append(with_topics(counts.filter(pc.is_valid(counts[_TIMES[0]])), topics))
        n_new += parts[-1].num_rows
        if n_new > COMPACT_ROWS:
            parts, n_new = [_joined(parts)], 0
    return _joined(parts)


def with_topics(counts: pa.Table, topics: TopicNames) -> pa.Table:
    """Returns counts with their topics by name, without those of unnamed topics."""
    names = topics.complete(counts["topic"], counts["topic_id"])
    counts = counts.set_column(counts.column_names.index("topic"), "topic", names)
    return counts.filter(pc.is_valid(names))


def _joined(parts: list[pa.Table]) -> pa.Table:
    keys = ["api_key", *_PLACE]
    if not parts:
        types = [pa.int16(), pa.int64(), pa.string(), pa.int32(), pa.int64(), pa.int64()]
        return pa.schema(list(zip([*keys, *_TIMES], types, strict=True))).empty_table()
    rows = pa.concat_tables([part.select([*keys, *_TIMES]) for part in parts])
    sums = [(_TIMES[0], "min"), (_TIMES[1], "max")]
    return rows.group_by(keys, use_threads=False).aggregate(sums).rename_columns([*keys, *_TIMES])


def count_answers(answers: pa.Table, server: NDArray[np.int64], leaders: Leaders) -> Iterator[tuple[int, EqualAnswers]]:
    """Yields the servers of some partition answers, with the nodes that the first and the last answer for each
    partition of a connection indicate. server: the number of the server of each connection. An answer before any report
    of a leader indicates none.
    """
    first_ns, last_ns = (answers[name].to_numpy() for name in _TIMES)
    is_second = last_ns > first_ns
    rows = np.concatenate([np.arange(len(first_ns)), np.flatnonzero(is_second)])
    chosen, ts_ns = answers.take(pa.array(rows)), np.concatenate([first_ns, last_ns[is_second]])
    before, after = leaders.reported(chosen["topic"], chosen["partition"], ts_ns)
    columns = (server[chosen["conn"].to_numpy()], before, np.where(after == before, UNKNOWN, after))
    known = np.flatnonzero(before != UNKNOWN)
    order = known[np.lexsort([column[known] for column in reversed(columns)])]
    votes = [column[order] for column in columns]
    firsts = np.flatnonzero(first_of_runs(*votes))
    n_votes = np.diff(np.append(firsts, len(order)))
    servers, reported, moving = (column[firsts].tolist() for column in votes)
    for each, node, other, n in zip(servers, reported, moving, n_votes.tolist(), strict=True):
        yield each, EqualAnswers(node, None if other == UNKNOWN else other, n)


def followers_of(spill: Path, clients: pa.ChunkedArray, topics: TopicNames) -> set[Follower]:
    """Returns the followers to which brokers sent the bucket's consumers (KIP-392). clients: the client's address of
    each connection."""
    found: set[Follower] = set()
    for counts in read_spill(spill, COUNTS, [*_PLACE, "topic_id", "preferred"]):
        rows = with_topics(counts.filter(pc.is_valid(counts["preferred"])), topics)
        columns = (clients.take(rows["conn"]), rows["topic"], rows["partition"], rows["preferred"])
        found.update(zip(*(column.to_pylist() for column in columns), strict=True))
    return found


class FollowerFetches:
    """The fetches of a bucket that followers answered: all those that a connection sent for a partition, where another
    node led by the last report before the first answer. Where that node itself led by the time of the last answer, the
    report may have been old: then only what a broker sent there counts. connections: columns node_id and client_ip by
    connection.
    """

    def __init__(self, spill: Path, cluster: Cluster, connections: pa.Table) -> None:
        answers = partition_answers(spill, cluster.topics)
        answers = answers.filter(pc.is_in(answers["api_key"], FETCHES))
        nodes = pc.fill_null(connections["node_id"].take(answers["conn"]), UNKNOWN).to_numpy()
        first, last = (
            cluster.leaders.reported(answers["topic"], answers["partition"], answers[name].to_numpy()).before
            for name in _TIMES
        )
        first = np.where(first == UNKNOWN, last, first)
        rows = np.flatnonzero((nodes != UNKNOWN) & (first != UNKNOWN) & (first != nodes))
        followed = answers.take(pa.array(rows))
        clients = connections["client_ip"].take(followed["conn"]).to_pylist()
        places = zip(clients, *(followed[name].to_pylist() for name in _PLACE[1:]), nodes[rows].tolist(), strict=True)
        was_sent = np.array([place in cluster.followers for place in places], np.bool_)
        counts = pa.array(was_sent | (last[rows] != nodes[rows]))
        self._followed, self._was_sent = _place_of(followed.filter(counts)), pa.array(was_sent).filter(counts)

    def of(self, counts: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Returns whether each count is about such fetches, and whether a broker had sent the consumer to the follower.
        counts: counts of named topics (COUNTS_SCHEMA).
        """
        if not len(self._followed):
            none = pa.array(np.zeros(counts.num_rows, np.bool_))
            return none, none
        place = pc.if_else(pc.is_in(counts["api_key"], FETCHES), _place_of(counts), None)
        found = pc.index_in(place, self._followed, skip_nulls=True).combine_chunks()
        return found.is_valid(), pc.fill_null(self._was_sent.take(found), False)


def _place_of(rows: pa.Table) -> pa.Array:
    """Returns the connection and topic-partition of each row as one text."""
    parts = [pc.cast(rows[name], pa.string()) for name in ("conn", "partition", "topic")]
    texts = pc.binary_join_element_wise(*parts, " ")
    return flat(texts)
