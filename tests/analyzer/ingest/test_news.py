"""Facts about the cluster are kept when they change, over blocks and back again."""

import pyarrow as pa

from kafkascope_analyzer.ingest.news import News
from kafkascope_analyzer.ingest.topology import SPILL_SCHEMA

SCHEMA = pa.schema([*SPILL_SCHEMA, ("ts_ns", pa.int64())])


def leader(ts_ns, node_id, partition=0):
    return {"kind": "leader", "topic": "t", "partition": partition, "node_id": node_id, "ts_ns": ts_ns}


def told(*facts):
    rows = [{field.name: fact.get(field.name) for field in SCHEMA} for fact in facts]
    return pa.Table.from_pylist(rows, SCHEMA)


def seen(table):
    return [(row["ts_ns"], row["partition"], row["node_id"]) for row in table.to_pylist()]


def test_a_repeated_fact_is_no_news():
    assert seen(News().only_changes(told(leader(1, 1), leader(2, 1), leader(3, 1)))) == [(1, 0, 1)]


def test_a_leader_that_moves_and_returns_is_news_twice():
    facts = told(leader(1, 1), leader(2, 2), leader(3, 1), leader(4, 1))
    assert seen(News().only_changes(facts)) == [(1, 0, 1), (2, 0, 2), (3, 0, 1)]


def test_what_was_known_in_an_earlier_block_is_no_news():
    news = News()
    news.only_changes(told(leader(1, 1)))
    assert seen(news.only_changes(told(leader(2, 1), leader(3, 2, partition=1)))) == [(3, 1, 2)]


def test_no_facts_are_no_news():
    assert News().only_changes(told()).num_rows == 0
