"""Columns can be named in SQL without quotes: none is a reserved word of DuckDB or of Spark's ANSI SQL.

Names in `messages` are Kafka's own, those of `ocsf_detection_findings` OCSF's, and not ours to choose.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import views
from kafkascope_spark.stories.tables import STORY_TABLES


def names_in(field: pa.Field, place: str) -> Iterator[tuple[str, str]]:
    """The name of a column, and of each field of its structs, with where it stands."""
    yield field.name, f"{place}.{field.name}"
    kind = field.type
    while pa.types.is_list(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind):
        for inner in kind.fields:
            yield from names_in(inner, f"{place}.{field.name}")


def contract_names() -> list[tuple[str, str]]:
    tables = (*INGEST_TABLES, *STORY_TABLES)
    return [found for table in tables for field in table.schema for found in names_in(field, table.name)]


def test_no_column_is_a_reserved_word_of_duckdb() -> None:
    words = duckdb.sql("select keyword_name from duckdb_keywords() where keyword_category = 'reserved'").fetchall()
    reserved = {word for (word,) in words}
    assert {"offset", "where", "end"} <= reserved
    assert [place for name, place in contract_names() if name in reserved] == []


@pytest.mark.slow
@pytest.mark.spark
def test_no_column_of_a_table_or_view_is_a_reserved_word_of_spark(spark: Any, dataset_of: Callable[..., Path]) -> None:
    spark.conf.set("spark.sql.ansi.enforceReservedKeywords", True)
    try:
        words = spark.sql("select lower(keyword) as word from sql_keywords() where reserved").toArrow()
    finally:
        spark.conf.unset("spark.sql.ansi.enforceReservedKeywords")
    reserved = set(words["word"].to_pylist())
    assert {"offset", "where", "end"} <= reserved
    names = contract_names()
    with Database(Dataset.open(dataset_of("leader_move", rules=None))) as database:
        for view in (view for view in views() if not view.name.startswith("ocsf_")):
            names += [(name, f"{view.name}.{name}") for name in database.query(f"from {view.name} limit 0")[0]]
    assert [place for name, place in names if name in reserved] == []
