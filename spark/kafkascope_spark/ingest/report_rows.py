"""Reports of tasks to the driver as rows of Spark."""

import pickle
from typing import Any

import pyarrow as pa

REPORT = pa.schema([("report", pa.binary())])


def report_row(report: object) -> pa.RecordBatch:
    """Returns a report as a batch of one row."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=REPORT)


def reports_of(rows: pa.Table) -> list[Any]:
    """Returns the reports in rows of tasks of this run."""
    return [pickle.loads(value) for value in rows.column(0).to_pylist()]
