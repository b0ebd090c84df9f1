"""Tables of a lakehouse, read back by the libraries of Delta Lake and Iceberg, against the dataset's Parquet files as
pyarrow reads them."""

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

from .conftest import ROOT, exported

PIECES = ROOT / "fixtures" / "captures" / "pieces"
ONE, OTHER = PIECES / "path_cut.pcap.zst", PIECES / "frozen_broker.pcap.zst"
Reader = Callable[[Path, str], Any]


class Delta:
    """What the library of Delta Lake reads."""

    name = "delta"

    def rows(self, place: Path, table: str) -> pa.Table:
        return DeltaTable(place / table).to_pyarrow_table()

    def partitions(self, place: Path, table: str) -> list[str]:
        return DeltaTable(place / table).metadata().partition_columns

    def comments(self, place: Path, table: str) -> dict[str, str]:
        return {field.name: field.metadata["comment"] for field in DeltaTable(place / table).schema().fields}

    def sentence(self, place: Path, table: str) -> str:
        return DeltaTable(place / table).metadata().description


class Iceberg:
    """What pyiceberg reads."""

    name = "iceberg"

    def _table(self, place: Path, table: str) -> Any:
        uri = f"sqlite:///{place / 'catalog.sqlite'}"
        return load_catalog("kafkascope", type="sql", uri=uri).load_table(("kafkascope", table))

    def rows(self, place: Path, table: str) -> pa.Table:
        return self._table(place, table).scan().to_arrow()

    def partitions(self, place: Path, table: str) -> list[str]:
        return [field.name for field in self._table(place, table).spec().fields]

    def comments(self, place: Path, table: str) -> dict[str, str]:
        return {field.name: field.doc for field in self._table(place, table).schema().fields}

    def sentence(self, place: Path, table: str) -> str:
        return self._table(place, table).properties["comment"]


@pytest.fixture(params=[Delta(), Iceberg()], ids=["delta", "iceberg"])
def lake(request: pytest.FixtureRequest) -> Delta | Iceberg:
    return request.param


def count(dataset: Path, table: str) -> int:
    return ds.dataset(dataset / table, format="parquet").count_rows()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
def test_all_rows_are_there_once_however_often_it_runs_with_comments_and_partitions(
    lake: Delta | Iceberg, leader_move: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        names = exported(lake.name, str(leader_move), "--to", str(tmp_path / "lake")).split()
    assert {"requests", "connections", "incidents", "stalls", "partition_flow"} <= set(names)
    assert "events" not in names
    for table, folder in (("requests", "requests"), ("stalls", "stories/stalls"), ("topology", "topology")):
        assert len(lake.rows(tmp_path / "lake", table)) == count(leader_move, folder)
    written = lake.rows(tmp_path / "lake", "requests")
    read = ds.dataset(leader_move / "requests", format="parquet").to_table(
        columns=["request_id", "latency_us", "api_key"]
    )
    assert dict(zip(*(written[name].to_pylist() for name in ("request_id", "latency_us")), strict=True)) == dict(
        zip(*(read[name].to_pylist() for name in ("request_id", "latency_us")), strict=True)
    )
    assert set(written["date"].to_pylist()) == {datetime.date(2026, 11, 21)}
    assert set(written["bucket"].to_pylist()) <= set(range(16))
    of_client = {(row["client_ip"], row["bucket"]) for row in written.select(["client_ip", "bucket"]).to_pylist()}
    assert len(of_client) == len({client for client, _ in of_client}) > 3

    assert lake.partitions(tmp_path / "lake", "requests") == ["date", "bucket"]
    comments = lake.comments(tmp_path / "lake", "requests")
    assert all(comments.values())
    assert comments["latency_us"] == REQUESTS.column("latency_us").doc
    assert lake.sentence(tmp_path / "lake", "requests") == "One row per request with its response."


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Datasets of one capture, of that and another one, and of the other one."""
    folder = tmp_path_factory.mktemp("grown")
    made = []
    for name, captures in (("one", [ONE]), ("both", [ONE, OTHER]), ("other", [OTHER])):
        ingest([str(capture) for capture in captures], str(folder / name), IngestOptions(jobs=1))
        made.append(folder / name)
    return made[0], made[1], made[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
def test_a_dataset_that_has_grown_takes_the_place_of_what_it_was(
    lake: Delta | Iceberg, grown: tuple[Path, Path, Path], leader_move: Path, tmp_path: Path
) -> None:
    one, both, other = grown
    place = tmp_path / "lake"
    for dataset in (leader_move, one, both):
        exported(lake.name, str(dataset), "--to", str(place))
    assert len(lake.rows(place, "requests")) == count(leader_move, "requests") + count(both, "requests")
    assert len(lake.rows(place, "sources")) == 3
    result = CliRunner().invoke(app, ["export", lake.name, str(other), "--to", str(place)])
    assert (result.exit_code, "in a dataset of more captures" in result.stderr) == (2, True)
    assert len(lake.rows(place, "requests")) == count(leader_move, "requests") + count(both, "requests")


@pytest.mark.parametrize(("form", "package"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_without_the_library_it_is_one_sentence(
    form: str, package: str, leader_move: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(app, ["export", form, str(leader_move), "--to", str(tmp_path / "lake")])
    assert result.exit_code == 2
    assert f"{package} is not installed: pip install 'kafkascope[{form}]'" in result.stderr
    needs = CliRunner().invoke(app, ["export", form, str(leader_move)])
    assert (needs.exit_code, "need --to PLACE" in needs.stderr) == (2, True)
