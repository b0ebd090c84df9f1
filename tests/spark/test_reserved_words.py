"""No column or table is a word that Spark's SQL reserves: in its strict mode it parses all of them as names."""

from typing import Any

import pytest

from kafkascope_analyzer.sql.saved import views
from kafkascope_analyzer.sql.tables import TABLES

STRICT = "spark.sql.ansi.enforceReservedKeywords"


@pytest.mark.spark
def test_no_table_or_column_is_reserved_by_spark(spark: Any) -> None:
    names = {column.name for table in TABLES for column in table.columns} | {table.name for table in TABLES}
    names |= {view.name for view in views()}
    spark.conf.set(STRICT, "true")
    try:
        with pytest.raises(Exception, match=r"(?i)syntax error"):
            spark.sql("select 1 as user")
        assert set(spark.sql(f"select {', '.join(f'1 as {name}' for name in sorted(names))}").columns) == names
    finally:
        spark.conf.unset(STRICT)
