"""Errors about topic-partitions that their requests did not name: what the server answers does not fit the request, and
the client has no reason to look for another leader."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_spark.stories.incidents.failure import Failure
from kafkascope_spark.stories.incidents.kinds.other_partition import OTHER_PARTITION
from kafkascope_spark.stories.incidents.kinds.stale_client import STALE_CLIENT

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


def mark_other_partitions(failures: Iterable[Failure], ask: AskNamed) -> None:
    """Changes failures of clients with stale metadata to kind `other_partition` if none of their requests named the
    topic-partition of the error. ask: returns what some requests named, sent from one time to another."""
    for failure in failures:
        if failure.kind is STALE_CLIENT:
            ids = {request_id for row in failure.recoveries for request_id in row.evidence}
            named = ask(ids, failure.start_ns, max(row.last_failed_ns for row in failure.recoveries))
            found = {name for row in failure.recoveries for each in row.evidence for name in named.get(each, ())}
            if found and found.isdisjoint(row.resource for row in failure.recoveries):
                _mark(failure, found)


def _mark(failure: Failure, named: Collection[str]) -> None:
    first = min(failure.recoveries, key=lambda row: (row.start_ns, row.recovery_id))
    failure.kind, failure.node_id = OTHER_PARTITION, first.old_node_id
    failure.subject = f"node {first.old_node_id}"
    failure.topic.named = frozenset(named)


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
