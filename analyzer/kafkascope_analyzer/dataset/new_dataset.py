"""Writes a new dataset, which readers see when all of it is there.

A run puts its mark at the place of the dataset, and then its files, under names that no other run gives. One write of
the manifest at the end makes them the dataset, and replaces the one that was there. A run that fails removes its
files; one that is killed leaves its mark, by which the next run or `kafkascope clean` recognises and removes them.

Tables are written into a local folder: for a dataset on this machine that is the dataset's own, for any other one a
temporary folder, from which the files are put into the store.
"""

import json
import shutil
import tempfile
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from kafkascope_analyzer.dataset.dataset import Dataset, new_run_id
from kafkascope_analyzer.dataset.leftovers import find_leftovers, mark_of, remove_files
from kafkascope_analyzer.dataset.manifest import MANIFEST, REPORT_FILE, Files, Manifest, joined_files, written_files
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import UsageError

MOST_PUT = 4
"""Files that are put into a store at the same time: each holds a part of some ten megabytes."""
_SPILL, _TABLES = "spill", "tables"
_NO_FILES: Files = MappingProxyType({})


def scratch_folder(run_id: str, temporary: Path | None) -> Path:
    """Where a run keeps its temporary files. temporary: the folder of --temporary; None is the system's."""
    return (temporary or Path(tempfile.gettempdir())) / f"kafkascope-{run_id}"


class NewDataset:
    """The dataset that one run writes: `with NewDataset(storage) as new: ...; new.commit(new.put_tables(manifest))`.

    folder: where tables are written; file_suffix: the end of the name of every file in it; spill: a local folder for
    what the run itself reads again. Where the block ends without a commit, nothing of the run stays. Entering raises
    UsageError where the place or the temporary folder cannot be written.
    """

    def __init__(self, storage: Storage, temporary: Path | None = None) -> None:
        self.storage = storage
        self.run_id = new_run_id()
        self._temporary = temporary
        self._scratch = scratch_folder(self.run_id, temporary)
        self.spill = self._scratch / _SPILL
        self.folder = Path(storage.path) if storage.is_local else self._scratch / _TABLES
        self.file_suffix = f"-{self.run_id}.parquet"
        self._former: bytes | None = None
        self._wanted: bytes | None = None

    def __enter__(self) -> Self:
        place: object = self._scratch.parent
        try:
            self._scratch.mkdir(mode=0o700, parents=True)  # what it will hold is nobody else's to read
            self.spill.mkdir()
            place = self.storage
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._discard()
            raise UsageError(f"{place}: cannot be written: {error.strerror or error}; {self._advice(place)}") from error
        try:
            self._former = self._manifest_there()
            self.storage.write_bytes(mark_of(self.run_id), json.dumps({"run": self.run_id}).encode())
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def put_tables(self, manifest: Manifest, put_files: Files = _NO_FILES) -> Dataset:
        """Puts the tables that were written into `folder` to their place. manifest: of the dataset, without its files;
        put_files: those that are at their place already, because other machines have put them there.

        Returns the dataset as it will be: it can be read, but nobody who opens the place sees it before `commit`.
        Raises UsageError.
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
        list, and the report that was there, unless its rows are the same (keeps_report). Raises UsageError where
        another run has changed the place meanwhile, or it cannot be written.
        """
        is_marked = self.storage.file_info(mark_of(self.run_id)).is_file
        if not is_marked or self._manifest_there() != self._former:
            raise UsageError(f"{self.storage} was changed by another run meanwhile: nothing was written")
        self._wanted = dataset.manifest.to_json().encode()
        self.storage.write_bytes(MANIFEST, self._wanted)
        with suppress(UsageError):  # the dataset is whole: the next run, or `kafkascope clean`, removes the rest
            if not keeps_report:
                self.storage.remove(REPORT_FILE)
            remove_leftovers(self.storage, dataset.manifest, self._temporary)

    def _manifest_there(self) -> bytes | None:
        """The manifest as it is at the place now; None where there is none."""
        with suppress(FileNotFoundError):
            return self.storage.read_bytes(MANIFEST)
        return None

    def _discard(self) -> None:
        """Removes the temporary folders and, without a commit, the files of this run."""
        for folder in scratch_folders([self.run_id], self._temporary):
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(UsageError):  # a store that cannot be reached: what it keeps is removed by the next run
            # An interruption may have come between the write of the manifest and the next line.
            if self._wanted is not None and self._manifest_there() == self._wanted:
                return
            files = (path for path in self.storage.listed("") if self.run_id in path)
            remove_files(self.storage, files)
            self.storage.remove_empty_folders()

    def _advice(self, place: object) -> str:
        return "-o names another place" if place is self.storage else "--temporary names another folder"


def remove_leftovers(storage: Storage, manifest: Manifest | None, temporary: Path | None) -> None:
    """Removes what runs that did not end have left at a place and in the temporary folder. Raises UsageError."""
    left = find_leftovers(storage, manifest)
    remove_files(storage, left.files)
    for folder in scratch_folders(left.run_ids, temporary):
        shutil.rmtree(folder, ignore_errors=True)
    if manifest is None:
        storage.remove_empty_folders()


def scratch_folders(run_ids: Collection[str], temporary: Path | None) -> list[Path]:
    """The temporary folders of these runs that are there: their own, and those of their tasks on this machine."""
    own = (scratch_folder(run_id, temporary) for run_id in sorted(run_ids))
    return [folder for each in own for folder in sorted(each.parent.glob(f"{each.name}*")) if folder.is_dir()]
