"""The readers of the data source: what a partition is, and how a task gives its rows.

A partition of captures is a capture point. Its task ingests the captures in one process into a temporary folder of its
own, gives the rows of the table, and removes the folder. A partition of a dataset is a file of the table.

Which conditions hold decides which rows a task gives, and never which packets it reads: a request that begins before
the latest time that is asked for may have its response in a later file. Only a capture point whose first packet is
later than that is not read at all.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import DatasetFile, Manifest
from kafkascope_analyzer.dataset.tables import EVENTS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.read.series import SLACK_NS
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.data_source.capture_points import capture_points
from kafkascope_spark.data_source.filters import all_of, expression, latest_ns
from kafkascope_spark.data_source.read_options import ReadOptions
from kafkascope_spark.ingest.kernel_cache import prepare_kernel_cache

_PEEK_BYTES = 1 << 16


@dataclass(frozen=True)
class _CapturePoint(InputPartition):
    captures: tuple[CapturePlace, ...]


@dataclass(frozen=True)
class _TableFile(InputPartition):
    file: DatasetFile


class _TableReader(DataSourceReader):
    """What both readers share: the columns, and the conditions that pyarrow checks."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._columns = schema.fieldNames()
        self._filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - PySpark's name
        """Takes over the conditions that pyarrow can check; returns the others."""
        schema = self._options.table.schema
        self._filters = [each for each in filters if expression(each, schema) is not None]
        return [each for each in filters if expression(each, schema) is None]

    def _rows(self, dataset: Dataset) -> Iterator[pa.RecordBatch]:
        """The wanted columns of the rows that the conditions let through, with the types that Spark expects."""
        contract = self._options.table.schema
        checked = [found for each in self._filters if (found := expression(each, contract)) is not None]
        schema = pa.schema([contract.field(name).with_nullable(True) for name in self._columns])
        for batch in dataset.batches(self._options.name, self._columns, all_of(checked)):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


class DatasetReader(_TableReader):
    """Reads a table of a dataset, a partition a file."""

    def __init__(self, options: ReadOptions, schema: StructType, place: str) -> None:
        super().__init__(options, schema)
        dataset = Dataset.open(place)
        if not dataset.has(options.name):
            raise UsageError(f"{dataset} has no table {options.name}")
        self._storage, self._files = dataset.storage, dataset.manifest.files[options.name]

    def partitions(self) -> Sequence[InputPartition]:
        """The files of the table."""
        return [_TableFile(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file. partition: that of no file has no rows (Spark plans one where there is none)."""
        if isinstance(partition, _TableFile):
            only = Manifest({self._options.name: (partition.file,)}, {})
            yield from self._rows(Dataset(self._storage, only))


class CaptureReader(_TableReader):
    """Ingests captures and reads a table of what comes of it, a partition a capture point."""

    def __init__(self, options: ReadOptions, schema: StructType, places: Sequence[str]) -> None:
        super().__init__(options, schema)
        self._captures = expand_inputs(places)
        for capture in self._captures:
            if capture.is_stream:
                raise UsageError(f"{capture}: Spark's tasks cannot read standard input or a pipe: name a file")

    def partitions(self) -> Sequence[InputPartition]:
        """The capture points."""
        return [_CapturePoint(captures) for captures in capture_points(self._captures)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a capture point. Raises CaptureError and UsageError as `ingest` does."""
        if not isinstance(partition, _CapturePoint):
            return
        prepare_kernel_cache()
        if self._begins_too_late(partition.captures):
            return
        with tempfile.TemporaryDirectory(prefix="kafkascope-read-", ignore_cleanup_errors=True) as folder:
            out = Path(folder) / "captures.kscope"
            wanted = IngestOptions(jobs=1, detail=self._options.detail, hosts=self._options.hosts)
            ingest(partition.captures, out, replace(wanted, temporary=Path(folder)))
            yield from self._rows(Dataset.open(str(out)))

    def _begins_too_late(self, captures: tuple[CapturePlace, ...]) -> bool:
        """Whether no row of a capture point is early enough: then only the first packets are read."""
        latest = latest_ns(self._filters)
        if latest is None or self._options.table.name == EVENTS.name:
            return False
        return all(_begins_after(capture, latest + SLACK_NS) for capture in captures)


def _begins_after(capture: CapturePlace, time_ns: int) -> bool:
    for block in CaptureFile(capture, _PEEK_BYTES, may_be_empty=True).blocks():
        return bool(block.packets.ts_ns[0] > time_ns)
    return False
