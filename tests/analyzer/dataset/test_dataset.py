"""What a dataset holds comes from its manifest; its stories are replaced as a whole."""

import json
import pickle
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import CHECKSUM, MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.story_files import new_run_id, story_file
from kafkascope_analyzer.dataset.table_place import TablePlace
from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.dataset.tables.events import file_schema
from kafkascope_analyzer.dataset.writer import TableWriter
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import DamagedDatasetError, UsageError
from kafkascope_spark.stories.tables import CLIENTS

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def test_ingest_lists_every_file_that_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "x.kscope"
    ingest([CAPTURES / "healthy_basic.pcap.zst"], out)
    dataset = Dataset.open(out)
    there = {path.relative_to(out).as_posix() for path in out.rglob("*.parquet")}
    assert {path for name in dataset.tables for path in dataset.files(name)} == there
    assert "messages/Metadata/response" in dataset.messages
    for name in dataset.tables:
        assert dataset.rows(name) == sum(pq.read_metadata(out / path).num_rows for path in dataset.files(name))
    assert dataset.n_rows == sum(pq.read_metadata(out / path).num_rows for path in there)
    assert dataset.spark_uris("requests") == tuple(f"file://{out}/{path}" for path in dataset.files("requests"))
    sizes = {file.path: file.bytes for files in dataset.manifest.files.values() for file in files}
    assert sizes == {path: (out / path).stat().st_size for path in there}
    captures = ds.dataset(out / "captures").to_table(columns=["first_ns", "last_ns"]).to_pylist()
    assert dataset.capture_span == (captures[0]["first_ns"], captures[0]["last_ns"])


def test_spark_does_not_take_a_name_for_a_pattern(leader_move: Path) -> None:
    place = leader_move.rename(leader_move.with_name("a [b]{c}*.kscope"))
    dataset = Dataset.open(place)
    (uri,), (file,) = dataset.spark_uris("requests"), dataset.files("requests")
    assert uri == f"file://{place.parent}/a \\[b\\]\\{{c\\}}\\*.kscope/{file}"


def test_files_in_buckets_belong_to_their_table(tmp_path: Path) -> None:
    for path in (
        "requests/bucket=1/part-0.parquet",
        "requests/bucket=0/part-0.parquet",
        "messages/Fetch/request/p.parquet",
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / path)
    found = written_files(tmp_path)
    assert [(name, [(file.path, file.rows) for file in files]) for name, files in found.items()] == [
        ("messages/Fetch/request", [("messages/Fetch/request/p.parquet", 2)]),
        ("requests", [("requests/bucket=0/part-0.parquet", 2), ("requests/bucket=1/part-0.parquet", 2)]),
    ]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("usage", lambda struct: [struct.field(number) for number in range(1, struct.num_fields)]),
        ("usage", lambda struct: [*list(struct)[:-1], struct.field(struct.num_fields - 1).with_type(pa.string())]),
        ("no_longer_there", list),
    ],
    ids=["without a field", "with a field of another type", "of a kind that there is no longer"],
)
def test_events_with_other_columns_are_of_another_version(kind: str, change: Any, tmp_path: Path) -> None:
    schema, file = file_schema("usage"), tmp_path / f"events/kind={kind}/part-0-a.parquet"
    changed = pa.schema([*list(schema)[:-1], (kind, pa.struct(change(schema.field("usage").type)))])
    file.parent.mkdir(parents=True)
    pq.write_table(changed.empty_table(), file, store_schema=False)
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    dataset = Dataset.open(tmp_path)
    with pytest.raises(DamagedDatasetError, match=r"part-0-a.parquet has other columns .*run kafkascope ingest again"):
        list(dataset.row_groups("events", *dataset.files("events"), range(1)))


def of_two_days(place: Path) -> Dataset:
    """A dataset with one look-up on the first and one on the second day."""
    day_ns = 86_400_000_000_000
    with TableWriter(TablePlace(place / "dns", "part-0-a.parquet"), DNS.schema) as writer:
        for day in range(2):
            row = {"name": str(day), "ts_ns": day * day_ns, "ts": datetime.fromtimestamp(day * 86_400, UTC)}
            writer.write(pa.Table.from_pylist([row], schema=DNS.schema))
    (place / MANIFEST).write_text(Manifest(written_files(place), {}).to_json())
    return Dataset.open(place)


@pytest.mark.parametrize(
    "first_day",
    [ds.field("ts_ns") < 1_000_000_000, ds.field("ts") < pa.scalar(datetime(1970, 1, 1, 1, tzinfo=UTC))],
)
def test_a_reader_of_a_day_opens_the_files_of_that_day(tmp_path: Path, first_day: Any) -> None:
    dataset = of_two_days(tmp_path)
    assert [file.times for file in dataset.manifest.files["dns"]] == [(0, 0), (86_400_000_000_000,) * 2]
    assert dataset.read("dns", ["name"])["name"].to_pylist() == ["0", "1"]
    (tmp_path / dataset.files("dns")[1]).unlink()
    again = Dataset.open(tmp_path)
    assert again.read("dns", ["name"], first_day)["name"].to_pylist() == ["0"]
    with pytest.raises(DamagedDatasetError, match="date=1970-01-02"):
        again.read("dns", ["name"])


def test_a_table_is_read_as_arrow_reads_its_files(leader_move: Path) -> None:
    dataset = pickle.loads(pickle.dumps(Dataset.open(leader_move)))
    for name in ("requests", "messages/Metadata/response", "stories/recoveries"):
        expected = ds.dataset(leader_move / name).to_table()
        assert dataset.read(name, expected.column_names).cast(expected.schema).equals(expected)
    columns = ["request_id", "latency_us"]
    slow = ds.field("latency_us") > 1_000_000
    expected = ds.dataset(leader_move / "requests").to_table(columns=columns, filter=slow)
    assert 0 < expected.num_rows < dataset.rows("requests")
    assert dataset.read("requests", columns, slow).cast(expected.schema).equals(expected)


def test_a_file_that_the_manifest_does_not_list_is_no_part_of_it(leader_move: Path) -> None:
    n, (file,) = Dataset.open(leader_move).read("requests").num_rows, Dataset.open(leader_move).files("requests")
    shutil.copy(leader_move / file, leader_move / "requests" / "part-9.parquet")
    shutil.copytree(leader_move / "requests", leader_move / "stories" / "others")
    dataset = Dataset.open(leader_move)
    assert dataset.read("requests").num_rows == dataset.rows("requests") == n
    assert not dataset.has("stories/others")


def test_a_table_that_it_lacks(leader_move: Path) -> None:
    dataset = Dataset.open(leader_move)
    assert (dataset.has("nothing"), dataset.files("nothing"), dataset.rows("nothing")) == (False, (), 0)
    assert list(dataset.batches("nothing")) == []
    with pytest.raises(UsageError, match="has no table nothing"):
        dataset.read("nothing")


def changed(leader_move: Path, **changes: object) -> None:
    found = json.loads((leader_move / MANIFEST).read_text())
    del found[CHECKSUM]  # what is wrong is more than that
    (leader_move / MANIFEST).write_text(json.dumps(found | changes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema_version": 1}, "made by an older kafkascope: run kafkascope ingest again"),
        ({"schema_version": 99}, "made by a newer kafkascope"),
        ({"schema_version": "2"}, "names no schema_version"),
        ({"ledger": None}, "has no ledger"),
        ({"files": {"requests": [{"path": "requests/a.parquet"}]}}, "wrong rows of a file of requests"),
        ({"files": {"requests": [{"path": "requests/../../a", "rows": 1, "bytes": 1}]}}, "no file of requests"),
        ({"files": {"requests": [{"path": "/etc/passwd", "rows": 1, "bytes": 1}]}}, "no file of requests"),
    ],
)
def test_a_manifest_that_is_damaged_or_of_another_version(leader_move: Path, changes, sentence: str) -> None:
    changed(leader_move, **changes)
    with pytest.raises(UsageError, match=sentence) as raised:
        Dataset.open(leader_move)
    assert str(leader_move) in str(raised.value)


def client(name: str) -> pa.Table:
    schema = pa.schema([field.with_nullable(True) for field in CLIENTS.schema])
    return pa.Table.from_pylist([{"client_instance_id": name}], schema)


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, leader_move: Path, bucket) -> tuple[str, object]:
    """The dataset's URI, and a function that lists its story files, by other means than ours."""
    if request.param == "local":
        return str(leader_move), lambda: sorted(
            path.relative_to(leader_move).as_posix() for path in (leader_move / "stories").rglob("*") if path.is_file()
        )
    made = bucket()
    uri = made.upload(leader_move, "in/x.kscope")
    return uri, lambda: [key.removeprefix("in/x.kscope/") for key in made.keys("in/x.kscope/stories/")]


def replace_stories(uri, files, stall_ms: int = 1_000) -> Dataset:
    with NewDataset(Storage.of(uri)) as new:
        changed = new.former.with_stories(files, stall_ms)
        new.commit(changed)
    return changed


def test_stories_are_replaced_as_a_whole(place) -> None:
    uri, story_files = place
    before = Dataset.open(uri)
    run = new_run_id()
    written = pickle.loads(pickle.dumps(before)).write_file(story_file("stories/clients", run, 3), client("new"))
    assert Dataset.open(uri).rows("stories/clients") == before.rows("stories/clients") > 1
    after = replace_stories(uri, {"stories/clients": [written], "stories/findings": []})
    for dataset in (after, Dataset.open(uri)):
        assert dataset.read("stories/clients")["client_instance_id"].to_pylist() == ["new"]
        assert dataset.read("stories/findings").num_rows == 0
        assert dataset.has("stories/findings")
        assert not dataset.has("stories/recoveries")
        assert dataset.files("requests") == before.files("requests")
    assert story_files() == [written.path]


def test_a_run_that_dies_leaves_the_former_stories_and_the_next_one_cleans_up(place) -> None:
    uri, story_files = place
    before, files_before = Dataset.open(uri), story_files()
    left = before.write_file(story_file("stories/clients", new_run_id(), 0), client("never committed"))
    same = Dataset.open(uri)
    assert same.read("stories/clients").equals(before.read("stories/clients"))
    assert sorted({*story_files()} - {*files_before}) == [left.path]
    kept = {name: same.manifest.files[name] for name in same.tables if name.startswith("stories/")}
    replace_stories(uri, kept)
    assert story_files() == files_before


def test_the_manifest_keeps_which_waits_are_stalls(place) -> None:
    uri, _ = place
    assert Dataset.open(uri).stall_ms == 1_000
    replace_stories(uri, {}, 2_500)
    assert Dataset.open(uri).stall_ms == 2_500


def test_two_runs_do_not_mix(place) -> None:
    uri, _ = place
    with NewDataset(Storage.of(uri)) as second:
        mine = Dataset.open(uri).write_file(story_file("stories/clients", new_run_id(), 0), client("first"))
        replace_stories(uri, {"stories/clients": [mine]})
        with pytest.raises(UsageError, match="changed by another run"):
            second.commit(second.former.with_stories({}))
    assert Dataset.open(uri).read("stories/clients")["client_instance_id"].to_pylist() == ["first"]


def test_only_stories_are_committed(leader_move: Path) -> None:
    dataset = Dataset.open(leader_move)
    with pytest.raises(ValueError, match="not a story table"):
        dataset.with_stories({"requests": []})
