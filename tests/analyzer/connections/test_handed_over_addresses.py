"""Connections to an address that was one broker's, and another's later: each has the node of its time."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).parents[3] / "fixtures" / "reported" / "addresses_swapped.pcap.zst"
# By the capture's DNS answers kafka-1 is 10.0.0.11 and kafka-2 is 10.0.0.12 at first, and the other way round from 12 s
# on; the first two connections end before, the others after that.
NODES = [("10.0.0.11", 1), ("10.0.0.11", 1), ("10.0.0.11", 2), ("10.0.0.12", 1)]


@pytest.mark.slow
def test_each_connection_has_the_node_that_its_address_was_when_it_ended(tmp_path):
    ingest([CAPTURE], tmp_path / "d.kscope", IngestOptions(jobs=1))
    rows = pq.read_table(tmp_path / "d.kscope" / "connections").sort_by("first_ns")
    assert list(zip(rows["server_ip"].to_pylist(), rows["node_id"].to_pylist(), strict=True)) == NODES
    assert rows["advertised_host"].to_pylist() == [f"kafka-{node}.kafka.svc" for _, node in NODES]
