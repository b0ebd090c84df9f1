"""Writes a new dataset, which readers see only when it is complete.

A run writes its mark at the place of the dataset, and then its files, under unique names. One write of the manifest at
the end makes them the dataset, and replaces the former one. A run that fails removes its files; one that is killed
leaves its mark, by which the next run or `kafkascope clean` recognises and removes them.

Of several runs at one place the first that commits wins: the others find another manifest than at their beginning, and
fail. Marks are written, manifests replaced and files removed by one run at a time (place_lock), and no run removes
files of another one that is still running.

Tables are written into a local folder: for a dataset on this machine that is the dataset's own, for any other one a
temporary folder, from which the files are put into the store.
"""

import shutil
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.leftovers import find_leftovers, remove_files
from kafkascope_analyzer.dataset.manifest import (
    COUNTS_FILE,
    MANIFEST,
    REPORT_FILE,
    VIEWS_FILE,
    Files,
    Manifest,
    joined_files,
    written_files,
)
from kafkascope_analyzer.dataset.manifest_reader import read_manifest
from kafkascope_analyzer.dataset.place_lock import CLAIM, exclusive
from kafkascope_analyzer.dataset.run_marks import RunMark, mark_of, runs_at_work
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.story_files import new_run_id
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.temporary_folders import OwnedFolder, temporary_root
from kafkascope_parsers.errors import UsageError

MOST_PUT = 4
"""Most files that are put into a store at the same time: each holds a part of some ten megabytes."""
_SPILL, _TABLES = "spill", "tables"
_NO_FILES: Files = MappingProxyType({})


def scratch_folder(run_id: str, temporary: Path | None) -> Path:
    """Returns the folder of a run's temporary files. temporary: the folder of --temporary; None is the system's."""
    return temporary_root(temporary) / f"kafkascope-{run_id}"


class NewDataset:
    """The dataset that one run writes: `with NewDataset(storage) as new: ...; new.commit(new.put_tables(manifest))`.

    folder: where tables are written; file_suffix: the end of the name of every file in it; spill: a local folder for
    files that only the run itself reads. replaces: whether an existing dataset may be replaced. Where the block ends
    without a commit, all files of the run are removed. Entering raises UsageError where the place or the temporary
    folder cannot be written, or there is a dataset that must not be replaced.
    """

    def __init__(self, storage: Storage, temporary: Path | None = None, *, replaces: bool = True) -> None:
        self.storage = storage
        self._replaces = replaces
        self.run_id = new_run_id()
        self._temporary = temporary
        self._scratch = scratch_folder(self.run_id, temporary)
        self.spill = self._scratch / _SPILL
        self.folder = Path(storage.path) if storage.is_local else self._scratch / _TABLES
        self.file_suffix = f"-{self.run_id}.parquet"
        self._mark = RunMark(storage, self.run_id)
        self._owned: OwnedFolder | None = None
        self._former: bytes | None = None
        self._wanted: bytes | None = None

    def __enter__(self) -> Self:
        place: object = self._scratch.parent
        try:
            self._owned = OwnedFolder.make(self._scratch)
            self.spill.mkdir()
            place = self.storage
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._discard()
            raise UsageError(f"{place}: cannot be written: {error.strerror or error}; {self._advice(place)}") from error
        try:
            with exclusive(self.storage, self.run_id):
                self._former = self._manifest_there()
                if self._former is not None and not self._replaces:
                    raise UsageError(f"{self.storage} was made by another run meanwhile: nothing was written")
                self._mark.put()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    @property
    def former(self) -> Dataset | None:
        """The dataset that existed when this run began; `commit` replaces only that one. None where there was none.
        Raises UsageError where it is damaged."""
        if self._former is None:
            return None
        return Dataset(self.storage, read_manifest(self._former, self.storage), self.run_id)

    def put_tables(self, manifest: Manifest, put_files: Files = _NO_FILES) -> Dataset:
        """Puts the tables that were written into `folder` to their place. manifest: the dataset's, without its files;
        put_files: files that are at their place already, because other machines have put them there.

        Returns the future dataset: it can be read, but others who open the place see it only after `commit`. Raises
        UsageError.
        """
        files = written_files(self.folder, f"*{self.file_suffix}")
        if not self.storage.is_local:
            paths = [file.path for listed in files.values() for file in listed]
            with ThreadPoolExecutor(MOST_PUT) as pool:
                list(pool.map(lambda path: self.storage.put(self.folder / path, path), paths))
            shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.spill, ignore_errors=True)
        return Dataset(self.storage, manifest.with_files(joined_files([files, put_files])), self.run_id)

    def commit(self, dataset: Dataset, *, keeps_report: bool = False) -> None:
        """Makes this the dataset of the place, in one write of the manifest; then removes the files that it does not
        list, and the former report and views, unless its rows are the same (keeps_report). Raises UsageError where
        another run has changed the place meanwhile, or it cannot be written.
        """
        with exclusive(self.storage, self.run_id):
            if not self._mark.is_there or self._manifest_there() != self._former:
                raise UsageError(f"{self.storage} was changed by another run meanwhile: nothing was written")
            self._wanted = dataset.manifest.to_json().encode()
            self.storage.write_bytes(MANIFEST, self._wanted, is_new=self._former is None)
            with suppress(UsageError):  # the dataset is whole: the next run, or `kafkascope clean`, removes the rest
                remove_files(self.storage, self._outdated(dataset, keeps_report=keeps_report))
                remove_leftovers(self.storage, dataset.manifest, self._temporary, [self.run_id])

    def _outdated(self, dataset: Dataset, *, keeps_report: bool) -> list[str]:
        """Returns the files beside the former tables that do not fit these tables. Counts of requests stay as long as
        the dataset has one of the files that were there."""
        keeps_counts = any(path.encode() in (self._former or b"") for path in dataset.files(REQUESTS.name))
        return ([] if keeps_report else [REPORT_FILE, VIEWS_FILE]) + ([] if keeps_counts else [COUNTS_FILE])

    def _manifest_there(self) -> bytes | None:
        """Returns the current manifest at the place; None where there is none."""
        with suppress(FileNotFoundError):
            return self.storage.read_bytes(MANIFEST)
        return None

    def _discard(self) -> None:
        """Removes the temporary folders and, without a commit, the files of this run."""
        for folder in scratch_folders([self.run_id], self._temporary):
            shutil.rmtree(folder, ignore_errors=True)
        try:
            with suppress(UsageError), exclusive(self.storage, self.run_id):  # else the next run removes what is left
                # An interruption may have come between the write of the manifest and the next line.
                is_committed = self._wanted is not None and self._manifest_there() == self._wanted
                there = self.storage.listed("")
                own = (path for path in there if self.run_id in path and not CLAIM.fullmatch(path))
                remove_files(self.storage, [mark_of(self.run_id)] if is_committed else own)
                if not runs_at_work(self.storage, there) - {self.run_id}:
                    self.storage.remove_empty_folders()
        finally:
            self._mark.release()
            if self._owned is not None:
                self._owned.remove()
                self._owned = None

    def _advice(self, place: object) -> str:
        return "-o names another place" if place is self.storage else "--temporary names another folder"


def remove_leftovers(
    storage: Storage,
    manifest: Manifest | None,
    temporary: Path | None,
    ended: Collection[str] = (),
    *,
    all_runs: bool = False,
) -> None:
    """Removes the files that unfinished runs have left at a place and in the temporary folder. ended, all_runs: as in
    find_leftovers. The caller must hold the lock of the place (place_lock.exclusive). Raises UsageError."""
    left = find_leftovers(storage, manifest, ended, all_runs=all_runs)
    remove_files(storage, left.files)
    for folder in scratch_folders(left.run_ids, temporary):
        shutil.rmtree(folder, ignore_errors=True)
    if not left.at_work:  # a running one may have made a folder for its next file
        storage.remove_empty_folders()


def scratch_folders(run_ids: Collection[str], temporary: Path | None) -> list[Path]:
    """Returns the existing temporary folders of these runs, and of their tasks on this machine."""
    own = (scratch_folder(run_id, temporary) for run_id in sorted(run_ids))
    return [folder for each in own for folder in sorted(each.parent.glob(f"{each.name}*")) if folder.is_dir()]
