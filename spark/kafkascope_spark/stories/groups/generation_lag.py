"""The lag of a group's committed offsets behind the ends of the partitions, by generation. Events of the kind group_lag
give it for each generation and topic-partition.
"""

from kafkascope_analyzer.dataset.ranges import OFFSETS_APART
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupLag
from kafkascope_spark.stories.groups.table import RebalanceRow


class GenerationLag:
    """The lag of all generations of one group."""

    def __init__(self) -> None:
        self._totals: dict[int, tuple[int, int]] = {}
        """Generation -> lag in records, number of partitions."""

    def add(self, lag: GroupLag) -> None:
        """Takes the next event."""
        n_records, n_partitions = self._totals.get(lag.generation_or_epoch, (0, 0))
        behind = max(lag.high_watermark - lag.committed_offset, 0)
        self._totals[lag.generation_or_epoch] = (n_records + behind, n_partitions + 1)

    def complete(self, row: RebalanceRow) -> None:
        """Sets the columns lag_records and n_lag_partitions of a generation; they stay null if the capture does not
        show the lag."""
        total = self._totals.get(row.generation) if row.generation is not None else None
        if total is not None:
            n_records, row.n_lag_partitions = total
            row.lag_records = min(n_records, OFFSETS_APART.greatest)
