"""`Rows` of a query and a `Table`, as Arrow, Polars, pandas, DuckDB or Spark."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkascope_analyzer.dataset.installed import installed
from kafkascope_analyzer.sql.database import Database

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame as PolarsFrame
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession


class Rows:
    """The rows of a SELECT. They are read each time that they are asked for in some form."""

    def __init__(self, database: Database, select: str) -> None:
        self._database = database
        self._select = select
        self.columns: tuple[str, ...] = tuple(self.duckdb().columns)
        """The names of the columns."""

    def __repr__(self) -> str:
        return f"<kafkascope rows of {self._select!r}>"

    def arrow(self) -> pa.Table:
        """The rows as a pyarrow table. Raises UsageError where a file cannot be read."""
        batches = self._database.arrow(self._select)
        schema = next(batches)
        return pa.Table.from_batches(batches, schema)

    def pandas(self) -> "PandasFrame":
        """The rows as a pandas frame with Arrow's types (`dtype_backend="pyarrow"`): an integer that may be null stays
        an integer."""
        pandas = installed("pandas", "pandas")
        frame: PandasFrame = self.arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def polars(self) -> "PolarsFrame":
        """The rows as a Polars frame."""
        return installed("polars", "polars").from_arrow(self.arrow())

    def duckdb(self) -> "DuckDBPyRelation":
        """The rows as a DuckDB relation, which is evaluated when its rows are asked for: it can be filtered, joined and
        aggregated before."""
        return self._database.relation(self._select)

    def spark(self, session: "SparkSession | None" = None) -> "SparkFrame":
        """The rows as a Spark DataFrame. session: without it the active one; where there is none, one that is embedded
        in this process. Raises UsageError, as where Java is missing."""
        return spark_session(session).createDataFrame(self.arrow())


class Table(Rows):
    """A table of a dataset, its messages of one kind, or a view."""

    def __init__(self, database: Database, name: str, columns: Sequence[str] | None = None) -> None:
        self.name = name
        """The name of the table in SQL: requests, clients, messages.Metadata_response."""
        database.check_name(name)
        super().__init__(database, f"select {'*' if columns is None else ', '.join(map(_quoted, columns))} from {name}")

    def __repr__(self) -> str:
        return f"<kafkascope table {self.name}>"

    def __getitem__(self, columns: Sequence[str]) -> "Table":
        """The table with some columns: `dataset["requests"][["ts", "latency_us"]]`. The others are not read. Raises
        UsageError."""
        return Table(self._database, self.name, [columns] if isinstance(columns, str) else columns)

    def __len__(self) -> int:
        """The number of rows."""
        return self._n_rows

    def spark(self, session: "SparkSession | None" = None) -> "SparkFrame":
        """The table as a Spark DataFrame, which Spark reads from the files (views: from their rows). session: as of
        `Rows.spark`; an executor has to reach the dataset's place."""
        stored = self._database.stored_as(self.name)
        if stored is None:
            return super().spark(session)
        opened = spark_session(session)
        from kafkascope_spark.read import load_table, spark_schema

        dataset = self._database.dataset
        return load_table(opened, dataset, stored, spark_schema(dataset.arrow(stored).schema)).select(*self.columns)

    @cached_property
    def _n_rows(self) -> int:
        return int(self._database.relation(f"select count(*) from {self.name}").fetchall()[0][0])


def spark_session(session: "SparkSession | None") -> "SparkSession":
    """The session, or the active one, or an embedded one. Raises UsageError where Spark or Java is missing."""
    installed("pyspark", "stories")
    if session is not None:
        return session
    from kafkascope_spark.session import open_session

    return open_session()


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
