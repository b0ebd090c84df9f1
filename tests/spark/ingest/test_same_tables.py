"""Ingest by Spark's tasks writes the tables that one process writes, row for row, for any number of buckets and ranges;
what tasks leave for each other is gone at the end."""

import pathlib
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import Manifest
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest, write_tables
from kafkascope_analyzer.read.place import STANDARD_INPUT, place_of
from kafkascope_analyzer.scan.record_detail import RecordDetail
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.ingest import engine as tested
from kafkascope_spark.ingest.engine import SparkEngine
from kafkascope_spark.ingest.finish_stage import load_learned, save_learned
from kafkascope_spark.ingest.task_files import TaskRun

pytestmark = pytest.mark.spark

CAPTURES = pathlib.Path(__file__).parents[3] / "fixtures" / "captures"
OPTIONS = IngestOptions(jobs=1, detail=RecordDetail.BATCHES)


def unpacked(name: str) -> bytes:
    with (CAPTURES / name).open("rb") as file:
        return bytes(zstandard.ZstdDecompressor().stream_reader(file).read())


def on_spark(
    spark: Any, paths: Sequence[pathlib.Path], out: pathlib.Path, n_buckets: int, range_bytes: int = 200_000
) -> Dataset:
    options = IngestOptions(jobs=n_buckets, detail=OPTIONS.detail)
    places = [place_of(path) for path in paths]
    with NewDataset(Storage.of(out)) as new:
        engine = SparkEngine(spark, new, places, options, range_bytes=range_bytes)
        new.commit(write_tables(places, new, options, engine=engine))
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
    return unpacked("healthy_basic.pcap.zst")


def test_buckets_and_ranges_of_a_file_change_nothing(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(raw)
    ingest([path], tmp_path / "local.kscope", OPTIONS)
    expected = Dataset.open(tmp_path / "local.kscope")
    assert expected.rows("requests") > 1000
    for n_buckets, range_bytes in ((1, 1 << 30), (5, 600_000)):  # other tests have two and three buckets
        found = on_spark(spark, [path], tmp_path / f"{n_buckets}.kscope", n_buckets, range_bytes)
        assert_same_tables(found, expected)
        left = {each.name for each in (tmp_path / f"{n_buckets}.kscope").iterdir() if each.name.startswith("_")}
        assert left == {"_dataset.json"}


def test_two_capture_points_and_a_rotated_series(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    """One point in two files, which shows each packet twice, once on either side of the joint; the other in pcapng."""
    at, records = 24, []
    whole = unpacked("mid_stream-any.pcap.zst")
    while at < len(whole):
        size = 16 + int.from_bytes(whole[at + 8 : at + 12], "little")
        records += [whole[at : at + size]] * 2
        at += size
    paths = [tmp_path / "a.pcap0", tmp_path / "a.pcap1", CAPTURES / "mid_stream-ng.pcapng.zst"]
    paths[0].write_bytes(whole[:24] + b"".join(records[:2001]))
    paths[1].write_bytes(whole[:24] + b"".join(records[2001:]))
    ingest(paths, tmp_path / "local.kscope", OPTIONS)
    found = on_spark(spark, paths, tmp_path / "there.kscope", 3)
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))
    assert sum(entry["duplicates"] for entry in found.manifest.inputs) > 3000


def test_names_that_the_capture_looked_up_are_in_one_bucket(spark: Any, tmp_path: pathlib.Path) -> None:
    path = CAPTURES / "pieces" / "dns_names.pcap.zst"
    ingest([path], tmp_path / "local.kscope", OPTIONS)
    found = on_spark(spark, [path], tmp_path / "there.kscope", 2)
    assert found.rows("dns") > 0
    assert_same_tables(found, Dataset.open(tmp_path / "local.kscope"))


def test_a_wrong_plan_is_made_again(
    spark: Any, raw: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture is sent through the network: what looks like records, as far back as is looked, is one packet."""
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
        SparkEngine(spark, new, [STANDARD_INPUT], OPTIONS)


def test_a_capture_that_the_executors_do_not_find(spark: Any, raw: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(raw)
    place = place_of(path)
    monkey = type("Elsewhere", (type(place),), {"size_bytes": lambda self: 7})(path)
    with NewDataset(Storage.of(tmp_path / "a.kscope")) as new, pytest.raises(UsageError, match="not on every executor"):
        SparkEngine(spark, new, [monkey], OPTIONS)


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
    file = save_learned(run, ("what was", "learned"), "_spill-0/learned.pickle")  # type: ignore[arg-type]
    assert load_learned(run, file) == ("what was", "learned")
    (tmp_path / file.place).write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(UsageError, match="was changed while the run was at work"):
        load_learned(run, file)
