"""A task's own folder, and the transfer of its files to the dataset's storage.

Each file has a name that no other task or attempt uses, so that retried tasks, or tasks that run twice by speculation,
do no harm: the driver lists the files that the successful attempt reports.
"""

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.dataset.manifest import Files, written_files
from kafkascope_analyzer.dataset.new_dataset import MOST_PUT, scratch_folder
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.append import SavedScans
from kafkascope_analyzer.memory.limits import Limits
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.scan.record_detail import RecordDetail

TABLES, SPILL = "tables", "spill"
SPILLED_ROWS = "*.arrow"
"""Glob of the files of rows in a spill."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Facts about a run for all its tasks. storage: storage of the dataset; temporary: folder for temporary files, None
    for the system's; keeps_state: whether the state of the scans is saved for later captures; saved: saved scans that
    the run continues; key_logs: paths of TLS key logs, which each task reads itself."""

    storage: Storage
    run_id: str
    n_buckets: int
    detail: RecordDetail
    limits: Limits
    temporary: Path | None = None
    keeps_state: bool = False
    saved: SavedScans | None = None
    key_logs: tuple[CapturePlace, ...] = ()


@contextmanager
def task_folder(run: TaskRun) -> Iterator[Path]:
    """Makes the task's own folder on the executor's disk, which is removed at the end of the block."""
    if run.temporary is not None:
        run.temporary.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{scratch_folder(run.run_id, run.temporary).name}-", dir=run.temporary))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def attempt() -> str:
    """Returns the number of the task's attempt, which is unique in the application; `driver` outside of tasks."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return str(task.taskAttemptId()) if task is not None else "driver"


def move_tables(run: TaskRun, folder: Path) -> Files:
    """Moves the Parquet files of a local folder to the dataset's storage. Returns them with their new names."""
    files = written_files(folder)
    names = {file.path: _own_name(file.path) for listed in files.values() for file in listed}
    _hand_over(run.storage.move_here, run.storage, folder, names)
    return {table: tuple(replace(file, path=names[file.path]) for file in listed) for table, listed in files.items()}


def move_spill(run: TaskRun, folder: Path, buckets: Sequence[str], names: str) -> dict[str, str]:
    """Moves the files of a bucket's spills into the run's shared spill. buckets: names of its folders in the local
    folder; names: a glob. Returns the new path of each file, by its path in the local folder."""
    places = _places(run, folder, buckets, names)
    _hand_over(run.storage.move_here, run.storage, folder, places)
    return places


def copy_new(run: TaskRun, folder: Path, files: Collection[str]) -> dict[str, str]:
    """Copies files of a local folder of spills into the run's shared spill; the local files are kept. files, and the
    keys of the result: their paths in the folder."""
    places = {file: f"{_base(run)}/{file}" for file in files}
    _hand_over(run.storage.put, run.storage, folder, places)
    return places


def move_new(run: TaskRun, folder: Path, files: Collection[str]) -> dict[str, str]:
    """Moves files of a local folder of spills into the run's shared spill. Other arguments and result: see
    `copy_new`."""
    places = {file: f"{_base(run)}/{file}" for file in files}
    _hand_over(run.storage.move_here, run.storage, folder, places)
    return places


def _places(run: TaskRun, folder: Path, buckets: Sequence[str], names: str) -> dict[str, str]:
    """Returns the paths in the shared spill for the files of a bucket, by their paths in a local folder."""
    base = _base(run)
    found = (path.relative_to(folder).as_posix() for name in buckets for path in sorted((folder / name).glob(names)))
    return {relative: f"{base}/{relative}" for relative in found}


def _base(run: TaskRun) -> str:
    """Returns the folder in the dataset's storage for the files that the task spills."""
    return f"{spill_folder(run.run_id)}/{attempt()}"


def fetch(storage: Storage, files: Iterable[tuple[str, str]], folder: Path) -> None:
    """Makes files of the dataset's storage available in a local folder. files: pairs of path and local name. Nothing is
    copied if the storage is on this machine."""
    with ThreadPoolExecutor(MOST_PUT) as pool:
        list(pool.map(lambda file: _fetch(storage, file[0], folder / file[1]), files))


def _fetch(storage: Storage, place: str, local: Path) -> None:
    local.parent.mkdir(parents=True, exist_ok=True)
    if storage.is_local:
        local.symlink_to(Path(storage.path) / place)
        return
    with storage.open_file(place) as source, local.open("wb") as target:
        shutil.copyfileobj(source, target, 8 << 20)


def _hand_over(put: Callable[[Path, str], None], storage: Storage, folder: Path, places: Mapping[str, str]) -> None:
    """Moves or copies files of a local folder to their paths in the storage. put: called with a local file and its
    path."""
    if storage.is_local:
        for place in places.values():
            (Path(storage.path) / place).parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(MOST_PUT) as pool:
        list(pool.map(lambda name: put(folder / name, places[name]), places))


def _own_name(path: str) -> str:
    """Returns the path of a table's file with the attempt in its name."""
    return f"{path.removesuffix('.parquet')}-{attempt()}.parquet"
