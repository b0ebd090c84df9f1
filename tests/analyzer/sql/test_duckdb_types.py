"""Types of columns in DuckDB's words are those that DuckDB itself gives the columns of a table."""

import duckdb
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.sql.duckdb_types import duckdb_type


@pytest.mark.parametrize("table", INGEST_TABLES, ids=lambda table: table.name)
def test_duckdb_has_the_same_types(table: Table) -> None:
    with duckdb.connect() as connection:
        known = connection.from_arrow(table.schema.empty_table()).types
        assert [duckdb.sqltype(duckdb_type(field.type)) for field in table.schema] == known
