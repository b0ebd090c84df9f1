"""`Slots`: equal slots of time into which a capture is divided, for figures over time.

They begin with the capture, and have a length that doubles when the capture becomes too long: each slot of a longer
capture is made of whole slots of a shorter one, so that counts by slot of earlier captures can be added up.
"""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span

MOST_SLOTS = 120
"""Most slots of a capture; a capture that is long enough has at least half as many."""
SHORTEST_NS = 10_000_000
"""Length of the slots of short captures: the rate of a few requests in less time means nothing."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots from start_ns on, each length_ns long. The last one goes on to the end of the capture, and is less than
    twice as long."""

    start_ns: int
    end_ns: int
    length_ns: int = SHORTEST_NS

    @classmethod
    def of(cls, dataset: Dataset) -> "Slots":
        """Returns the slots of a dataset's captures. Raises UsageError where the table captures cannot be read."""
        start_ns, last_ns = capture_span(dataset)
        slots = cls(start_ns, last_ns + 1)
        while slots.n > MOST_SLOTS:
            slots = slots.doubled
        return slots

    @property
    def n(self) -> int:
        """Number of slots."""
        return max(1, (self.end_ns - self.start_ns) // self.length_ns)

    @property
    def doubled(self) -> "Slots":
        """Half as many slots, each made of two of these."""
        return Slots(self.start_ns, self.end_ns, 2 * self.length_ns)

    def times(self, number: int) -> tuple[int, int]:
        """Returns the begin and the end of a slot."""
        begin = self.start_ns + number * self.length_ns
        is_last = number == self.n - 1
        return begin, max(self.end_ns, begin + self.length_ns) if is_last else begin + self.length_ns

    @property
    def counted_sql(self) -> str:
        """SQL for the number of the slot of a request by which requests are counted: without regard to the end of the
        capture, which a later one moves."""
        return f"(greatest(0, ts_ns - {self.start_ns}) // {self.length_ns})"

    def number_sql(self, counted: str, parts: "Slots | None" = None) -> str:
        """Returns SQL for the number of a slot. counted: SQL for the number by which requests were counted; parts:
        slots by which they were counted, whose length divides that of these."""
        parts = parts or self
        return f"least({self.n - 1}, {counted} // {self.length_ns // parts.length_ns})"
