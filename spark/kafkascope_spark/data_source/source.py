"""The data source for Spark. See PySpark's Python data source API (pyspark.sql.datasource)."""

import json
from functools import cached_property

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kafkascope_analyzer.dataset.dataset_uri import is_dataset
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.data_source.read_options import ReadOptions, parse_options
from kafkascope_spark.data_source.reader import CaptureReader, DatasetReader
from kafkascope_spark.read import spark_schema


class KafkascopeDataSource(DataSource):
    """Reads a table of captures, which the reading tasks ingest, or of a dataset.

    `load` takes files, folders and globs of captures, local or in an object store, or one dataset; the options are
    those of `ReadOptions`. A schema that is given to Spark may omit columns.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name for `format`."""
        return "kafkascope"

    def schema(self) -> StructType:
        """Returns the columns of the table. Raises UsageError for unknown options."""
        return spark_schema(self._asked.table.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns the reader. schema: the wanted columns. Raises UsageError if the table cannot be read."""
        self._check_columns(schema)
        places = self._places()
        if any(map(is_dataset, places)):
            if len(places) > 1:
                raise UsageError("load takes one dataset, or captures: each dataset has clients of its own")
            self._asked.check_dataset_options()
            return DatasetReader(self._asked, schema, places[0])
        self._asked.check_capture_table()
        return CaptureReader(self._asked, schema, places)

    @cached_property
    def _asked(self) -> ReadOptions:
        return parse_options(self.options)

    def _places(self) -> list[str]:
        """Returns the arguments of `load`: Spark passes a single one as `path`, and several as `paths`, in JSON."""
        several = json.loads(self.options.get("paths", "[]"))
        one = self.options.get("path")
        places = [*([one] if one else []), *several]
        if not places:
            raise UsageError("load needs a capture, a folder or a glob of captures, or a dataset")
        return places

    def _check_columns(self, schema: StructType) -> None:
        known = {field.name: field.dataType for field in self.schema()}
        for field in schema:
            if known.get(field.name) != field.dataType:
                has = f"has the type {known[field.name].simpleString()}" if field.name in known else "does not exist"
                raise UsageError(f"the column {field.name} of {self._asked.table.name} {has}")
