"""The readers of the data source: their partitions, and the rows of each.

A partition of captures is a capture point. Its task ingests the captures in one process into its own temporary folder,
returns the rows of the table, and removes the folder. A partition of a dataset is a file of the table.

A reader holds no state of a query, and has no `pushFilters`: Spark (4.1 to 4.3) keeps the reader that has accepted the
conditions of one query, with its partitions, for every later query of the same DataFrame and of views over it
(PythonScanBuilder.pushFilters sets the read plan of the table that they share), which would then miss rows.

Spark plans each query in a new Python process that imports this module. Modules that only a task needs to ingest, above
all the kernels, are imported in the task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import DatasetFile, Manifest
from kafkascope_analyzer.dataset.temporary_folders import temporary_folder
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.data_source.capture_points import capture_points
from kafkascope_spark.data_source.read_options import ReadOptions


@dataclass(frozen=True)
class _CapturePoint(InputPartition):
    captures: tuple[CapturePlace, ...]


@dataclass(frozen=True)
class _TableFile(InputPartition):
    file: DatasetFile


class _TableReader(DataSourceReader):
    """Base class of both readers, with the table and its columns."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._columns = schema.fieldNames()

    def _rows(self, dataset: Dataset) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the wanted columns, with the types that Spark expects."""
        contract = self._options.table.schema
        schema = pa.schema([contract.field(name).with_nullable(True) for name in self._columns])
        for batch in dataset.batches(self._options.name, self._columns):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


class DatasetReader(_TableReader):
    """Reads a table of a dataset, with one partition per file."""

    def __init__(self, options: ReadOptions, schema: StructType, place: str) -> None:
        super().__init__(options, schema)
        dataset = Dataset.open(place)
        if not dataset.has(options.name):
            raise UsageError(f"{dataset} has no table {options.name}")
        self._storage, self._files = dataset.storage, dataset.manifest.files[options.name]

    def partitions(self) -> Sequence[InputPartition]:
        """Returns a partition for each file of the table."""
        return [_TableFile(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a file. partition: a partition without a file has no rows (Spark plans one if there are no
        files)."""
        if isinstance(partition, _TableFile):
            only = Manifest({self._options.name: (partition.file,)}, {})
            yield from self._rows(Dataset(self._storage, only))


class CaptureReader(_TableReader):
    """Ingests captures and reads a table of the result, with one partition per capture point."""

    def __init__(self, options: ReadOptions, schema: StructType, places: Sequence[str]) -> None:
        super().__init__(options, schema)
        self._captures = expand_inputs(places)
        for capture in self._captures:
            if capture.is_stream:
                raise UsageError(f"{capture}: Spark's tasks cannot read standard input or a pipe: name a file")

    def partitions(self) -> Sequence[InputPartition]:
        """Returns a partition for each capture point."""
        return [_CapturePoint(captures) for captures in capture_points(self._captures)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a capture point. Raises CaptureError and UsageError like `ingest`."""
        if not isinstance(partition, _CapturePoint):
            return
        from kafkascope_analyzer.ingest.run import ingest

        with temporary_folder("read") as folder:
            out = folder / "captures.kscope"
            wanted = IngestOptions(jobs=1, detail=self._options.detail, hosts=self._options.hosts)
            ingest(partition.captures, out, replace(wanted, temporary=folder))
            yield from self._rows(Dataset.open(str(out)))
