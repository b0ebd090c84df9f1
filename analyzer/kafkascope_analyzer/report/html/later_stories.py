"""Findings, rebalances and transactions: story tables that a dataset may lack, in the columns that its files have."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_parsers.errors import UsageError

MOST_ROWS = {"findings": 500, "rebalances": 2_000, "transactions": 2_000}
MOST_EVIDENCE = 12
MOST_MEMBERS = 50
SEVERITIES = ("error", "warning", "info")
_ORDER = {"findings": "first_ns", "rebalances": "start_ns", "transactions": "begin_ns"}

Row = dict[str, Any]


def load_story(dataset: Path, name: str) -> Row:
    """present, n and `listed`: the table's rows by time (findings: by severity first), at most MOST_ROWS[name].

    Raises UsageError where the table is there and cannot be read.
    """
    place = dataset / "stories" / name
    if not place.is_dir():
        return {"present": False, "n": 0, "listed": []}
    kept: list[Row] = []
    n_all = 0
    try:
        source = ds.dataset(place, format="parquet", exclude_invalid_files=False)
        columns = [c for c in source.schema.names if not c.endswith("_ts") and c != "ts"]
        for batch in source.to_batches(columns=columns, use_threads=False):
            n_all += batch.num_rows
            kept += [_bounded(row) for row in batch.to_pylist()]
            if len(kept) > 4 * MOST_ROWS[name]:
                kept = _first(kept, name)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{place}: cannot be read: {error}") from error
    return {"present": True, "n": n_all, "listed": _first(kept, name)}


def _first(kept: list[Row], name: str) -> list[Row]:
    def order(row: Row) -> tuple[int, int, str]:
        severity = SEVERITIES.index(row["severity"]) if row.get("severity") in SEVERITIES else len(SEVERITIES)
        return severity, row.get(_ORDER[name]) or 0, str(next(iter(row.values()), ""))

    return sorted(kept, key=order)[: MOST_ROWS[name]]


def _bounded(row: Row) -> Row:
    """The row with the first of its evidence and members, and how many there are."""
    for name, most in (("evidence", MOST_EVIDENCE), ("conn_ids", MOST_EVIDENCE), ("members", MOST_MEMBERS)):
        if isinstance(row.get(name), list):
            row[f"n_{name}" if name != "members" else "n_listed_members"] = len(row[name])
            row[name] = row[name][:most]
    return row
