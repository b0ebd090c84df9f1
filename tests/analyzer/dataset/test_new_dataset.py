"""A new dataset is seen when it is whole; what a run leaves that does not end is recognised and removed."""

import multiprocessing
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.manifest import COUNTS_FILE, DatasetFile, Manifest
from kafkascope_analyzer.dataset.new_dataset import NewDataset, remove_leftovers
from kafkascope_analyzer.dataset.run_marks import Owner, mark_of
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import UsageError


class Place:
    """Where a dataset goes. uri; files: lists what is there, by other means than ours; put: adds a file."""

    def __init__(self, uri, files, put):
        self.uri, self.files, self.put = uri, files, put


@pytest.fixture(params=["local", "s3"])
def place(request, tmp_path, bucket) -> Place:
    if request.param == "s3":
        made = bucket()
        return Place(
            f"{made.uri}/in/x.kscope",
            lambda: [key.removeprefix("in/x.kscope/") for key in made.keys("in/x.kscope/")],
            lambda name, data: made.put(f"in/x.kscope/{name}", data),
        )
    folder = tmp_path / "x.kscope"

    def put(name: str, data: bytes) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return Place(
        str(folder), lambda: sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()), put
    )


@pytest.fixture
def temporary(tmp_path) -> Path:
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def write(new: NewDataset, value: int) -> None:
    for path in (new.folder / "requests" / "bucket=1", new.folder / "messages" / "Fetch" / "request"):
        path.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": [value]}), path / f"part-0{new.file_suffix}")


def committed(place: Place, temporary: Path, value: int) -> str:
    with NewDataset(Storage.of(place.uri), temporary) as new:
        write(new, value)
        new.commit(new.put_tables(Manifest({}, {})))
    return new.run_id


def killed(place: Place, temporary: Path) -> NewDataset:
    """What a run leaves that is killed when its files are at their place: no `__exit__` is called. A task of it has put
    a table and a spill, and has left its folder."""
    new = NewDataset(Storage.of(place.uri), temporary)
    new.__enter__()
    write(new, 666)
    new.put_tables(Manifest({}, {}))
    die(new)
    place.put(f"requests/bucket=1/part-0-{new.run_id}-42.parquet", b"")
    place.put(f"{spill_folder(new.run_id)}/42/1/requests.arrow", b"")
    (temporary / f"kafkascope-{new.run_id}-task").mkdir()
    return new


def die(new: NewDataset) -> None:
    """As if the process of the run had ended: the system releases its lock; in a store its mark names the process."""
    new._mark.release()
    if not new.storage.is_local:
        owner = replace(Owner.this_process(), pid=ended_process())
        new.storage.write_bytes(mark_of(new.run_id), owner.to_bytes())


def ended_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_store_keeps_no_mark_of_the_folders_of_a_spill(bucket, temporary):
    made = bucket()
    storage = Storage.of(f"{made.uri}/x.kscope")
    with NewDataset(storage, temporary) as new:
        write(new, 1)
        for task in ("driver/0", "4/1", "5/1"):
            storage.write_bytes(f"{spill_folder(new.run_id)}/{task}/requests.arrow", b"rows")
        assert any(spill_folder(new.run_id) in key for key in made.all_keys())
        new.commit(new.put_tables(Manifest({}, {})))
    assert not [key for key in made.all_keys() if spill_folder(new.run_id) in key]


def values(place: Place) -> list[int]:
    return pq.read_table(
        Storage.of(place.uri).inside(Dataset.open(place.uri).files("requests")[0]),
        filesystem=Storage.of(place.uri).filesystem,
    )["a"].to_pylist()


def test_only_a_commit_makes_it_a_dataset(place: Place, temporary: Path) -> None:
    with NewDataset(Storage.of(place.uri), temporary) as new:
        write(new, 1)
        dataset = new.put_tables(Manifest({}, {}))
        assert dataset.rows("requests") == 1
        with pytest.raises(UsageError, match="not a kafkascope dataset"):
            Dataset.open(place.uri)
        new.commit(dataset)
        assert Dataset.open(place.uri).tables == ("messages/Fetch/request", "requests")
    names = [f"messages/Fetch/request/part-0-{new.run_id}.parquet", f"requests/bucket=1/part-0-{new.run_id}.parquet"]
    assert place.files() == ["_dataset.json", *names]
    assert list(temporary.iterdir()) == []


def test_a_dataset_is_replaced_at_once_and_its_files_are_removed(place: Place, temporary: Path) -> None:
    first = committed(place, temporary, 1)
    place.put("notes.txt", b"mine")
    with NewDataset(Storage.of(place.uri), temporary) as new:
        write(new, 2)
        dataset = new.put_tables(Manifest({}, {}))
        assert values(place) == [1]
        new.commit(dataset)
    assert values(place) == [2]
    assert not [name for name in place.files() if first in name]
    assert "notes.txt" in place.files()


def test_files_that_other_machines_have_put_are_listed_too(place: Place, temporary: Path) -> None:
    with NewDataset(Storage.of(place.uri), temporary) as new:
        write(new, 1)
        there = DatasetFile(f"requests/bucket=0/part-0-{new.run_id}-7.parquet", 5, 10)
        dataset = new.put_tables(Manifest({}, {}), {"requests": (there,)})
        assert (dataset.rows("requests"), dataset.files("requests")[0]) == (6, there.path)
        (temporary / f"kafkascope-{new.run_id}-task").mkdir()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_run_that_fails_leaves_what_was_there(place: Place, temporary: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with NewDataset(Storage.of(place.uri), temporary) as new:
            write(new, 2)
            new.put_tables(Manifest({}, {}))
            raise error

    with pytest.raises(error):
        fail()
    assert place.files() == []
    committed(place, temporary, 1)
    before = place.files()
    with pytest.raises(error):
        fail()
    assert (place.files(), values(place), list(temporary.iterdir())) == (before, [1], [])


def test_the_next_run_removes_what_a_killed_one_has_left(place: Place, temporary: Path) -> None:
    left = killed(place, temporary)
    (left.spill).mkdir(parents=True, exist_ok=True)
    assert len(place.files()) == 5
    committed(place, temporary, 1)
    assert not [name for name in place.files() if left.run_id in name]
    assert (values(place), list(temporary.iterdir())) == ([1], [])


def clean(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["clean", *map(str, args)])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("is_dataset", [True, False])
def test_clean_removes_what_a_killed_run_has_left(place: Place, temporary: Path, is_dataset: bool) -> None:
    if is_dataset:
        committed(place, temporary, 1)
    place.put("notes.txt", b"mine")
    kept = place.files()
    left = killed(place, temporary)
    mine = f"requests/part-0-{'0' * 12}.parquet"
    if not is_dataset:  # where no manifest is, only files of runs that have left their mark are leftovers
        place.put(mine, b"somebody's")
        kept = sorted([*kept, mine])
    there = place.files()
    code, said, _ = clean(place.uri, "--dry-run", "--temporary", temporary)
    assert (code, place.files()) == (0, there)
    assert said.count("would remove ") == len(said.splitlines()) == 7
    assert f"{place.uri}/requests/bucket=1/part-0-{left.run_id}.parquet\n" in said
    code, said, _ = clean(place.uri, "--temporary", temporary)
    assert (code, said.count("removed "), place.files()) == (0, 7, kept)
    assert list(temporary.iterdir()) == []


def test_clean_never_touches_what_is_no_dataset(place: Place) -> None:
    place.put("requests/part-0-0123456789ab.parquet", b"a copy of a table")
    code, _, said = clean(place.uri)
    assert (code, place.files()) == (2, ["requests/part-0-0123456789ab.parquet"])
    assert "neither a kafkascope dataset" in said


def test_of_two_runs_the_second_is_refused(place: Place, temporary: Path) -> None:
    first, second = (NewDataset(Storage.of(place.uri), temporary) for _ in range(2))
    with first, second:
        for value, new in enumerate((first, second)):
            write(new, value)
        datasets = [new.put_tables(Manifest({}, {})) for new in (first, second)]
        first.commit(datasets[0])
        with pytest.raises(UsageError, match="changed by another run"):
            second.commit(datasets[1])
    assert values(place) == [0]
    assert not [name for name in place.files() if second.run_id in name]


def test_a_temporary_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match=r"file: cannot be written.*--temporary"),
        NewDataset(Storage.of(tmp_path / "x.kscope"), tmp_path / "file"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_no_run_removes_what_another_one_at_work_has_written(place: Place, temporary: Path) -> None:
    """The winner's clean-up once removed the loser's files and mark, and the other way round."""
    other = NewDataset(Storage.of(place.uri), temporary)
    with other:
        write(other, 1)
        dataset = other.put_tables(Manifest({}, {}))
        committed(place, temporary, 2)
        assert {mark_of(other.run_id), *dataset.manifest.paths} <= set(place.files())
        code, said, noted = clean(place.uri, "--temporary", temporary)
        assert (code, said) == (0, f"{place.uri}: there is nothing to remove\n")
        assert "1 runs may still be at work" in noted
        assert {mark_of(other.run_id), *dataset.manifest.paths} <= set(place.files())
        assert (temporary / f"kafkascope-{other.run_id}").is_dir()
        code, said, _ = clean(place.uri, "--temporary", temporary, "--force")
        assert (code, said.count("removed ")) == (0, 4)
    assert values(place) == [2]


def test_a_dataset_that_appears_meanwhile_is_not_replaced(place: Place, temporary: Path) -> None:
    committed(place, temporary, 1)
    with pytest.raises(UsageError, match="made by another run meanwhile"):
        NewDataset(Storage.of(place.uri), temporary, replaces=False).__enter__()
    assert (values(place), list(temporary.iterdir())) == ([1], [])


def test_a_run_replaces_the_dataset_that_it_began_with_and_no_other(place: Place, temporary: Path) -> None:
    committed(place, temporary, 1)
    with NewDataset(Storage.of(place.uri), temporary) as new:
        assert new.former is not None
        mine = new.former
        committed(place, temporary, 2)
        with pytest.raises(UsageError, match="changed by another run"):
            new.commit(mine)
    assert values(place) == [2]


def test_a_report_is_not_written_beside_another_dataset(place: Place, temporary: Path) -> None:
    committed(place, temporary, 1)
    mine = Dataset.open(place.uri)
    committed(place, temporary, 2)
    with pytest.raises(UsageError, match=r"report.json was not written"):
        mine.write_beside("report.json", b"{}")
    assert "report.json" not in place.files()


def test_counts_of_requests_stay_while_one_of_their_files_does(place: Place, temporary: Path) -> None:
    committed(place, temporary, 1)
    first = Dataset.open(place.uri)
    first.write_beside(COUNTS_FILE, b"counts")
    with NewDataset(Storage.of(place.uri), temporary) as new:
        new.commit(first)
    assert COUNTS_FILE in place.files()
    committed(place, temporary, 2)
    assert COUNTS_FILE not in place.files()


def race(uri: str, temporary: Path, value: int, results) -> None:
    try:
        with NewDataset(Storage.of(uri), temporary, replaces=False) as new:
            write(new, value)
            new.commit(new.put_tables(Manifest({}, {})))
        results.put(("committed", value))
    except UsageError as error:
        results.put((str(error), value))


@pytest.mark.parametrize("tries", [3, pytest.param(100, marks=pytest.mark.lab)])
def test_of_runs_that_create_one_dataset_at_the_same_time_one_wins(tries: int, tmp_path: Path) -> None:
    context, runs = multiprocessing.get_context("fork"), 4
    for attempt in range(tries):
        uri, results = str(tmp_path / f"{attempt}.kscope"), context.Queue()
        started = [context.Process(target=race, args=(uri, tmp_path, n, results)) for n in range(runs)]
        for process in started:
            process.start()
        ended = [results.get(timeout=60) for _ in started]
        for process in started:
            process.join()
        winners = [value for how, value in ended if how == "committed"]
        assert len(winners) == 1, ended
        assert all("another run" in how for how, _ in ended if how != "committed"), ended
        opened = Dataset.open(uri)
        table = pq.read_table(Path(uri) / opened.files("requests")[0], partitioning=None)
        assert table["a"].to_pylist() == winners
        there = {path.relative_to(uri).as_posix() for path in Path(uri).rglob("*") if path.is_file()}
        assert there == {"_dataset.json", *opened.manifest.paths}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("kafkascope-")]


@pytest.mark.slow
def test_of_runs_that_commit_to_a_store_at_the_same_time_one_wins(bucket, tmp_path: Path) -> None:
    uri = f"{bucket().uri}/x.kscope"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    started = [context.Process(target=race, args=(uri, tmp_path, n, results)) for n in range(3)]
    for process in started:
        process.start()
    ended = [results.get(timeout=60) for _ in started]
    for process in started:
        process.join()
    assert [how for how, _ in ended].count("committed") == 1, ended
    storage = Storage.of(uri)
    # A run that lost may fail to list its files while others change the place: then the next run removes them.
    remove_leftovers(storage, Dataset.open(uri).manifest, tmp_path)
    assert set(storage.listed("")) == {"_dataset.json", *Dataset.open(uri).manifest.paths}
