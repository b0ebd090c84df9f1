"""Pieces of captures of Kafka 2.8 with ZooKeeper, old libraries, an upgrade and a migration to KRaft: what the stories
say of them, against packets as tshark reads them, or what was done to the brokers. What ingest alone shows of such
clusters is in tests/analyzer/ingest/test_zookeeper_cluster.py.
"""

import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from kafkascope_analyzer.dataset.broker_releases import MIGRATION, cluster_releases
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.restarts import Restart, load_restarts

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed"),
]
PIECES = Path(__file__).parents[2] / "fixtures" / "captures" / "pieces"
Row = dict[str, Any]
FIND_COORDINATOR, LIST_OFFSETS, ADD_PARTITIONS_TO_TXN = 10, 2, 24
CONCURRENT_TRANSACTIONS = 51
LATEST, EARLIEST = -1, -2
SECOND = 1_000_000_000


class Piece:
    """A piece as kafkascope and as tshark read it."""

    def __init__(self, name: str, dataset: Path, folder: Path) -> None:
        self._dataset = dataset
        self._pcap = folder / f"{name}.pcap"
        raw = (PIECES / f"{name}.pcap.zst").read_bytes()
        self._pcap.write_bytes(zstandard.ZstdDecompressor().stream_reader(raw).read())

    def rows(self, table: str, **only: Any) -> list[Row]:
        rows: list[Row] = pq.read_table(self._dataset / table).to_pylist()
        return [row for row in rows if all(row[name] == value for name, value in only.items())]

    def tshark(self, only: str, *fields: str) -> list[list[str]]:
        named = [part for field in fields for part in ("-e", field)]
        command = ["tshark", "-r", str(self._pcap), "-d", "tcp.port==29092,kafka", "-Y", only, "-T", "fields", *named]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return [line.split("\t") for line in lines]

    def times(self, only: str) -> list[int]:
        return [int(time.replace(".", "")) for (time,) in self.tshark(only, "frame.time_epoch")]


@pytest.fixture
def piece(dataset_of: Callable[..., Path], tmp_path: Path) -> Callable[[str], Piece]:
    def make(name: str) -> Piece:
        return Piece(name, dataset_of(name, rules=["offset_reset"] if name == "zk_offset_reset" else []), tmp_path)

    return make


def test_a_consumer_that_asked_for_both_ends_went_to_the_one_that_it_fetched(piece: Callable[[str], Piece]) -> None:
    """sarama asks ListOffsets for the latest and the earliest offset, and then fetches from the earliest."""
    reset = piece("zk_offset_reset")
    (finding,) = reset.rows("stories/findings", rule="offset_reset")
    assert "TradeEvents-topic_26-1 went from offset 39 to 0 (earliest)" in finding["sentence"]
    asked, answered = {}, {}
    for port, correlation_id, raw in reset.tshark(
        f"kafka.api_key=={LIST_OFFSETS}", "tcp.dstport", "kafka.correlation_id", "tcp.payload"
    ):
        body = bytes.fromhex(raw)
        if port == "29092":
            asked[correlation_id] = struct.unpack(">iq", body[-12:])
        else:
            partition, error, _, offset = struct.unpack(">ihqq", body[-22:])
            answered[correlation_id] = partition, error, offset
    of_partition = {asked[one][1]: answered[one][2] for one in asked if asked[one][0] == 1 and one in answered}
    assert of_partition == {LATEST: 23, EARLIEST: 0}


def test_a_response_that_the_capture_lost_is_no_failure(piece: Callable[[str], Piece]) -> None:
    """The recorder lost packets; later responses on the connection prove that it went on."""
    lost = piece("zk_gap")
    asked = {int(one) for (one,) in lost.tshark("kafka && tcp.dstport==29092", "kafka.correlation_id")}
    answered = {int(one) for (one,) in lost.tshark("kafka && tcp.srcport==29092", "kafka.correlation_id")}
    not_captured = {one for one in asked - answered if one < max(answered)}
    assert not_captured
    assert {row["correlation_id"] for row in lost.rows("requests", status="not_captured")} == not_captured
    assert not lost.rows("stories/recoveries")
    assert not lost.rows("stories/stalls")


def test_a_request_after_the_servers_fin_is_lost_with_the_connection(piece: Callable[[str], Piece]) -> None:
    """The broker sends FIN, the consumer a Fetch all the same, and the broker RST; the consumer reads on elsewhere."""
    late = piece("zk_late_request")
    (fin, *_) = late.times("tcp.srcport==29092 && tcp.dstport==36024 && tcp.flags.fin==1")
    (reset,) = late.times("tcp.srcport==29092 && tcp.dstport==36024 && tcp.flags.reset==1")
    (sent,) = (at for at in late.times("tcp.srcport==36024 && tcp.len>0") if at > fin)
    assert fin < sent < reset
    (episode,) = late.rows("stories/recoveries", resource_kind="connection")
    assert abs(episode["start_ns"] - fin) < 1_000_000
    assert episode["outcome"] == "recovered"
    assert "gave_up" not in {row["outcome"] for row in late.rows("stories/recoveries")}


def test_a_dead_coordinator_is_missed_from_its_fin_until_the_group_is_served(piece: Callable[[str], Piece]) -> None:
    """The coordinator's connections end; the consumer notices after 22 s, and asks who coordinates."""
    dead = piece("zk_dead_coordinator")
    (fin, *_) = dead.times("tcp.srcport==29092 && tcp.dstport==45232 && tcp.flags.fin==1")
    back = dead.times("tcp.dstport==54990 && tcp.srcport==29092 && tcp.len>0")
    lost, moved = sorted(
        dead.rows("stories/recoveries", resource_kind="coordinator", resource="Dedup-coordi348"),
        key=lambda row: row["start_ns"],
    )
    assert abs(lost["start_ns"] - fin) < 1_000_000
    assert lost["first_error_name"] == "CONNECTION_CLOSED"
    assert abs(lost["recovered_ns"] - back[0]) < 10_000_000
    questions = dead.times(f"kafka.api_key=={FIND_COORDINATOR} && tcp.dstport==29092")
    (asked,) = (at for at in questions if fin < at < back[0])
    assert 0 < lost["rediscovered_ns"] - asked < 10_000_000
    assert (moved["first_error_name"], moved["outcome"]) == ("NOT_COORDINATOR", "recovered")


def test_concurrent_transactions_for_some_milliseconds_are_normal(piece: Callable[[str], Piece]) -> None:
    """The coordinator answers so while it writes the markers of the transaction before."""
    usual = piece("zk_transactions")
    answers = usual.tshark(f"kafka.api_key=={ADD_PARTITIONS_TO_TXN} && tcp.srcport==29092", "kafka.error")
    assert sum(str(CONCURRENT_TRANSACTIONS) in codes.split(",") for (codes,) in answers) > 1
    errors = {row["first_error_name"] for row in usual.rows("stories/recoveries")}
    assert "CONCURRENT_TRANSACTIONS" not in errors
    assert not usual.rows("stories/stalls")


def restarts(name: str, place: Path) -> list[tuple[Restart, dict[str, Row]]]:
    """Each restart that is found, and what was done to the broker then: kind of event -> the event."""
    events = json.loads((PIECES / f"{name}.truth.json").read_text())["events"]
    found = load_restarts(Dataset.open(place)).listed
    stops = [number for number, event in enumerate(events) if event["kind"] == "broker_stopping"]
    done = [events[a:b] for a, b in zip(stops, [*stops[1:], len(events)], strict=True)]
    return list(zip(found, [{event["kind"]: event for event in one} for one in done], strict=False))


def test_a_rolling_upgrade_is_told_broker_by_broker(dataset_of: Callable[[str], Path]) -> None:
    """Node 1003 is asked for its versions by nobody after its restart: it names its release to the controller."""
    found = restarts("kraft_upgrade", dataset_of("kraft_upgrade"))
    assert [restart.node_id for restart, _ in found] == [done["node_upgraded"]["node_id"] for _, done in found]
    assert len(found) == 4
    for restart, done in found:
        assert done["broker_stopping"]["ts_ns"] - SECOND < restart.down_ns < done["broker_down"]["ts_ns"]
        assert restart.back_ns is not None
        assert restart.back_ns > done["broker_down"]["ts_ns"]
        assert str(restart.release_before).startswith("3.7")
        assert done["node_upgraded"]["version"].startswith(f"{restart.release_after}.")


def test_a_migration_to_kraft_is_told_broker_by_broker(dataset_of: Callable[[str], Path]) -> None:
    place = dataset_of("kraft_migration")
    found = restarts("kraft_migration", place)
    assert len(found) == 6
    for restart, done in found:
        changed = done.get("without_zookeeper")
        assert restart.node_id == done["broker_stopping"]["node_id"]
        assert restart.release == ("Kafka 3.5, ZooKeeper → KRaft" if changed else "Kafka 3.5")
    releases = cluster_releases(Dataset.open(place))
    assert releases.mode == MIGRATION
    assert {span.node_id for span in releases.spans if span.release.mode == "KRaft"} >= {21, 22, 23}
