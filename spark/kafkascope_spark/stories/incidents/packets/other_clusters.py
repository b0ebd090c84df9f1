"""The other clusters of a dataset that have topics of some names."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.selection import Selection
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import TOPOLOGY


@dataclass(frozen=True, slots=True)
class _Leader(Row):
    TABLE: ClassVar[Table] = TOPOLOGY
    cluster: str
    kind: str
    topic: str | None


def clusters_of_topics(dataset: Dataset | None, topics: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Returns for each topic the other clusters whose brokers reported a leader of it. dataset: the rows of one
    cluster; None if there is none. Raises UsageError where a table cannot be read."""
    if dataset is None or dataset.cluster is None or not topics:
        return {}
    found: dict[str, set[str]] = defaultdict(set)
    for row in read(replace(dataset, only=Selection()), _Leader, one_of("topic", sorted(topics))):
        if row.kind == "leader" and row.topic is not None and row.cluster != dataset.cluster:
            found[row.topic].add(row.cluster)
    return {topic: tuple(sorted(clusters)) for topic, clusters in found.items()}
