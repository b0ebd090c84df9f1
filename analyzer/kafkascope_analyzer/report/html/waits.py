"""Stalls as the bands that the page draws on the lanes of clients, with their words."""

from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import STALLS
from kafkascope_analyzer.report.incidents.waits import what_waited
from kafkascope_analyzer.report.scan import rows
from kafkascope_analyzer.report.words import span

MOST_STALLS = 5_000
_COLUMNS = ["stall_id", "client_instance_id", "kind", "group_id", "transactional_id", "topic", "partition", "node_id"]
_COLUMNS += ["from_ns", "to_ns", "waited_ms"]

Row = dict[str, Any]


def load_stalls(dataset: Dataset) -> list[Row]:
    """client_instance_id, node_id, from_ns, to_ns (null: not over) and text of each stall by time; the longest where
    there are too many.
    """
    found = sorted(rows(dataset, STALLS, _COLUMNS), key=lambda row: (-(row["waited_ms"] or 0), row["stall_id"]))
    chosen = sorted(found[:MOST_STALLS], key=lambda row: (row["from_ns"], row["stall_id"]))
    return [
        {name: row[name] for name in ("stall_id", "client_instance_id", "node_id", "from_ns", "to_ns")}
        | {"text": _text(row)}
        for row in chosen
    ]


def _text(row: Row) -> str:
    still = "" if row["to_ns"] is not None else ", still waiting"
    return f"waited {span(1000 * (row['waited_ms'] or 0))}{still}: {what_waited(row)}"
