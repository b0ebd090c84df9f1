"""Findings, rebalances and transactions: story tables that a dataset may lack, in the columns that its files have."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_parsers.errors import UsageError

MOST_ROWS = {"findings": 500, "rebalances": 2_000, "transactions": 2_000}
MOST_EVIDENCE = 12
MOST_MEMBERS = 50
MOST_NAMES = 5
_MOST = {"evidence": MOST_EVIDENCE, "conn_ids": MOST_EVIDENCE, "members": MOST_MEMBERS, "departed": MOST_MEMBERS}
_MOST |= {"held_back": MOST_EVIDENCE, "partitions": 10, "offset_groups": MOST_NAMES, "refused_commits": MOST_NAMES}
_MOST |= {"fenced": MOST_NAMES, "error_names": MOST_NAMES}
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
    """The row with the first of what its lists hold; `n_evidence`, `n_conn_ids`, `n_listed_members` count all."""
    for name, most in _MOST.items():
        if isinstance(row.get(name), list):
            row["n_listed_members" if name == "members" else f"n_{name}"] = len(row[name])
            row[name] = [_short(value) for value in row[name][:most]]
    return row


def _short(value: Any) -> Any:
    """A member without what a page has no room for."""
    if not isinstance(value, dict):
        return value
    return {key: part[:MOST_NAMES] if isinstance(part, list) else part for key, part in value.items()}
