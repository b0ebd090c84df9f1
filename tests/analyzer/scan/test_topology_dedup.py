"""Facts about the cluster are kept when they change, over blocks and back again."""

import random

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.scan.topology import SPILL_SCHEMA
from kafkascope_analyzer.scan.topology_dedup import WINDOW_NS, FirstOccurrences, only_changes

SCHEMA = pa.schema([*SPILL_SCHEMA, ("ts_ns", pa.int64())])


def leader(second, node_id, partition=0, epoch=None):
    """Old brokers tell no epochs."""
    fact = {"kind": "leader", "topic": "t", "partition": partition, "node_id": node_id}
    return fact | {"leader_epoch": epoch, "ts_ns": int(second * WINDOW_NS)}


def result(*facts):
    rows = [{field.name: fact.get(field.name) for field in SCHEMA} for fact in facts]
    return pa.Table.from_pylist(rows, SCHEMA)


def only_first(first, facts, scope=0):
    return first.only_first(facts, np.full(facts.num_rows, scope))


def seen(table):
    return [(row["ts_ns"] / WINDOW_NS, row["partition"], row["node_id"]) for row in table.to_pylist()]


def test_a_repeated_fact_is_no_news():
    assert seen(only_changes(result(leader(1, 1), leader(2, 1), leader(3, 1)))) == [(1, 0, 1)]


def test_a_leader_that_moves_and_returns_is_news_twice():
    facts = result(leader(1, 1), leader(2, 2), leader(3, 1), leader(4, 1))
    assert seen(only_changes(facts)) == [(1, 0, 1), (2, 0, 2), (3, 0, 1)]


def test_what_old_metadata_tells_later_is_no_news():
    facts = result(leader(1, 1, epoch=5), leader(2, 2, epoch=6), leader(3, 1, epoch=5), leader(4, 2, epoch=6))
    assert seen(only_changes(facts)) == [(1, 0, 1), (2, 0, 2)]


def test_what_was_known_in_an_earlier_block_is_not_kept():
    first = FirstOccurrences()
    only_first(first, result(leader(1, 1, epoch=0)))
    assert seen(only_first(first, result(leader(2, 1, epoch=0), leader(3, 2, 1, epoch=0)))) == [(3, 1, 2)]


def test_what_another_cluster_says_is_no_repetition():
    first = FirstOccurrences()
    facts = result(leader(1, 1, epoch=0))
    assert seen(only_first(first, facts, scope=3)) == seen(only_first(first, facts, scope=-2)) == [(1, 0, 1)]
    assert seen(only_first(first, result(leader(2, 1, epoch=0)), scope=3)) == []
    both = result(leader(5, 2, epoch=0), leader(6, 2, epoch=0), leader(7, 2, epoch=0))
    assert seen(first.only_first(both, np.array([3, -2, 3]))) == [(5, 0, 2), (6, 0, 2)]


def test_what_comes_late_and_was_told_earlier_is_kept():
    first = FirstOccurrences()
    only_first(first, result(leader(9, 1, epoch=0)))
    assert seen(only_first(first, result(leader(8, 1, epoch=0)))) == [(8, 0, 1)]


def test_no_facts_are_no_news():
    assert only_changes(result()).num_rows == 0
    assert only_first(FirstOccurrences(), result()).num_rows == 0


@pytest.mark.parametrize("seed", range(20))
def test_news_are_the_same_however_the_facts_were_shared_out(seed):
    """Over one to three readers, in pieces of any size, some of them in another order than that of time."""
    r = random.Random(seed)
    facts = [leader(s / 4, r.randint(1, 3), r.randint(0, 2), r.choice([None, 0, 1, 2])) for s in range(400)]
    whole = only_changes(result(*facts))
    kept = []
    for reader in range(readers := r.randint(1, 3)):
        first, own = FirstOccurrences(), facts[reader::readers]
        while own:
            n = min(len(own), r.randint(1, 60))
            piece, own = own[:n], own[n:]
            kept += only_first(first, result(*r.sample(piece, n))).to_pylist()
    assert len(kept) < len(facts)
    assert only_changes(result(*sorted(kept, key=lambda fact: fact["ts_ns"]))).equals(whole)
