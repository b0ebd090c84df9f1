"""`Incidents`: stalls, broker states, recoveries and rebalances in; incidents, and what belongs to each, out."""

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


class Incidents:
    """Takes what failed or stood still, and tells what failed. capture_ns: first and last packet of the capture."""

    def __init__(self, capture_ns: tuple[int, int]) -> None:
        self._capture_ns = capture_ns
        self._rows: dict[str, list[Row]] = {}

    def take(self, kind: str, row: Row) -> None:
        """Take a row (incident_stage.FOUND_KINDS)."""
        self._rows.setdefault(kind, []).append(row)

    def finish(self) -> Iterator[tuple[str, Row]]:
        """Rows of stalls, broker_states and incidents, each with the name of its table."""
        for state in self._rows.get("broker_state", ()):
            yield "broker_states", state
        for stall in self._rows.get("stall", ()):
            yield "stalls", stall | {"incident_id": None}
