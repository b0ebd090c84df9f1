"""`views.sql`: plain DuckDB runs it and has the rows that the manifest lists; files say what their columns are."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.compact import compact, files_to_join
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import VIEWS_FILE
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.tables import TABLES
from kafkascope_analyzer.sql.views_file import views_text, write_views

ROOT = Path(__file__).parents[3]


@pytest.fixture
def place(unpack: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A dataset with stories and its views.sql."""
    dataset = unpack(tmp_path)
    write_views(Dataset.open(dataset))
    return dataset


def test_duckdb_has_every_table_and_view_with_its_rows(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stray,) = (place / "requests").rglob("*.parquet")
    shutil.copy(stray, stray.with_name("part-9-of-a-killed-run.parquet"))
    monkeypatch.chdir(place)
    plain = duckdb.connect()
    plain.execute((place / VIEWS_FILE).read_text("utf-8"))
    dataset = Dataset.open(place)
    database = Database(dataset)
    assert {"requests", "incidents", "topics", "messages.Metadata_response"} <= set(database.names)
    plain_names = {name for (name,) in plain.sql("select view_name from duckdb_views() where not internal").fetchall()}
    left_out = {name for name in database.names if name.rpartition(".")[2] not in plain_names}
    assert left_out <= {
        "client_settings",
        "topic_clients",
        "upgrade_uses",
        "client_racks",
        "rack_traffic",
        "broker_racks",
    }
    for name in sorted({*database.names} - left_out):
        (count,) = plain.sql(f"select count(*) from {name}").fetchall()
        assert count == next(database.query(f"select count(*) from {name}")[1]), name
        assert plain.sql(f"from {name}").columns == list(database.relation(f"from {name}").columns)
    assert plain.sql("select count(*) from requests").fetchall() == [(pq.ParquetFile(stray).metadata.num_rows,)]
    comments = dict(plain.sql("select view_name, comment from duckdb_views()").fetchall())
    assert comments["requests"].startswith("One row per request")


def test_the_dataset_may_lie_elsewhere(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = duckdb.connect()
    plain.execute(f"set variable dataset = '{place}'")
    plain.execute((place / VIEWS_FILE).read_text("utf-8"))
    assert plain.sql("select count(*) from incidents").fetchall() == [(Dataset.open(place).rows("stories/incidents"),)]


def test_without_stories_there_are_no_views_of_them(ingested: Callable[..., Path]) -> None:
    place = ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst")
    text = views_text(Dataset.open(place))
    assert "view topics" in text
    assert "view incidents" not in text
    assert "view application_clients" not in text


def sentences_of(file: Path) -> tuple[str, dict[str, str]]:
    """What a Parquet file says of its rows and columns, as DuckDB finds it."""
    query = f"select decode(key), decode(value) from parquet_kv_metadata('{file}')"
    notes = dict(duckdb.sql(query).fetchall())
    return notes["kafkascope.row"], json.loads(notes["kafkascope.columns"])


def test_every_file_says_what_its_rows_and_columns_are(ingested: Callable[..., Path], tmp_path: Path) -> None:
    place = tmp_path / "copy.kscope"
    shutil.copytree(ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst"), place)
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    dataset = Dataset.open(place)
    for name in dataset.tables:
        for file in dataset.files(name):
            row, columns = sentences_of(place / file)
            names = pq.read_schema(place / file).names
            if name.startswith("messages/"):
                assert row == f"{name.split('/')[1]} {name.split('/')[2]}, with Kafka's own fields"
                assert list(columns) == names[: len(columns)] != []
            else:
                assert f"One row per {row}." in page
                assert list(columns) == names
            assert all(f"| {columns[column].replace('|', '/')}" in page for column in columns)


def test_files_that_are_joined_keep_what_they_say(place: Path) -> None:
    dataset = Dataset.open(place)
    (table,) = (table for table in TABLES if table.name == "clients")
    rows = dataset.read("stories/clients").cast(table.described_schema)
    entries = [dataset.write_file(f"stories/clients/part-00000-00{n}-new.parquet", rows) for n in (1, 2)]
    files = {**dataset.manifest.files, "stories/clients": tuple(entries)}
    two = Dataset(dataset.storage, dataset.manifest.with_files(files))
    with NewDataset(two.storage) as new:
        joined = compact(two, new, files_to_join(two.manifest.files))
        (file,) = joined.files("stories/clients")
        assert sentences_of(place / file) == (table.row, {column.name: column.doc for column in table.columns})
