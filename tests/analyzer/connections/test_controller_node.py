"""The node of a KRaft controller whose answers have no endpoints, as before Kafka 3.9 (KIP-853): it names the leader of
the raft log, which is itself. The truth says which node listens where.
"""

import json
from pathlib import Path

import pyarrow.dataset as ds

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan import topology

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def test_a_controller_is_known_by_the_leader_that_its_answers_name(tmp_path, monkeypatch):
    hints = [read for read in topology._RESPONSE_READERS["Fetch"] if read is not topology._ENDPOINTS]
    assert len(hints) == 1
    monkeypatch.setitem(topology._RESPONSE_READERS, "Fetch", tuple(hints))
    ingest([CAPTURES / "named_brokers.pcap.zst"], tmp_path / "out.kscope", IngestOptions(jobs=1))
    truth = json.loads((CAPTURES / "named_brokers.truth.json").read_bytes())
    (controller,) = truth["cluster"]["controllers"]
    rows = ds.dataset(tmp_path / "out.kscope" / "connections", format="parquet").to_table().to_pylist()
    to_controller = [row for row in rows if row["server_ip"] == controller["ip"]]
    assert to_controller
    assert {row["node_id"] for row in to_controller} == {controller["node_id"]}
    assert not any("advertised" in row["node_id_why"] for row in to_controller)
