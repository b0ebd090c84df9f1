"""Closed receive windows of a real capture, against what the lab did, and against what tshark lists."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
CLOSED = {
    38616: (2898, 1795762815194888817, 1795762822122871271),
    36470: (2904, 1795762815238872837, 1795762822378881618),
}
"""By client port: the first segment with a window of zero, its time, and that of the last, by
tshark -Y 'tcp.window_size_value==0 && tcp.flags.reset==0 && tcp.flags.syn==0'."""
S = 1_000_000_000


def test_a_process_that_is_stopped_while_records_come_closes_its_windows(ingested: Callable[..., Path]) -> None:
    dataset = ingested(PIECES / "unread.pcap.zst")
    events = Dataset.open(dataset).read("events")
    rows = events.filter(pc.equal(events["kind"], "closed_window")).to_pylist()
    connections = pq.read_table(dataset / "connections", columns=["conn_id", "client_port"]).to_pylist()
    port = {row["conn_id"]: row["client_port"] for row in connections}
    found = {port[row["conn_id"]]: row["closed_window"] for row in rows}
    assert {p: (w["first_packet_no"], w["first_ns"], w["shown_ns"]) for p, w in found.items()} == CLOSED
    _, resumed = (event["ts_ns"] for event in json.loads((PIECES / "unread.truth.json").read_text())["events"])
    assert all(w["sent_ns"] <= w["first_ns"] and resumed <= w["last_ns"] < resumed + S // 2 for w in found.values())
