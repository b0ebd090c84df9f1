"""Stalls as the bands that the page draws on the lanes of clients, and the states of brokers, with their words."""

from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import STALLS
from kafkascope_analyzer.dataset.table_rows import rows
from kafkascope_analyzer.report.incidents.broker_lanes import broker_lanes
from kafkascope_analyzer.report.incidents.waits import what_waited
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.words import clock, span

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


def lanes_of_brokers(dataset: Dataset, start_ns: int, end_ns: int) -> list[Row]:
    """The lanes of brokers; each stretch has besides its state in words `begun`, `ended` and how long it `lasted`."""
    lanes: list[Row] = plain(broker_lanes(dataset))
    for lane in lanes:
        for stretch in (*lane["serving"], *lane["failing"]):
            to_ns = stretch["to_ns"]
            stretch["begun"] = clock(stretch["from_ns"] - start_ns)
            stretch["ended"] = "the end of the capture" if to_ns is None else clock(to_ns - start_ns)
            stretch["lasted"] = span(((end_ns if to_ns is None else to_ns) - stretch["from_ns"]) // 1000)
    return lanes


def _text(row: Row) -> str:
    still = "" if row["to_ns"] is not None else ", still waiting"
    return f"waited {span(1000 * (row['waited_ms'] or 0))}{still}: {what_waited(row)}"
