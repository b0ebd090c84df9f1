"""What a connection shows once, against the messages that the same connections carried."""

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.schema import api_name

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "leader_move.pcap.zst"


def test_the_versions_offered_are_those_of_the_connections_first_good_answer(tmp_path):
    """Clients, brokers and controllers are offered lists of different length, many of each in one block."""
    ingest([CAPTURE], tmp_path / "out.kscope")
    answers = pq.read_table(tmp_path / "out.kscope" / "messages" / "ApiVersions" / "response").sort_by("ts_ns")
    first = {}
    for row in answers.filter(pc.equal(answers["error_code"], 0)).to_pylist():
        keys = sorted((k["api_key"], k["min_version"], k["max_version"]) for k in row["api_keys"])
        first.setdefault(row["conn_id"], [f"{api_name(key)}:{low}-{high}" for key, low, high in keys])
    result = pq.read_table(tmp_path / "out.kscope" / "connections", columns=["conn_id", "api_versions_offered"])
    assert {r["conn_id"]: r["api_versions_offered"] for r in result.to_pylist() if r["api_versions_offered"]} == first
    assert len({len(offer) for offer in first.values()}) > 1
