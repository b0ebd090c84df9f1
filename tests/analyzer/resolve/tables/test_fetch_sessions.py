"""`requests.fetch_session_id`: what a response gives is what the client sends with its next Fetch."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

CAPTURE = Path(__file__).parents[4] / "fixtures" / "captures" / "healthy_basic.pcap.zst"


def test_the_session_that_a_response_gives_is_that_of_the_next_request(ingested: Callable[..., Path]) -> None:
    columns = ["conn_id", "ts_ns", "api_name", "fetch_session_id", "fetch_session_epoch"]
    rows = pq.read_table(ingested(CAPTURE) / "requests", columns=columns).to_pylist()
    fetches = [row for row in rows if row["api_name"] == "Fetch" and row["fetch_session_epoch"] is not None]
    fetches.sort(key=lambda row: (row["conn_id"], row["ts_ns"]))
    begun = [
        (first["fetch_session_id"], second["fetch_session_id"])
        for first, second in pairwise(fetches)
        if (first["conn_id"], first["fetch_session_epoch"]) == (second["conn_id"], 0)
        and second["fetch_session_epoch"] == 1
    ]
    assert len(begun) >= 2
    assert all(given == sent != 0 for given, sent in begun), begun
