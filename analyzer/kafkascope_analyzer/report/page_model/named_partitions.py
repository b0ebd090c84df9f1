"""Topic-partitions of the kept requests, with offset and error: a few of each request.

Those with errors come first, then one of each topic.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_analyzer.report.page_model.names import Names
from kafkascope_analyzer.report.page_model.request_columns import numbers_of, places
from kafkascope_analyzer.report.page_model.thinning import Columns, Ints, integers

MOST_OF_ONE = 12
MOST_WAITING = 1_000_000
"""Most rows that are collected before they are sorted and cut to MOST_OF_ONE per request."""
_COLUMNS = ["request_id", "conn_id", "topic", "partition", "partition_offset", "error_code", "error_name", "topic_id"]


def load_partitions(
    dataset: Dataset, conns: dict[str, int], keys: Ints, names: tuple[Names, Names]
) -> dict[str, NDArray[Any]]:
    """Returns columns: `n_named` by request (in the order of keys), then by topic-partition `topic`, `partition`,
    `offset` (-1: none), `partition_error`. names: topics and error names, to which new ones are added.
    """
    topics, errors = names
    order = np.argsort(keys)
    ordered = keys[order]
    parts: list[Columns] = []
    waiting = 0
    for batch in scan(dataset, PARTITIONS, _COLUMNS):
        key = places(batch.column("conn_id"), conns) << 32 | numbers_of(batch)
        at = np.minimum(np.searchsorted(ordered, key), max(0, len(ordered) - 1))
        hit = (ordered[at] == key) if len(ordered) else np.zeros(len(key), bool)
        code = integers(batch.column("error_code"), 0)
        rows = {
            "row": order[at] if len(ordered) else at,
            "topic": topics.indices(batch.column("topic")),
            "partition": integers(batch.column("partition"), -1),
            "offset": integers(batch.column("partition_offset"), -1),
            "error": np.where(code == 0, 0, errors.indices(batch.column("error_name"))),
        }
        parts.append({name: column[hit] for name, column in rows.items()})
        waiting += int(np.count_nonzero(hit))
        if waiting > MOST_WAITING:
            parts = [_first_few(parts)]
            waiting = len(parts[0]["row"])
    return _columns(_first_few(parts), len(keys))


def _first_few(parts: list[Columns]) -> Columns:
    """Returns the first few partitions of each request: those with errors, one of each topic, then the others. A
    partition that request and response both contain is one row.
    """
    if not parts:
        return {name: np.empty(0, np.int64) for name in ("row", "topic", "partition", "offset", "error")}
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((-rows["offset"], -rows["error"], rows["partition"], rows["topic"], rows["row"]))
    keys = np.stack([rows["row"], rows["topic"], rows["partition"]])[:, order]
    first = first_of_runs(*keys)
    rows = {name: column[order[first]] for name, column in rows.items()}
    again = np.zeros(len(rows["row"]), bool)  # the previous row has the same topic and request
    again[1:] = (rows["row"][1:] == rows["row"][:-1]) & (rows["topic"][1:] == rows["topic"][:-1])
    order = np.lexsort((rows["partition"], rows["topic"], again, rows["error"] == 0, rows["row"]))
    row = rows["row"][order]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    rank = np.arange(len(row)) - np.repeat(begins, np.diff(np.append(begins, len(row))))
    kept = order[rank < MOST_OF_ONE]
    return {name: column[kept] for name, column in rows.items()}


def _columns(rows: Columns, n_requests: int) -> dict[str, NDArray[Any]]:
    return {
        "n_named": np.bincount(rows["row"], minlength=n_requests).astype(np.uint8),
        "topic": rows["topic"].astype(np.uint16),
        "partition": (rows["partition"] & (2**32 - 1)).astype(np.uint32).astype(np.int32),
        "offset": rows["offset"].astype(np.float64),
        "partition_error": rows["error"].astype(np.uint16),
    }
