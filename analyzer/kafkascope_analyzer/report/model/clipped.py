"""How long lists in a table's row get into report.json: their beginning, and how long they are."""

from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table

Row = dict[str, Any]

MOST_LISTED = 10
"""Elements of such a list that are kept: a member may be assigned thousands of partitions."""


def list_columns(table: Table) -> frozenset[str]:
    """The columns that hold lists."""
    return frozenset(column.name for column in table.columns if pa.types.is_list(column.type))


def clipped(row: Row) -> Row:
    """The row with the first elements of each list, and beside it how many there are (`n_` and its name); structs in
    lists likewise.
    """
    told: Row = {}
    for name, value in row.items():
        if isinstance(value, list):
            told[f"n_{name}"] = len(value)
            value = [clipped(part) if isinstance(part, dict) else part for part in value[:MOST_LISTED]]
        told[name] = value
    return told
