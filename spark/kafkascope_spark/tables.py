"""`Tables`: the tables of one dataset as DataFrames, for the queries of findings.

Each table is read with its declared schema, so that no job has to infer one. A table of a small capture is one
partition, so that grouping and sorting it need no shuffle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.tables.events import EVENTS, KIND_FOLDER, KINDS
from kafkascope_spark.read import empty, load_table, spark_schema

SMALL_REQUESTS = 1_000_000
"""With fewer requests than this, a table is one partition."""


@dataclass(frozen=True)
class Tables:
    """A dataset's tables."""

    session: SparkSession
    dataset: Dataset

    @cached_property
    def n_requests(self) -> int:
        """Number of requests."""
        return self.dataset.rows(REQUESTS.name)

    @property
    def capture_ns(self) -> tuple[int, int]:
        """Times of the first and last packet of the capture; zeros without packets."""
        return self.dataset.capture_span or (0, 0)

    @property
    def small(self) -> bool:
        """Whether a table is one partition."""
        return self.n_requests < SMALL_REQUESTS

    def __getitem__(self, table: Table) -> DataFrame:
        """Returns the table with all declared columns; without rows if the dataset lacks it."""
        return self.columns(table, table.schema.names)

    def columns(self, table: Table, names: Sequence[str]) -> DataFrame:
        """Returns some columns of a table."""
        schema = spark_schema(pa.schema([table.schema.field(name) for name in names]))
        return self._sized(load_table(self.session, self.dataset, table.stored_as, schema))

    def events(self, kind: str, names: Sequence[str]) -> DataFrame:
        """Returns events of one kind: conn_id and fields of the kind's struct (dataset.tables.events.KINDS), as
        columns."""
        fields = [KINDS[kind].field(name) for name in names if name != "conn_id"]
        schema = pa.schema([("conn_id", pa.string()), (kind, pa.struct(fields))])
        rows = load_table(self.session, self.dataset, EVENTS.name, spark_schema(schema), f"{KIND_FOLDER}{kind}")
        columns = [name if name == "conn_id" else f"{kind}.{name}" for name in names]
        return self._sized(rows.select(*columns))

    def empty(self, table: Table) -> DataFrame:
        """Returns the table's columns without rows."""
        return empty(self.session, spark_schema(table.schema))

    def _sized(self, rows: DataFrame) -> DataFrame:
        return rows.coalesce(1) if self.small else rows
