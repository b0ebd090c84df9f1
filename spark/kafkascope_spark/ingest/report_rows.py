"""What a task reports to the driver, as a row of Spark."""

import pickle
from typing import Any

import pyarrow as pa

REPORT = pa.schema([("report", pa.binary())])


def report_row(report: object) -> pa.RecordBatch:
    """A report as it travels to the driver."""
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(report)], pa.binary())], schema=REPORT)


def reports_of(rows: pa.Table) -> list[Any]:
    """The reports in rows that tasks of this run have given."""
    return [pickle.loads(value) for value in rows.column(0).to_pylist()]
