"""A day of made-up traffic: kafkascope reads every frame, and connections go on from one hour's file to the next."""

from pathlib import Path

import pytest
from benchmarks.day import GROUPS, MEMBERS, PRODUCERS, SHORT_CLIENTS, write_day

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.run import ingest

HOURS = 2


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("day")
    write_day(place, megabytes=1, hours=HOURS)
    return sorted(place.iterdir())


@pytest.mark.slow
def test_every_frame_is_read_and_connections_go_on(captures: list[Path], tmp_path: Path) -> None:
    assert [path.name for path in captures] == ["00.pcap", "01.pcap"]
    ingest(captures, tmp_path / "day.kscope")
    dataset = Dataset.open(tmp_path / "day.kscope")
    assert not dataset.rows("undecoded")
    statuses = dataset.read("requests", ["status"])["status"].unique().to_pylist()
    assert set(statuses) <= {"ok", "error"}
    connections = dataset.read("connections", ["missing_bytes", "close_kind"]).to_pylist()
    assert not any(row["missing_bytes"] for row in connections)
    lasting = [row for row in connections if row["close_kind"] != "fin_client"]
    assert len(lasting) == PRODUCERS * 3 + GROUPS * MEMBERS * 4
    assert len(connections) - len(lasting) >= HOURS * SHORT_CLIENTS
