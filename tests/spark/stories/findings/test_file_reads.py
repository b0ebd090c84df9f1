"""What reads found in files that later runs keep: a later run does not open these files for them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.analyzer.ingest.test_append import in_pieces

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.dataset.parquet_files import MADE_OF
from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.stories.findings.candidates import Candidates, Tables
from kafkascope_spark.stories.findings.conditions import NOT_NULL, count
from kafkascope_spark.stories.findings.file_reads import FileReads, Place, Result
from kafkascope_spark.stories.findings.preconditions import Preconditions
from kafkascope_spark.stories.findings.read import Columns, Events, Groups, Read, Where
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.findings.rule import Detector, fact
from kafkascope_spark.stories.tables import STORY_TABLES

CAPTURES = Path(__file__).parents[4] / "fixtures" / "captures"
RUN_ID = "0123456789ab"
REPEATED = Groups(Where(REQUESTS), per=("conn_id",), having=count() >= 3)
"""Two requests of c1 are in one file, and one in the other."""


def detectors(*reads: Read) -> list[Detector]:
    return [Detector(reads={"rows": read}, query="", subject=fact("n"), sentence=lambda _: "") for read in reads]


@pytest.fixture
def grown(tmp_path: Path, as_dataset: Any) -> Dataset:
    """A file that ingest may keep, and one that it will write anew."""
    for table, rows in (("requests", [{"conn_id": "c1"}, {"conn_id": "c1"}]), ("errors", [{"error_name": "NONE"}])):
        (tmp_path / table).mkdir()
        kept = pa.Table.from_pylist(rows).replace_schema_metadata({MADE_OF: b'["a part"]'})
        pq.write_table(kept, tmp_path / table / "part-0.parquet")
        pq.write_table(pa.Table.from_pylist(rows[:1]), tmp_path / table / "part-1.parquet")
    made: Dataset = as_dataset(tmp_path, (0, 1))
    return made


def saved_in(dataset: Dataset, reads: Iterable[Read]) -> Dataset:
    """The dataset with what these reads found."""
    found = FileReads()
    Preconditions(dataset, file_reads=found).satisfied(detectors(*reads))
    return replace(dataset, manifest=replace(dataset.manifest, saved_reads=found.save(dataset, RUN_ID)))


READS: list[tuple[Read, bool]] = [
    (REPEATED, True),
    (Groups(Where(REQUESTS), per=("conn_id",), having=count() >= 4), False),
    (Groups(Where(REQUESTS, status=NOT_NULL), per=("conn_id",), having=count() >= 1), False),
    (Where(REQUESTS, conn_id="c1"), True),
    (Where(REQUESTS, conn_id="c2"), False),
    (Where(ERRORS, error_name="NONE"), True),
    (Where(ERRORS, error_name="NOT_COORDINATOR"), False),
]


def test_files_that_were_read_are_not_opened_again(grown: Dataset) -> None:
    reads, there = zip(*READS, strict=True)
    again = saved_in(grown, reads)
    for table in ("requests", "errors"):
        (Path(again.storage.path) / table / "part-0.parquet").unlink()
    known = FileReads.of(again)
    assert Preconditions(again, file_reads=known).satisfied(detectors(*reads)) == list(there)
    assert known.save(again, "ab" * 6) == again.manifest.saved_reads, "nothing is new"
    gone = replace(again, manifest=again.manifest.with_files({}))
    assert known.save(gone, "ab" * 6) == ()


def test_few_rows_of_a_file_are_not_read_again(grown: Dataset) -> None:
    """Not only groups: candidates may need single rows."""
    rows = Where(ERRORS, error_name="NONE")
    seen = []

    def exist(tables: Tables) -> bool:
        seen.append(tables["rows"]["error_name"].to_pylist())
        return True

    candidates = Candidates({"rows": ("error_name",)}, exist)
    asked = [replace(detector, candidates=candidates) for detector in detectors(rows)]
    found = FileReads()
    Preconditions(grown, file_reads=found).satisfied(asked)
    again = replace(grown, manifest=replace(grown.manifest, saved_reads=found.save(grown, RUN_ID)))
    (Path(again.storage.path) / "errors" / "part-0.parquet").unlink()
    assert Preconditions(again, file_reads=FileReads.of(again)).satisfied(asked) == [True]
    assert seen == [["NONE", "NONE"], ["NONE", "NONE"]]


def test_what_no_run_has_read_is_read(grown: Dataset) -> None:
    again = saved_in(grown, [REPEATED])
    of_two = Groups(Where(REQUESTS), per=("conn_id", "status"), having=count() >= 3)
    assert Preconditions(again, file_reads=FileReads.of(again)).satisfied(detectors(of_two)) == [True]


@pytest.mark.parametrize("harm", ["release", "bytes", "columns", "types", "no_names"])
def test_what_another_release_or_a_broken_disk_has_left_is_not_used(
    grown: Dataset, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = saved_in(grown, [REPEATED])
    (entry,) = again.manifest.saved_reads
    file = Path(again.storage.path) / entry.path
    if harm == "release":
        monkeypatch.setattr("kafkascope_spark.stories.findings.file_reads.version", lambda _: "0.0.1")
    elif harm == "bytes":
        file.write_bytes(b"PAR1")
    else:
        table = pq.read_table(file)
        texts = pa.array(["many"] * table.num_rows)
        other = {
            "columns": table.drop_columns(["conn_id"]),
            "types": table.drop_columns(["count(*)"]).append_column("count(*)", texts),
            "no_names": table.drop_columns(["in_file"]).append_column("in_file", pa.array([7] * table.num_rows)),
        }
        entry = again.write_file(entry.path, other[harm])
        again = replace(again, manifest=replace(again.manifest, saved_reads=(entry,)))
    known = FileReads.of(again)
    assert known.found(Place("requests/part-0.parquet", ""), REPEATED) is None
    assert known.is_of_other_release == (harm == "release")
    assert Preconditions(again, file_reads=known).satisfied(detectors(REPEATED)) == [True]


@pytest.mark.parametrize(("n_rows", "is_known"), [(1_000, True), (40, False)])
def test_many_groups_of_few_rows_are_not_saved(grown: Dataset, n_rows: int, is_known: bool) -> None:
    known, place = FileReads(), Place("requests/part-0.parquet", "")
    known.note(place, REPEATED, pa.table({"conn_id": ["c1", "c2"], "count(*)": [1, 1]}), n_rows)
    assert (known.found(place, REPEATED) is not None) == is_known
    assert bool(known.save(grown, RUN_ID)) == is_known


def test_no_more_is_saved_than_is_quickly_loaded(grown: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkascope_spark.stories.findings.file_reads.MOST_SAVED", 1)
    of_none = READS[2][0]
    assert saved_in(grown, [REPEATED]).manifest.saved_reads
    assert not saved_in(grown, [REPEATED, of_none]).manifest.saved_reads


def test_a_cluster_is_asked_for_itself(grown: Dataset) -> None:
    """What was found of one cluster says nothing about the rows of another."""
    known = FileReads.of(saved_in(grown, [REPEATED]))
    assert known.found(Place("requests/part-0.parquet", ""), REPEATED) is not None
    assert known.found(Place("requests/part-0.parquet", "other"), REPEATED) is None


def own_reads() -> Iterator[Result]:
    """Yields the reads of all rules over tables whose results are saved by file: groups, and rows without lists."""
    for detector in (detector for rule in RULES for detector in rule.detectors):
        for read in filter(is_of_kept_files, detector.reads.values()):
            yield read if isinstance(read, Groups) else Groups(read)
        test = detector.candidates
        while test is not None:
            for name, names in test.columns.items():
                read = detector.reads[name]
                if isinstance(read, Where) and is_of_kept_files(read):
                    yield Columns(read, names)
            test = test.then


def is_of_kept_files(read: Read) -> bool:
    return not isinstance(read.source, Events) and read.source not in STORY_TABLES


def test_what_each_rule_reads_can_be_saved(grown: Dataset) -> None:
    """Two rows of each: of all columns, numbers and texts."""
    reads = [read for read in own_reads() if not any(map(pa.types.is_nested, read.schema.types))]
    place, found = Place("requests/part-0.parquet", ""), {}
    known = FileReads()
    for read in reads:
        schema = read.schema
        columns = [pa.array([1, None], pa.int64()).cast(field.type) for field in schema]
        found[read] = pa.table(columns, schema=schema)
        known.note(place, read, found[read], 1_000)
    entry = known.save(grown, RUN_ID)
    again = FileReads.of(replace(grown, manifest=replace(grown.manifest, saved_reads=entry)))
    for read in reads:
        loaded = again.found(place, read)
        assert loaded is not None
        assert loaded.equals(found[read]), str(read)


@pytest.mark.slow
def test_an_append_finds_what_a_run_finds_that_reads_all_files(tmp_path: Path) -> None:
    every, out = [detector for rule in RULES for detector in rule.detectors], tmp_path / "grown.kscope"
    n_known = []
    for piece in in_pieces(CAPTURES / "pieces" / "zk_dead_coordinator.pcap.zst", tmp_path, 2):
        ingest([piece], out, IngestOptions(append=True))
        with NewDataset(Dataset.open(out).storage) as new:
            assert new.former is not None
            known = FileReads.of(new.former)
            n_known.append(sum(file.rows for file in new.former.manifest.saved_reads))
            found = Preconditions(new.former, file_reads=known).satisfied(every)
            assert found == Preconditions(new.former).satisfied(every)
            new.commit(new.former.with_stories({}, saved_reads=known.save(new.former, new.run_id)))
    assert n_known[0] == 0
    assert n_known[1] > 0
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert files == {*Dataset.open(out).manifest.paths, "_dataset.json"}
