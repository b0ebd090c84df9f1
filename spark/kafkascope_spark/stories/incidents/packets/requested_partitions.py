"""The topic-partitions that requests name."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS

Named = Mapping[str, Collection[str]]
"""Topic-partitions that requests name, by request_id."""

AskNamed = Callable[[Collection[str], int, int], Named]


@dataclass(frozen=True, slots=True)
class _Request(Row):
    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    fetch_session_epoch: int | None


@dataclass(frozen=True, slots=True)
class _Partition(Row):
    TABLE: ClassVar[Table] = PARTITIONS
    request_id: str
    topic: str | None
    partition: int | None


def named_partitions(dataset: Dataset | None, request_ids: Collection[str], from_ns: int, to_ns: int) -> Named:
    """Returns the topic-partitions that requests name, without Fetch requests that continue a fetch session: these name
    only what changes. from_ns, to_ns: time in which they were sent. Raises UsageError where a table cannot be read."""
    if dataset is None or not request_ids:
        return {}
    chosen = one_of("request_id", sorted(request_ids))
    whole = {r.request_id for r in read(dataset, _Request, chosen) if (r.fetch_session_epoch or 0) <= 0}
    sent = (ds.field("direction") == "request") & (ds.field("ts_ns") >= from_ns) & (ds.field("ts_ns") <= to_ns)
    found: dict[str, set[str]] = defaultdict(set)
    for row in read(dataset, _Partition, sent & chosen):
        if row.request_id in whole and row.topic is not None and row.partition is not None:
            found[row.request_id].add(f"{row.topic}-{row.partition}")
    return found
