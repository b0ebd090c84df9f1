"""`kafkascope.open`: the forms of a table have the rows that pyarrow reads from the files, and errors are sentences."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import kafkascope
from kafkascope_analyzer.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


def read_files(place: Path, table: str) -> pa.Table:
    """The rows of a table's Parquet files, as pyarrow alone reads them."""
    files = sorted((place / table).rglob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(file).read() for file in files], promote_options="default")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("requests", "requests"),
        ("partitions", "partitions"),
        ("incidents", "stories/incidents"),
        ("messages.Metadata_response", "messages/Metadata/response"),
    ],
)
def test_a_table_has_the_rows_of_its_files(dataset: kafkascope.Dataset, place: Path, name: str, folder: str) -> None:
    table, files = dataset[name], read_files(place, folder)
    assert name in dataset.tables
    assert table.arrow().to_pylist() == files.to_pylist()
    assert len(table) == files.num_rows
    assert table.columns == tuple(files.column_names)


def test_pandas_keeps_integers_that_may_be_null(dataset: kafkascope.Dataset, place: Path) -> None:
    pytest.importorskip("pandas")
    frame, files = dataset["requests"].pandas(), read_files(place, "requests")
    assert files["latency_us"].null_count > 0
    assert str(frame["latency_us"].dtype) == "int64[pyarrow]"
    assert frame["latency_us"].dropna().tolist() == files["latency_us"].drop_null().to_pylist()


def test_polars_has_the_same_rows(dataset: kafkascope.Dataset, place: Path) -> None:
    pytest.importorskip("polars")
    frame = dataset["partitions"].polars()
    assert frame.to_dicts() == read_files(place, "partitions").to_pylist()


def test_a_relation_is_filtered_and_aggregated_by_duckdb(dataset: kafkascope.Dataset, place: Path) -> None:
    slow = dataset["requests"].duckdb().filter("latency_us > 100000").aggregate("count(*)").fetchall()
    latencies = read_files(place, "requests")["latency_us"].drop_null().to_pylist()
    assert slow == [(sum(latency > 100_000 for latency in latencies),)]


def test_columns_views_and_questions(dataset: kafkascope.Dataset) -> None:
    assert dataset["requests"][["ts", "api_name"]].arrow().column_names == ["ts", "api_name"]
    assert dataset["requests"]["ts"].columns == ("ts",)
    clients = dataset["clients"].arrow()
    others = [kind for kind in clients["kind"].to_pylist() if kind != "broker"]
    assert len(dataset["application_clients"]) == len(others) < len(clients)
    assert dataset.question("who-stalled").arrow().num_rows == len(dataset["stalls"])


@pytest.mark.slow
def test_the_report_is_that_of_the_command(dataset: kafkascope.Dataset, place: Path) -> None:
    kept = json.loads(CliRunner().invoke(app, ["report", str(place), "--format", "json"]).stdout)
    report: Any = dataset.report
    assert report.headline.sentence == kept["headline"]["sentence"]
    assert [incident.sentence for incident in report.incidents.listed] == [
        incident["sentence"] for incident in kept["incidents"]["listed"]
    ]
    assert report.incidents.n == 2  # as its README says: leaders move, and a broker is killed


def test_a_cluster_by_its_name(place: Path) -> None:
    with kafkascope.open(place) as whole:
        (name,) = whole.clusters
        with kafkascope.open(place, cluster=name) as of_cluster:
            assert len(of_cluster["requests"]) == len(whole["requests"])
            assert of_cluster.uri == whole.uri
    with pytest.raises(kafkascope.UsageError, match="has no such cluster; it has"):
        kafkascope.open(place, cluster="other")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("reqests", r"leader_move.kscope has no table reqests \(did you mean requests or .*\)"),
        ("stories/clients", r"has no table stories/clients"),
        ('requests"; select 1', "has no table"),
    ],
)
def test_an_unknown_table(dataset: kafkascope.Dataset, name: str, sentence: str) -> None:
    with pytest.raises(kafkascope.UsageError, match=sentence):
        dataset[name]


def test_a_table_of_stories_that_were_not_made(ingested: Any) -> None:
    tables_only = kafkascope.open(ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst"))
    with pytest.raises(kafkascope.UsageError, match=r"stories/clients: `kafkascope stories .*` makes it"):
        tables_only["clients"]


def test_wrong_queries(dataset: kafkascope.Dataset) -> None:
    with pytest.raises(kafkascope.UsageError, match=r"latency.* not found"):
        dataset["requests"][["latency"]]
    with pytest.raises(kafkascope.UsageError, match="a SELECT, not DROP"):
        dataset.sql("drop view topics")
    with pytest.raises(kafkascope.UsageError, match="no saved question is called who"):
        dataset.question("who")


def test_no_dataset_and_a_damaged_one(tmp_path: Path, place: Path) -> None:
    with pytest.raises(kafkascope.UsageError, match="is not a kafkascope dataset: there is nothing of that name"):
        kafkascope.open(tmp_path / "none.kscope")
    shutil.copytree(place, tmp_path / "damaged.kscope")
    file = next((tmp_path / "damaged.kscope" / "requests").rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(kafkascope.DamagedDatasetError, match=file.name):
        kafkascope.open(tmp_path / "damaged.kscope")["requests"]


def test_a_library_that_is_not_installed(dataset: kafkascope.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkascope_analyzer.dataset.installed.import_module", _not_found)
    topics = dataset["topics"]
    for form, package, extra in (
        (topics.polars, "polars", "polars"),
        (topics.pandas, "pandas", "pandas"),
        (topics.spark, "pyspark", "stories"),
    ):
        sentence = f"{package} is not installed: pip install 'kafkascope[{extra}]'"
        with pytest.raises(kafkascope.UsageError, match=f"^{re.escape(sentence)}$"):
            form()


def _not_found(package: str) -> None:
    raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def test_the_import_loads_no_library() -> None:
    heavy = ("duckdb", "numba", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rich", "typer")
    program = f"import sys, kafkascope; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_python_m_kafkascope_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "kafkascope", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"kafkascope {kafkascope.__version__}\n"
    with pytest.raises(AttributeError, match="no attribute 'Datset'"):
        kafkascope.Datset  # type: ignore[attr-defined]  # noqa: B018
