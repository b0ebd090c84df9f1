"""Ingest by Spark's tasks writes the tables that one process writes, row for row, for any number of buckets and ranges;
what tasks leave for each other is gone at the end."""

import os
import pathlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import Manifest
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.append import Plan
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest, write_tables
from kafkascope_analyzer.read.key_logs import key_log_places
from kafkascope_analyzer.read.place import STANDARD_INPUT, place_of
from kafkascope_analyzer.read.points.assignment import AUTO
from kafkascope_analyzer.read.reading import ToRead
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.ingest import engine as tested
from kafkascope_spark.ingest.engine import ReadSizes, SparkEngine
from kafkascope_spark.ingest.saved_work import load_file, save_file
from kafkascope_spark.ingest.task_files import TaskRun

pytestmark = pytest.mark.spark

CAPTURES = pathlib.Path(__file__).parents[3] / "fixtures" / "captures"
POINTS = CAPTURES.parent / "points"
OPTIONS = IngestOptions(jobs=1, detail=RecordDetail.BATCHES)


def unpacked(name: str | pathlib.Path) -> bytes:
    with (CAPTURES / name).open("rb") as file:
        return bytes(zstandard.ZstdDecompressor().stream_reader(file).read())


def on_spark(
    spark: Any,
    paths: Sequence[pathlib.Path | str],
    out: pathlib.Path | str,
    n_buckets: int,
    range_bytes: int = 200_000,
    block_bytes: int = 48 << 20,
    **asked: Any,
) -> Dataset:
    options = IngestOptions(jobs=n_buckets, detail=OPTIONS.detail, **asked)
    with NewDataset(Storage.of(out)) as new:

        def engine_of(plan: Plan) -> SparkEngine:
            return SparkEngine(spark, new, plan, options, sizes=ReadSizes(range_bytes, block_bytes))

        new.commit(write_tables(paths, new, options, engine_of=engine_of))
    return Dataset.open(out)


def assert_same_tables(found: Dataset, expected: Dataset) -> None:
    assert set(found.tables) == set(expected.tables)
    for table in expected.tables:
        mine, theirs = (sorted(map(repr, dataset.read(table).to_pylist())) for dataset in (found, expected))
        assert mine == theirs, table
    of_runs: list[Manifest] = [found.manifest, expected.manifest]
    assert of_runs[0].ledger == of_runs[1].ledger
    assert of_runs[0].inputs == of_runs[1].inputs
    assert of_runs[0].limits_hit == of_runs[1].limits_hit


@pytest.fixture(scope="module")
def raw() -> bytes:
    """A small capture: most of what a run of Spark takes grows with the tables and buckets that its tasks write."""
    return unpacked("pieces/path_cut.pcap.zst")


def test_buckets_and_ranges_of_a_file_change_nothing(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(raw)
    ingest([path], tmp_path / "local.kscope", OPTIONS)
    expected = Dataset.open(tmp_path / "local.kscope")
    assert expected.rows("requests") > 300
    for n_buckets, range_bytes in ((1, 1 << 30), (5, len(raw) // 3)):  # other tests have two and three buckets
        found = on_spark(spark, [path], tmp_path / f"{n_buckets}.kscope", n_buckets, range_bytes)
        assert_same_tables(found, expected)
        left = {each.name for each in (tmp_path / f"{n_buckets}.kscope").iterdir() if each.name.startswith("_")}
        assert left == {"_dataset.json"}


def test_tasks_decrypt_with_a_key_log(spark: Any, tmp_path: pathlib.Path) -> None:
    """What is not handed around between tasks, test_key_logs.py shows."""
    tls = CAPTURES.parent / "tls"
    capture, keys = tls / "openssl.pcap.zst", key_log_places([(tls / "openssl.keys").as_uri()])
    ingest([capture], tmp_path / "local.kscope", replace(OPTIONS, key_logs=keys))
    found = on_spark(spark, [capture], tmp_path / "there.kscope", 2, key_logs=keys)
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))
    assert any(row["tls_decrypted"] for row in found.read("connections").to_pylist())


def test_two_capture_points_and_a_rotated_series(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    """One point in two files, which shows each packet twice, once on either side of the joint; the other in pcapng."""
    paths = rotated(unpacked("mid_stream-any.pcap.zst"), tmp_path, 2, twice=True)
    paths.append(CAPTURES / "mid_stream-ng.pcapng.zst")
    ingest(paths, tmp_path / "local.kscope", OPTIONS)
    found = on_spark(spark, paths, tmp_path / "there.kscope", 3)
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))
    assert sum(entry["duplicates"] for entry in found.manifest.inputs) > 3000


def rotated(raw: bytes, folder: pathlib.Path, n: int, *, twice: bool = False) -> list[pathlib.Path]:
    """The capture as a rotated series of n files. twice: each packet is in it twice, also on either side of a joint."""
    at, records = 24, []
    while at < len(raw):
        size = 16 + int.from_bytes(raw[at + 8 : at + 12], "little")
        records += [raw[at : at + size]] * (2 if twice else 1)
        at += size
    edges = [len(records) * part // n | 1 for part in range(n)] + [len(records)]
    edges[0] = 0
    paths = [folder / f"cap.pcap{part}" for part in range(n)]
    for path, (first, end) in zip(paths, pairwise(edges), strict=True):
        path.write_bytes(raw[:24] + b"".join(records[first:end]))
    return paths


@pytest.mark.parametrize("n_buckets", [pytest.param(1, marks=pytest.mark.lab), 3])
def test_appended_captures_give_what_one_ingest_gives(spark: Any, tmp_path: pathlib.Path, n_buckets: int) -> None:
    """Spark begins, Spark goes on, this machine goes on; connections, frames and copies of packets cross the files."""
    paths = rotated(unpacked("mid_stream-any.pcap.zst"), tmp_path, 4, twice=True)
    ingest(paths, tmp_path / "once.kscope", OPTIONS)
    grown = tmp_path / "grown.kscope"
    on_spark(spark, paths[:2], grown, n_buckets, append=True)
    on_spark(spark, paths[2:3], grown, n_buckets, append=True)
    assert_same_tables(on_spark(spark, paths[:3], tmp_path / "three.kscope", 2), Dataset.open(grown))
    ingest(paths[3:], grown, IngestOptions(detail=OPTIONS.detail, append=True))
    assert_same_tables(Dataset.open(grown), Dataset.open(tmp_path / "once.kscope"))
    files = {path.relative_to(grown).as_posix() for path in grown.rglob("*") if path.is_file()}
    assert files == {*Dataset.open(grown).manifest.paths, "_dataset.json"}


@pytest.mark.parametrize("n", [1, pytest.param(3, marks=pytest.mark.lab)])
def test_days_are_appended_from_store_to_store(
    spark: Any, bucket: Callable[[], Any], raw: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    """A day's capture that was appended is not opened again: it may be gone from the store. Its connections, of
    few APIs, go through all days; each table and bucket of each day is some requests to the store. n: days and
    buckets; one day shows only the way from store to store."""
    for name in filter(lambda name: name.startswith("AWS_"), os.environ):
        monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    days, store = rotated(raw, tmp_path, n), bucket()
    ingest(days, tmp_path / "once.kscope", OPTIONS)
    for day in days:
        store.put(f"mirror/{day.name}", day.read_bytes())
        on_spark(spark, [f"{store.uri}/mirror/{day.name}"], f"{store.uri}/week.kscope", n, append=True)
        store.remove(f"mirror/{day.name}")
    found, expected = Dataset.open(f"{store.uri}/week.kscope"), Dataset.open(tmp_path / "once.kscope")
    for table in set(expected.tables) - {"captures"}:  # it has their paths
        mine, theirs = (sorted(map(repr, dataset.read(table).to_pylist())) for dataset in (found, expected))
        assert mine == theirs, table
    assert found.manifest.ledger == expected.manifest.ledger
    assert expected.rows("requests") > 300
    left = {name.removeprefix("week.kscope/") for name in store.keys("week.kscope/")}
    assert left == {*found.manifest.paths, "_dataset.json"}


def test_what_this_machine_has_begun_spark_goes_on_with(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    paths = rotated(raw, tmp_path, 2)
    ingest(paths, tmp_path / "once.kscope", OPTIONS)
    ingest(paths[:1], tmp_path / "grown.kscope", IngestOptions(jobs=1, detail=OPTIONS.detail, append=True))
    found = on_spark(spark, paths[1:], tmp_path / "grown.kscope", 5, append=True)
    assert found.manifest.options["buckets"] == 1
    assert_same_tables(found, Dataset.open(tmp_path / "once.kscope"))


@pytest.mark.parametrize("n_buckets", [pytest.param(1, marks=pytest.mark.lab), 3])
def test_capture_points_are_read_side_by_side(spark: Any, tmp_path: pathlib.Path, n_buckets: int) -> None:
    """The client's host and the broker's, whose clock is 340 ms ahead (fixtures/points), in files and blocks of other
    sizes than on one machine."""
    client, broker = (POINTS / point / "leader_move.pcap.zst" for point in ("client", "broker"))
    (tmp_path / "broker").mkdir()
    files = [client, *rotated(unpacked(broker), tmp_path / "broker", 3)]
    ingest(files, tmp_path / "local.kscope", IngestOptions(jobs=1, detail=OPTIONS.detail, capture_points=AUTO))
    expected = Dataset.open(tmp_path / "local.kscope")
    found = on_spark(spark, files, tmp_path / "there.kscope", n_buckets, block_bytes=1 << 16, capture_points=AUTO)
    assert_same_tables(found, expected)
    captures = found.read("captures").sort_by("capture_id").to_pylist()
    assert [row["capture_point"] for row in captures] == ["client", *["broker"] * 3]
    assert all(abs(row["clock_ahead_ns"] - 340_000_000) < 1_000_000 for row in captures[1:])
    assert sum(n > 0 for n in found.read("connections")["n_segments_at_both"].to_pylist()) == 3


def test_names_that_the_capture_looked_up_are_in_one_bucket(spark: Any, tmp_path: pathlib.Path) -> None:
    path = CAPTURES / "pieces" / "dns_names.pcap.zst"
    ingest([path], tmp_path / "local.kscope", OPTIONS)
    found = on_spark(spark, [path], tmp_path / "there.kscope", 2)
    assert found.rows("dns") > 0
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))


def test_two_clusters_in_one_capture(
    spark: Any, load_module: Callable[[pathlib.Path], ModuleType], tmp_path: pathlib.Path
) -> None:
    clusters = load_module(pathlib.Path(__file__).parents[2] / "two_clusters.py")
    capture = CAPTURES / "pieces" / "dns_names.pcap.zst"
    pair = clusters.write_pair(capture, tmp_path / "pair.pcap", ["TwwdmqfCTgWzF4iqAQIDBA"])
    ingest([pair], tmp_path / "local", OPTIONS)
    expected = Dataset.open(tmp_path / "local")
    assert len(set(expected.read("events")["cluster"].to_pylist())) == 3  # and some clients talk to neither
    assert_same_tables(on_spark(spark, [pair], tmp_path / "spark", 2), expected)


@pytest.mark.slow
def test_a_wrong_plan_is_made_again(spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture is sent through the network: what looks like records, as far back as is looked, is one packet."""
    raw = unpacked("healthy_basic.pcap.zst")
    inner, header = raw[24:] * 4, raw[:16] + (8 << 20).to_bytes(4, "little") + raw[20:24]
    path = tmp_path / "a.pcap"
    path.write_bytes(header + raw[24:] + raw[24:32] + len(inner).to_bytes(4, "little") * 2 + inner + raw[24:])
    ingest([path], tmp_path / "local.kscope", OPTIONS)
    plans, planned = [], tested.plan_ranges
    monkeypatch.setattr(tested, "plan_ranges", lambda *a, **k: plans.append(planned(*a, **k)) or plans[-1])
    found = on_spark(spark, [path], tmp_path / "there.kscope", 1, len(raw) + (5 << 20))
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))
    assert len(plans) == 2


def test_standard_input_is_refused(spark: Any, tmp_path: pathlib.Path) -> None:
    with (
        NewDataset(Storage.of(tmp_path / "a.kscope")) as new,
        pytest.raises(UsageError, match="cannot read standard input"),
    ):
        SparkEngine(spark, new, Plan(ToRead((STANDARD_INPUT,))), OPTIONS)


def test_a_capture_that_the_executors_do_not_find(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(raw)
    place = place_of(path)
    monkey = type("Elsewhere", (type(place),), {"size_bytes": lambda self: 7})(path, str(path))
    with NewDataset(Storage.of(tmp_path / "a.kscope")) as new, pytest.raises(UsageError, match="not on every executor"):
        SparkEngine(spark, new, Plan(ToRead((monkey,))), OPTIONS)


@pytest.mark.parametrize(
    ("n_bytes", "n_tasks", "n_buckets"),
    [
        (1 << 20, 8, 1),  # too small to be divided
        (256 << 20, 8, 4),  # 64 MB each: fewer than the tasks that could run
        (1 << 30, 2, 2),
        (3 << 30, 2, 4),  # two rounds of two tasks, not three buckets
        (3 << 30, 1, 3),
        (1 << 40, 100, 1100),
    ],
)
def test_each_task_has_as_many_buckets_as_the_others(n_bytes: int, n_tasks: int, n_buckets: int) -> None:
    assert tested._n_buckets(n_bytes, n_tasks) == n_buckets


def test_a_run_that_fails_leaves_nothing(spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(unpacked("pieces/path_cut.pcap.zst"))

    def fail(*_: object) -> None:
        raise SparkError("the cluster is gone")

    monkeypatch.setattr(SparkEngine, "finish", fail)
    with pytest.raises(SparkError):
        on_spark(spark, [path], tmp_path / "a.kscope", 2)
    assert not (tmp_path / "a.kscope").exists()


def test_what_was_learned_is_read_only_as_it_was_written(tmp_path: pathlib.Path) -> None:
    run = TaskRun(Storage.of(tmp_path), "0" * 12, 1, OPTIONS.detail, tested.limits_within(None))
    file = save_file(run, ("what was", "learned"), "_spill-0/learned.pickle")  # type: ignore[arg-type]
    assert pickle.loads(load_file(run, file)) == ("what was", "learned")
    (tmp_path / file.place).write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(UsageError, match="was changed while the run was at work"):
        load_file(run, file)
