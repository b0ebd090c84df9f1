"""`TaskReport`: reports of tasks to the driver about the files that they wrote and the parts that failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedPart, joined_parts
from kafkascope_analyzer.dataset.manifest import DatasetFile
from kafkascope_analyzer.dataset.row_types import arrow_type, batch_of_rows, rows_of_batch
from kafkascope_analyzer.dataset.story_files import story_file
from kafkascope_spark.stories.stage_rows import StageRow


@dataclass(frozen=True, slots=True)
class TaskReport(StageRow):
    """Report of a file that a task wrote, or of failed parts; in the latter case only `failed` is set."""

    table: str | None
    path: str | None
    rows: int | None
    bytes: int | None
    footer_crc32: int | None
    failed: FailedPart | None

    @property
    def file(self) -> DatasetFile | None:
        """Returns the entry of the file for the manifest; None for a report of failed parts."""
        if self.path is None or self.rows is None or self.bytes is None:
            return None
        return DatasetFile(self.path, self.rows, self.bytes, self.footer_crc32)


REPORT = "report"
"""Key kind of reports that a stage passes on."""
REPORTS = pa.schema(list(arrow_type(TaskReport)))


def of_file(table: Table, file: DatasetFile) -> TaskReport:
    """Returns the report of a file of a table."""
    return TaskReport(table.name, file.path, file.rows, file.bytes, file.footer_crc32, None)


def of_failed(part: FailedPart) -> TaskReport:
    """Returns the report of failed parts."""
    return TaskReport(None, None, None, None, None, part)


def batch_of_reports(reports: Sequence[TaskReport]) -> pa.RecordBatch:
    """Returns reports as rows of REPORTS."""
    return batch_of_rows(TaskReport, reports)


def reports_of(rows: pa.Table) -> list[TaskReport]:
    """Returns the reports from rows of REPORTS."""
    return [report for batch in rows.to_batches() for report in rows_of_batch(TaskReport, batch)]


def failed_parts_of(reports: Iterable[TaskReport]) -> tuple[FailedPart, ...]:
    """Returns the parts that failed in the tasks."""
    return joined_parts(report.failed for report in reports if report.failed is not None)


def listed(
    dataset: Dataset, run_id: str, reports: Iterable[TaskReport], tables: Sequence[Table]
) -> dict[str, tuple[DatasetFile, ...]]:
    """Returns the entries of the files of each table for the manifest, sorted by name.

    A table without rows gets a file without rows, so that it can be read like any other table.
    """
    found: dict[str, list[DatasetFile]] = {table.name: [] for table in tables}
    for report in reports:
        if report.file is not None and report.table is not None:
            found[report.table].append(report.file)
    for table in tables:
        if not found[table.name]:
            path = story_file(table.stored_as, run_id, 0)
            found[table.name].append(dataset.write_file(path, table.described_schema.empty_table()))
    return {table.stored_as: tuple(sorted(found[table.name], key=lambda file: file.path)) for table in tables}
