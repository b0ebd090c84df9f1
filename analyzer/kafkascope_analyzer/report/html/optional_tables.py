"""Loads rebalances and transactions: story tables that a dataset may lack."""

from collections.abc import Callable
from functools import partial
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import STORIES
from kafkascope_analyzer.dataset.stories import REBALANCES
from kafkascope_analyzer.dataset.table_rows import capture_span, rows
from kafkascope_analyzer.report.unread_partitions import Names, member_names, unread_partitions, unread_text

MOST_ROWS = {"rebalances": 2_000, "transactions": 2_000}
MOST_EVIDENCE = 12
MOST_MEMBERS = 50
MOST_NAMES = 5
_MOST = {"evidence": MOST_EVIDENCE, "conn_ids": MOST_EVIDENCE, "members": MOST_MEMBERS, "departed": MOST_MEMBERS}
_MOST |= {"held_back": MOST_EVIDENCE, "partitions": 10, "offset_groups": MOST_NAMES, "refused_commits": MOST_NAMES}
_MOST |= {"fenced": MOST_NAMES, "error_names": MOST_NAMES}
_ORDER = {"rebalances": "start_ns", "transactions": "begin_ns"}

Row = dict[str, Any]


def load_rebalances(dataset: Dataset) -> Row:
    """As load_story; of the partitions of a row those that were unread, longest first, and `unread_text` about them."""
    names = member_names(rows(dataset, REBALANCES, ["members", "departed"]))
    start_ns, _ = capture_span(dataset)
    return load_story(dataset, REBALANCES.name, partial(_with_unread, names=names, start_ns=start_ns))


def _with_unread(row: Row, names: Names, start_ns: int) -> Row:
    return row | {"unread_text": unread_text(row, names, start_ns), "partitions": unread_partitions(row)}


def _as_it_is(row: Row) -> Row:
    return row


def load_story(dataset: Dataset, name: str, prepared: Callable[[Row], Row] = _as_it_is) -> Row:
    """present, n and `listed`: the table's rows by time, at most MOST_ROWS[name]; prepared: what is done to each.

    Raises UsageError where the table is there and cannot be read.
    """
    table = f"{STORIES}/{name}"
    if not dataset.has(table):
        return {"present": False, "n": 0, "listed": []}
    kept: list[Row] = []
    columns = [c for c in dataset.arrow(table).schema.names if not c.endswith("_ts") and c != "ts"]
    for batch in dataset.batches(table, columns):
        kept += [_bounded(prepared(row)) for row in batch.to_pylist()]
        if len(kept) > 4 * MOST_ROWS[name]:
            kept = _first(kept, name)
    return {"present": True, "n": dataset.rows(table), "listed": _first(kept, name)}


def _first(kept: list[Row], name: str) -> list[Row]:
    def order(row: Row) -> tuple[int, str]:
        return row.get(_ORDER[name]) or 0, str(next(iter(row.values()), ""))

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
