"""How far the offsets that a group's generations committed were behind the ends of their partitions, from events of the
kind group_lag.

Several rows may compare one commit: each part of the connections reports the highest high watermark that it shows. The
rows of one commit have its time, so those of one moment are held until the next.
"""

from kafkascope_spark.groups.model import Row


class GenerationLag:
    """The lag of all generations of one group."""

    def __init__(self) -> None:
        self._totals: dict[int, tuple[int, int]] = {}
        """Generation -> records of lag, partitions."""
        self._moment_ns = 0
        self._behind: dict[tuple[int, str, int], int] = {}
        """Generation, topic, partition of the commits of one moment -> records of lag."""

    def add(self, ts_ns: int, lag: Row) -> None:
        """Takes the next event."""
        if ts_ns != self._moment_ns:
            self._add_up()
            self._moment_ns = ts_ns
        key = (lag["generation_or_epoch"], lag["topic"], lag["partition"])
        self._behind[key] = max(self._behind.get(key, 0), lag["high_watermark"] - lag["committed_offset"])

    def columns(self, generation: int | None) -> Row:
        """The columns lag_records and n_lag_partitions of a generation; null where the capture does not show them."""
        self._add_up()
        n_records, n_partitions = self._totals.get(generation, (None, None)) if generation is not None else (None, None)
        return {"lag_records": n_records, "n_lag_partitions": n_partitions}

    def _add_up(self) -> None:
        for (generation, _, _), behind in self._behind.items():
            n_records, n_partitions = self._totals.get(generation, (0, 0))
            self._totals[generation] = (n_records + behind, n_partitions + 1)
        self._behind.clear()
