"""Which process opened which connection, as recorded by the kernel of the host on which they ran."""

import json
import pathlib
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import CONNECTIONS, PARTITIONS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.write_stories import write_stories

pytestmark = pytest.mark.spark
CLIENTS = pathlib.Path(__file__).parents[5] / "fixtures" / "clients"
KINDS = {"producer": "producer", "consumer": "consumer"}


@pytest.fixture(scope="module")
def dataset(spark: Any, every_rule: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("clients") / "same_names.kscope"
    ingest([CLIENTS / "same_names.pcap.zst"], place, IngestOptions(jobs=1))
    write_stories(place, ignored=every_rule)
    return place


def ends(socket: dict[str, Any]) -> tuple[str, int, str, int]:
    (ip, _, port), (server, _, server_port) = socket["local"].rpartition(":"), socket["remote"].rpartition(":")
    return ip, int(port), server, int(server_port)


def test_each_process_is_one_client_and_each_client_one_process(dataset: pathlib.Path) -> None:
    truth = json.loads((CLIENTS / "same_names.truth.json").read_text())["clients"]
    owner = {ends(socket): process["name"] for process in truth for socket in process["sockets"]}
    place = {
        c["conn_id"]: (c["client_ip"], c["client_port"], c["server_ip"], c["server_port"])
        for c in pq.read_table(dataset / CONNECTIONS.name).to_pylist()
    }
    clients = pq.read_table(dataset / "stories" / "clients").to_pylist()
    found = {frozenset(place[c] for c in client["conn_ids"]) for client in clients}
    found = {frozenset(p for p in places if p in owner) for places in found} - {frozenset()}
    assert found == {frozenset(ends(s) for s in process["sockets"]) for process in truth}
    assert len({process["client_id"] for process in truth}) < len(truth) / 2

    by_name = {owner[place[c["conn_ids"][0]]]: c for c in clients if place[c["conn_ids"][0]] in owner}
    for process in truth:
        client = by_name[process["name"]]
        assert (client["client_id"], client["kind"]) == (process["client_id"], KINDS[process["kind"]])
        assert process["group"] in (None, client["group_id"])
        assert (client["software_from"], client["end_state"]) == ("api_versions", "closed")


def test_records_of_one_producer_id_are_of_one_client(
    spark: Any, every_rule: tuple[str, ...], tmp_path: pathlib.Path
) -> None:
    """One kafka-python producer, whose process took 13 ms to close its connections: begin and end of all four. Only on
    one of them it asked for its producer id, 1000; the headers of its batches carry that id on three (read as hex)."""
    place = tmp_path / "slow_close.kscope"
    ingest([CLIENTS / "slow_close.pcap.zst"], place, IngestOptions(jobs=1))
    write_stories(place, ignored=every_rule)
    ports = {c["conn_id"]: c["client_port"] for c in pq.read_table(place / CONNECTIONS.name).to_pylist()}
    rows = pq.read_table(place / PARTITIONS.name).to_pylist()
    written = {(ports[row["conn_id"]], row["producer_id"]) for row in rows if row["producer_id"] is not None}
    assert written == {(39830, 1000), (57688, 1000), (55524, 1000)}
    (client,) = pq.read_table(place / "stories" / "clients").to_pylist()
    assert {ports[conn_id] for conn_id in client["conn_ids"]} == {55516, 39830, 57688, 55524}
