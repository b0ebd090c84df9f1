"""The files of a bucket and the messages in them: by hand."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.analyzer.resolve.by_hand import Row

from kafkascope_analyzer.dataset.parquet_files import DatasetFile
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.resolve.tables.finished_files import EarlierFiles, Finished, FinishedMessages, open_part

PART = "bucket=3/part-0-RUN.parquet"
SCHEMA = pa.schema([("conn_id", pa.string()), ("session_timeout_ms", pa.int32()), ("name", pa.string())])
MESSAGE = "JoinGroup/request"


def write(dataset: Path, path: str, *rows: tuple[str, int | None]) -> DatasetFile:
    """A file of the message: connection and timeout of each row."""
    file = dataset / "messages" / MESSAGE / path
    file.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([{"conn_id": conn, "session_timeout_ms": ms} for conn, ms in rows], SCHEMA)
    pq.write_table(table, file)
    return DatasetFile(str(file.relative_to(dataset)), len(rows), file.stat().st_size)


def read(messages: FinishedMessages, name: str = MESSAGE) -> list[Row]:
    return [row for batch in messages(name, ["session_timeout_ms"]) for row in batch.to_pylist()]


def timeouts(messages: FinishedMessages) -> list[int | None]:
    return [row["session_timeout_ms"] for row in read(messages)]


def test_results_add_up() -> None:
    file, other = DatasetFile("requests/a", 1, 2), DatasetFile("requests/b", 3, 4)
    parts = [
        Finished({"requests": 2, "dns": 1}, {"requests": (other,)}),
        Finished({"requests": 3}, {"requests": (file,)}),
    ]
    found = Finished.joined([*parts, Finished({})])
    assert (found.rows, found.put_files) == ({"requests": 5, "dns": 1}, {"requests": (file, other)})
    assert Finished.joined([]) == Finished({})


def test_messages_are_those_of_the_bucket_of_all_days_and_of_open_messages(tmp_path: Path) -> None:
    write(tmp_path, f"date=2026-11-21/{PART}", ("a", 1))
    write(tmp_path, f"date=2026-11-22/{PART}", ("a", 2))
    write(tmp_path, f"date=2026-11-21/{open_part(PART)}", ("a", 3))
    write(tmp_path, "date=2026-11-21/bucket=4/part-0-RUN.parquet", ("a", 4))
    write(tmp_path, "date=2026-11-21/bucket=3/part-0-EARLIER.parquet", ("a", 5))
    messages = FinishedMessages(tmp_path, PART)
    assert timeouts(messages) == [1, 2, 3]
    assert read(messages, "SyncGroup/request") == []


def test_only_wanted_columns_and_connections_are_read(tmp_path: Path) -> None:
    write(tmp_path, PART, ("a", 1), ("b", 2), ("c", 3))
    assert read(FinishedMessages(tmp_path, PART, conn_ids=pa.chunked_array([["c"], ["a"]]))) == [
        {"session_timeout_ms": 1},
        {"session_timeout_ms": 3},
    ]
    assert read(FinishedMessages(tmp_path, PART, conn_ids=pa.chunked_array([], pa.string()))) == []


def test_numbers_out_of_the_range_of_their_field_are_null(tmp_path: Path) -> None:
    write(tmp_path, PART, ("a", -(2**31)), ("a", 6_000), ("a", None))
    assert timeouts(FinishedMessages(tmp_path, PART)) == [None, 6_000, None]


def test_messages_of_earlier_runs_come_first(tmp_path: Path) -> None:
    earlier = [
        write(tmp_path, f"date=2026-11-20/bucket=3/part-0-{run}.parquet", ("a", ms)) for run, ms in (("A", 1), ("B", 2))
    ]
    other = write(tmp_path, "date=2026-11-20/bucket=30/part-0-A.parquet", ("a", 9))
    write(tmp_path / "new", f"date=2026-11-21/{PART}", ("a", 3))
    files = EarlierFiles(Storage.of(tmp_path), {f"messages/{MESSAGE}": (*earlier, other), "requests": ()})
    assert timeouts(FinishedMessages(tmp_path / "new", PART, files)) == [1, 2, 3]
    assert list(files.messages) == [f"messages/{MESSAGE}"]


def file_of(*made_of: str) -> DatasetFile:
    return DatasetFile("-".join(made_of), 1, 1, made_of=made_of)


@pytest.mark.parametrize(
    ("files", "made_of", "kept"),
    [
        ([("a",), ("b",)], {"a", "b", "c"}, ["a", "b"]),
        ([("a",), ("b",)], {"a"}, ["a"]),
        ([("a", "b"), ("c",)], {"a", "c"}, ["c"]),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("e",)], {"b", "c", "d", "e"}, ["e"]),
        ([("a", "b"), ("b",)], set(), []),
        ([], {"a"}, []),
    ],
    ids=["all", "one changed", "a file of two parts", "files that share parts", "nothing stays", "no files"],
)
def test_files_stay_whose_parts_did_not_change(
    tmp_path: Path, files: list[tuple[str, ...]], made_of: set[str], kept: list[str]
) -> None:
    """A part is in several files where its rows are of several days: they stay together or not at all."""
    earlier = EarlierFiles(Storage.of(tmp_path), {"requests": tuple(file_of(*each) for each in files)})
    assert [file.path for file in earlier.kept("requests", made_of)] == kept
    assert earlier.kept("partitions", made_of) == ()
