"""What a query sees, compared with the Parquet files as pyarrow reads them; and what it cannot reach."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.sql.database import Database, WorkMemory
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

Write = Callable[..., Path]


def rows(dataset: Path, query: str) -> list[tuple]:
    with Database(Dataset.open(dataset)) as database:
        return list(database.query(query)[1])


def test_every_table_is_there_with_all_its_columns(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for table in (*INGEST_TABLES, *STORY_TABLES):
        if not (place / table.name).is_dir() and not (place / "stories" / table.name).is_dir():
            small.write_table(place, table, [])
    with Database(Dataset.open(place)) as database:
        for table in (*INGEST_TABLES, *STORY_TABLES):
            names, found = database.query(f"select * from {table.name}")
            assert names == [column.name for column in table.columns]
            list(found)


def test_figures_are_those_of_the_files(real: Path) -> None:
    table = ds.dataset(real / "requests").to_table()
    counted = Counter(table["api_name"].to_pylist())
    assert dict(rows(real, "select api_name, count(*) from requests group by all")) == counted
    slowest = pc.max(table["latency_us"]).as_py()
    assert rows(real, "select max(latency_us) from requests") == [(slowest,)]


def test_messages_keep_their_nested_fields(real: Path) -> None:
    nested = ds.dataset(real / "messages" / "Metadata" / "response").to_table(columns=["topics"]).to_pylist()
    wanted = Counter(
        (topic["name"], partition["leader_id"])
        for row in nested
        for topic in row["topics"] or ()
        for partition in topic["partitions"] or ()
    )
    query = """
    with t as (select unnest(topics) as t from messages.metadata_response),
         p as (select t.name as name, unnest(t.partitions) as p from t)
    select name, p.leader_id, count(*) from p group by all
    """
    assert {(name, leader): n for name, leader, n in rows(real, query)} == wanted
    by_path = 'select count(*) from "messages/Metadata/response"'
    assert rows(real, by_path) == [(len(nested),)]


def test_tables_join(dataset: Write) -> None:
    query = """
    select c.client_id, count(*) from clients c, requests r
    where list_contains(c.conn_ids, r.conn_id) group by all order by all
    """
    assert rows(dataset(), query) == [("reader", 1), ("svc", 6)]


@pytest.mark.parametrize("text", ["describe requests", "summarize errors", "from clients", "show tables", "values (1)"])
def test_other_ways_to_write_a_select(dataset: Write, text: str) -> None:
    assert rows(dataset(), text)


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to '{out}'",
        "with x as (copy (select 1) to '{out}') select * from x",
        "explain analyze copy (select 1) to '{out}'",
        "create table x as select 1",
        "drop view requests",
        "attach '{out}' as other",
        "set enable_external_access = true",
        "install httpfs",
        "export database '{out}'",
        "select 1; select 2",
        "",
    ],
)
def test_nothing_is_written(dataset: Write, tmp_path: Path, query: str) -> None:
    place = dataset()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as refused:
        rows(place, query.format(out=tmp_path / "out"))
    assert "\n" not in str(refused.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('{file}')",
        "select * from '{file}'",
        "select * from read_csv('{file}')",
        "select * from glob('{folder}/*')",
        "select * from read_parquet('{folder}/small.kscope/requests/*.parquet')",
        "select * from python_variable",
        "select * from query('select * from read_text(''{file}'')')",
        "select * from 'https://127.0.0.1:1/x.parquet'",
    ],
)
def test_nothing_beside_the_tables_is_read(dataset: Write, tmp_path: Path, query: str) -> None:
    place = dataset()
    python_variable = ds.dataset(place / "requests").to_table()
    assert python_variable.num_rows
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    with pytest.raises(UsageError) as refused:
        rows(place, query.format(file=secret, folder=tmp_path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select foo from requests", 'Referenced column "foo" not found'),
        ("selec 1", "syntax error"),
        ("select * from nowhere", "nowhere does not exist"),
        ("select 'x'::int", "Could not convert"),
        ("select 1/", "syntax error"),
    ],
)
def test_a_wrong_query_gets_one_sentence(dataset: Write, query: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        rows(dataset(), query)
    assert said in str(refused.value)
    assert "kafkascope tables" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_stories_that_are_missing_are_named(dataset: Write) -> None:
    with pytest.raises(UsageError, match=re.escape("has no table stories/findings: `kafkascope stories")):
        rows(dataset(stories=False), "select * from findings")


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a kafkascope dataset"):
        Database(Dataset.open(tmp_path))


def test_an_unreadable_table_is_named(dataset: Write) -> None:
    place = dataset()
    (place / "requests" / "part-0.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="requests"):
        rows(place, "select count(*), max(latency_us) from requests")


@pytest.mark.slow
def test_a_sort_that_is_larger_than_memory_spills(dataset: Write, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Database(Dataset.open(dataset()), memory=WorkMemory("80MB", scratch)) as database:
        query = "select i, 'some text to carry ' || i from range(2000000) r(i) order by hash(i)"
        assert sum(1 for _ in database.query(query)[1]) == 2_000_000


INTERRUPTED = """
import signal, sys
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.sql.database import Database

ENDLESS = "select sum(hash(i)) from range(9000000000000) numbers(i) where hash(i) % 7 = 3"
signal.signal(signal.SIGALRM, signal.default_int_handler)
stored = Dataset.open(sys.argv[1])
for number in range(20):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.004 + 0.004 * number)
        with Database(stored) as database:
            list(database.query(ENDLESS)[1])
        sys.exit("the query ended")
    except KeyboardInterrupt:
        pass
with Database(stored) as database:
    for number in range(20):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.004 * number)
            list(database.query(ENDLESS)[1])
            sys.exit("the query ended")
        except KeyboardInterrupt:
            pass
    print(list(database.query("select 42 as answer")[1]))
"""
"""Signals while tables are opened, a query is planned, and it is executed; afterwards the connection answers. The query
would take a day."""


@pytest.mark.slow
def test_a_signal_interrupts_a_query_whenever_it_comes(dataset: Write) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(dataset())]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (ended.returncode, ended.stdout) == (0, "[(42,)]\n"), ended.stderr
