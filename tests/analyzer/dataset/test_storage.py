"""What a path or a URI names, and what is said where it cannot be opened."""

import pickle
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.dataset_uri import is_dataset
from kafkascope_analyzer.dataset.object_stores import azure_account_and_path
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import UsageError


@pytest.mark.parametrize(
    ("given", "uri", "spark_uri"),
    [
        ("/data/a b.kscope", "file:///data/a%20b.kscope", "file:///data/a b.kscope"),
        ("file:///data/a%20b.kscope", "file:///data/a%20b.kscope", "file:///data/a b.kscope"),
        ("s3://bucket/x.kscope/", "s3://bucket/x.kscope", "s3a://bucket/x.kscope"),
        ("S3A://bucket/in/x.kscope", "s3://bucket/in/x.kscope", "s3a://bucket/in/x.kscope"),
        ("gs://bucket/x.kscope", "gs://bucket/x.kscope", "gs://bucket/x.kscope"),
        ("abfs://c@acc.dfs.core.windows.net/x", "abfs://c@acc.dfs.core.windows.net/x", None),
        ("hdfs://namenode:8020/x.kscope", "hdfs://namenode:8020/x.kscope", "hdfs://namenode:8020/x.kscope"),
    ],
)
def test_a_place_has_one_uri_and_one_for_spark(given: str, uri: str, spark_uri: str | None) -> None:
    storage = Storage.of(given)
    assert (storage.uri, str(storage)) == (uri, given)
    assert storage.spark_uri() == (spark_uri or uri)
    assert storage.spark_uri("requests/part-0.parquet") == f"{spark_uri or uri}/requests/part-0.parquet"


def test_a_relative_path_is_this_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = Storage.of("x.kscope")
    assert storage.uri == (tmp_path / "x.kscope").as_uri()
    assert storage.uri_of("requests") == "x.kscope/requests"


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("s3://", "names no folder"),
        ("s3://bucket/x?endpoint_override=e", "environment"),
        ("nosuch://host/x", "no file system is known for this scheme"),
        ("hdfs://127.0.0.1:9/x", "HADOOP_HOME"),
        ("memory://nothing/x.kscope", "not a kafkascope dataset"),
        ("abfs://container/x", "AZURE_STORAGE_ACCOUNT"),
        ("/nowhere/x.kscope", "not a kafkascope dataset"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_sentence(
    uri: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME", "CLASSPATH", "HADOOP_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=sentence) as raised:
        Dataset.open(uri)
    assert str(raised.value).startswith(uri)
    assert "\n" not in str(raised.value)


def test_azures_uri_names_account_and_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    assert azure_account_and_path("abfs://c@acc.dfs.core.windows.net/a/x.kscope/") == ("acc", "c/a/x.kscope")
    assert azure_account_and_path("abfs://c/a/x.kscope") == ("mine", "c/a/x.kscope")


def test_a_pickled_storage_has_no_credentials(bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bucket()
    made.put("x", b"data")
    storage = Storage.of(made.uri)
    assert storage.read_bytes("x") == b"data"
    pickled = pickle.dumps(storage)
    assert b"not-a-secret" not in pickled
    assert b"tester" not in pickled
    monkeypatch.delenv("AWS_ENDPOINT_URL")  # the endpoint travels: workers elsewhere may not have it
    assert pickle.loads(pickled).read_bytes("x") == b"data"


def test_which_places_are_datasets(leader_move: Path, tmp_path: Path) -> None:
    assert is_dataset(leader_move)
    assert is_dataset(leader_move.as_uri())
    assert is_dataset("s3://bucket/x.kscope")
    assert not is_dataset(tmp_path)
    assert not is_dataset(str(tmp_path / "capture.pcap"))


@pytest.mark.parametrize("scheme", ["local", "s3", "memory"])
def test_a_file_is_written_whole_listed_and_removed(scheme: str, bucket, tmp_path: Path) -> None:
    place = {"local": str(tmp_path / "x"), "s3": f"{bucket().uri}/deep/x", "memory": "memory://written/x"}[scheme]
    storage = Storage.of(place)
    for data in (b"first", b"second"):
        storage.write_bytes("a/b/c.bin", data)
        assert storage.read_bytes("a/b/c.bin") == data
    storage.write_bytes("d.bin", b"")
    assert storage.listed("a") == ["a/b/c.bin"]
    assert storage.listed("none") == []
    storage.remove("a/b/c.bin")
    assert storage.listed("a") == []
    with pytest.raises(FileNotFoundError):
        storage.read_bytes("a/b/c.bin")


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "report.json").mkdir()
    with pytest.raises(UsageError, match=r"report.json: cannot be written: Is a directory"):
        Storage.of(tmp_path / "x").write_bytes("report.json", b"{}")
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["report.json"]
