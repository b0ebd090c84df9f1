"""`--append`: captures that extend a dataset.

A run with `--append` saves the open state of its scans with the dataset: connections, incomplete frames, requests
without a response, and the spilled rows. The next run continues from there: only the new captures are read, and the
second pass runs over all spilled rows, because facts from later captures (the node behind an address, a topic's name)
may concern earlier rows. The result is the same as that of one ingest of all captures.

All captures are read again where that is not possible: one of the new ones begins before a known one, or is a known one
that has grown, or the dataset has no state of this version (tool_version).
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO

import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.leftovers import Content, content_of
from kafkascope_analyzer.dataset.manifest import MESSAGES, SAVED_SCAN_FOLDER, DatasetFile, Manifest
from kafkascope_analyzer.dataset.new_dataset import MOST_PUT, NewDataset
from kafkascope_analyzer.dataset.parquet_files import RESTORE
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.tool_version import tool_version
from kafkascope_analyzer.read.open_reading import Inputs
from kafkascope_analyzer.read.place import CapturePlace, place_of
from kafkascope_analyzer.read.reading import ReadSoFar, ToRead
from kafkascope_analyzer.read.series import first_packet, in_time_order
from kafkascope_analyzer.read.source import digest_of
from kafkascope_analyzer.resolve.flow.checkpoint import SAVED_FLOW
from kafkascope_analyzer.resolve.servers.add_up import SAVED_SERVERS
from kafkascope_analyzer.resolve.tables.finished_files import OPEN_PART, EarlierFiles
from kafkascope_analyzer.resolve.tables.kept_partitions import SAVED_PARTITIONS
from kafkascope_analyzer.resolve.tables.request_sums import SAVED_SUMS
from kafkascope_analyzer.scan.saved_state import load_state, save_state
from kafkascope_analyzer.scan.spill import settled_files
from kafkascope_analyzer.workers.worker import SAVED_SCAN
from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, UsageError

_SAVED_READING = "reading.state"
"""The name of the file of the reading's state, beside the folders of the scans."""


@dataclass(frozen=True, slots=True)
class SavedScans:
    """The saved scans of a dataset: its place, and the files, relative to it, with their checksums. Fetching raises
    DamagedDatasetError, UsageError."""

    storage: Storage
    files: Mapping[str, int]

    def fetch(self, spill: Path, bucket: int | None = None) -> None:
        """Fetches the files of a bucket (None: of all) into a folder of spills, under the names that they had there."""
        chosen = [file for file in self.files if (of := _bucket_of(file)) is not None and bucket in (None, of)]
        with ThreadPoolExecutor(MOST_PUT) as pool:
            list(pool.map(lambda file: self._fetch(file, spill), chosen))

    def fetch_reading(self, spill: Path) -> ReadSoFar:
        """Fetches the files that belong to no bucket: the counts of flow, the sums of servers, and the state of the
        reading, which is loaded."""
        for file in self.files:
            if _bucket_of(file) is None:
                self._fetch(file, spill)
        read_so_far: ReadSoFar = load_state(spill / _SAVED_READING)
        return read_so_far

    def settled(self) -> dict[str, str]:
        """The files that no later run changes, by their paths in the folder of spills after unpacking."""
        return {_place_of(file): file for file in self.files if file.endswith(".arrow.zst")}

    def _fetch(self, file: str, spill: Path) -> None:
        place = spill / _place_of(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.storage.open_file(file) as opened, self.storage.failures(file), place.open("wb") as target:
                source = _Checked(opened)
                zstandard.ZstdDecompressor().copy_stream(source, target)
            if source.crc32 != self.files[file]:
                raise UsageError("it is not what was written")
        except (UsageError, zstandard.ZstdError) as error:
            if not self.storage.is_local and error.__cause__ is not None:
                raise
            raise DamagedDatasetError(f"{self.storage.uri_of(file)}: the file is damaged or gone; {RESTORE}") from error


@dataclass(slots=True)
class _Checked:
    """A file that is read or written from beginning to end, and the checksum of the bytes so far."""

    file: BinaryIO
    crc32: int = 0

    def read(self, size: int) -> bytes:
        """Reads the next bytes."""
        part = self.file.read(size)
        self.crc32 = zlib.crc32(part, self.crc32)
        return part

    def write(self, part: bytes) -> int:
        """Writes the next bytes."""
        self.crc32 = zlib.crc32(part, self.crc32)
        return self.file.write(part)


def _place_of(file: str) -> str:
    """Returns the path in the folder of spills to which a saved file is unpacked: `0/requests.0.arrow`."""
    folder, slash, name = file.removeprefix(f"{SAVED_SCAN_FOLDER}/").rpartition("/")
    return f"{folder}{slash}{name.partition('-')[2].removesuffix('.zst')}"


def _bucket_of(file: str) -> int | None:
    """Returns the bucket whose scan a file belongs to; None for a file of all buckets."""
    folder = file.removeprefix(f"{SAVED_SCAN_FOLDER}/").rpartition("/")[0]
    return int(folder.partition("-")[0]) if folder else None


@dataclass(frozen=True, slots=True)
class Plan:
    """The inputs of a run, and what it takes over from the existing dataset.

    n_buckets, saved: the saved scans from which it continues, None where it begins anew; earlier: files of tables that
    may stay unchanged, None where captures are not appended; saved_reads: results of the stories about such files.
    """

    to_read: Inputs
    n_buckets: int | None = None
    earlier: EarlierFiles | None = None
    saved: SavedScans | None = None
    saved_reads: tuple[DatasetFile, ...] = ()


def former_dataset(storage: Storage) -> Dataset | None:
    """Returns the dataset at a place; None where there is none. Raises UsageError where it is damaged."""
    return Dataset.open(str(storage)) if content_of(storage) is Content.DATASET else None


def new_captures(inputs: Iterable[CapturePlace], former: Dataset) -> list[CapturePlace]:
    """Returns the captures that the dataset does not have yet, by the size and the first and last MiB of the files.
    Raises CaptureError, and UsageError for a pipe."""
    known = {(entry.get("size_bytes"), entry.get("sha256_first_and_last_mib")) for entry in former.manifest.inputs}
    return [place for place in inputs if _identity(place) not in known]


def _identity(place: CapturePlace) -> tuple[int, str | None]:
    if place.is_stream:
        raise UsageError(f"{place}: a pipe cannot be appended, because it is unknown whether it was read before")
    return place.size_bytes(), digest_of(place)


def plan_append(places: Sequence[CapturePlace], new: NewDataset, options: IngestOptions) -> Plan:
    """Plans a run with `--append`. Fetches the state of the reading into the run's spill where the run continues from
    it. Raises CaptureError, and UsageError where the dataset was made with other options or a capture of it is missing.
    """
    former = new.former
    if former is None:
        for place in places:
            _identity(place)
        return _anew(new, places)
    had, wanted = former.manifest.options.get("records"), options.detail.name.lower()
    if had != wanted:
        raise UsageError(f"{former} was made with records: {had}, and not {wanted}: append with the same options")
    ordered = in_time_order(places)
    if not _goes_on(former.manifest, ordered):
        return _anew(new, _all_captures(former, ordered))
    saved = SavedScans(former.storage, former.manifest.saved_scan)
    to_read = ToRead(ordered, saved.fetch_reading(new.spill))
    earlier, saved_reads = _earlier_files(former), former.manifest.saved_reads
    return Plan(to_read, int(former.manifest.options["buckets"]), earlier, saved, saved_reads)


def _anew(new: NewDataset, places: Sequence[CapturePlace]) -> Plan:
    """Returns the plan of a run that reads all captures, to which later ones may be appended."""
    return Plan(ToRead(in_time_order(places)), earlier=EarlierFiles(new.storage, {}))


def _goes_on(manifest: Manifest, places: Sequence[CapturePlace]) -> bool:
    """Whether these captures follow those of a dataset that has a state of this version."""
    if not manifest.saved_scan or manifest.tool_version != tool_version():
        return False
    begun = [entry["first_ns"] for entry in manifest.inputs if entry.get("first_ns") is not None]
    paths = {entry.get("path") for entry in manifest.inputs}
    starts = [first_packet(place)[0] for place in places]
    return all(str(place) not in paths for place in places) and min(starts, default=0) >= max(begun, default=0)


def _all_captures(former: Dataset, places: Sequence[CapturePlace]) -> list[CapturePlace]:
    """Returns the captures of a dataset and the new ones; one that has grown replaces its former version."""
    given = {str(place) for place in places}
    known = [place_of(entry["path"]) for entry in former.manifest.inputs if entry["path"] not in given]
    for place in known:
        try:
            with place.open():
                pass
        except (OSError, CaptureError) as error:
            raise UsageError(
                f"{former}: these captures cannot be put behind those that it holds, so all of them have to be read "
                f"again, and {place} cannot be opened any more: ingest all that are left into another dataset"
            ) from error
    return [*known, *places]


def _earlier_files(former: Dataset) -> EarlierFiles:
    """Returns the files of messages that no later capture changes, and those of tables with made_of."""
    files = {
        table: tuple(file for file in listed if file.made_of or _is_settled_message(table, file.path))
        for table, listed in former.manifest.files.items()
    }
    return EarlierFiles(former.storage, files)


def _is_settled_message(table: str, path: str) -> bool:
    return table.startswith(f"{MESSAGES}/") and f"/{OPEN_PART}" not in path


def put_saved_scan(new: NewDataset, plan: Plan) -> Mapping[str, int]:
    """Puts the saved scans of a run to its dataset; files of earlier runs that no later one changes stay there. Returns
    the files, relative to the dataset, with their checksums. Raises UsageError."""
    assert isinstance(plan.to_read, ToRead)  # capture points cannot be appended
    save_state(new.spill / _SAVED_READING, plan.to_read.before)
    earlier = {} if plan.saved is None else plan.saved.settled()
    of_all = [new.spill / name for name in (_SAVED_READING, SAVED_FLOW, SAVED_SERVERS)]
    files = {"": [file for file in of_all if file.exists()]}
    for state in sorted(new.spill.glob(f"*/{SAVED_SCAN}")):
        sums = [state.with_name(name) for name in (SAVED_SUMS, SAVED_PARTITIONS)]
        states = [state, *(file for file in sums if file.exists())]
        files[f"{state.parent.name}/"] = [*states, *settled_files(state.parent)]

    def put(folder: str, file: Path) -> tuple[str, int]:
        known = earlier.get(f"{folder}{file.name}")
        if plan.saved is not None and known is not None:
            return known, plan.saved.files[known]
        packed = file.with_name(f"{file.name}.zst")
        packed.touch(mode=S_IMODE(file.stat().st_mode))  # only its owner may read a state
        with file.open("rb") as source, packed.open("wb") as opened:
            target = _Checked(opened)
            zstandard.ZstdCompressor().copy_stream(source, target)
        path = f"{SAVED_SCAN_FOLDER}/{folder}{new.run_id}-{packed.name}"
        new.storage.move_here(packed, path)
        packed.unlink(missing_ok=True)
        return path, target.crc32

    for folder in files if new.storage.is_local else ():
        (new.folder / SAVED_SCAN_FOLDER / folder).mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(MOST_PUT) as pool:
        chosen = [(folder, file) for folder, listed in files.items() for file in listed]
        return dict(sorted(pool.map(lambda one: put(*one), chosen)))
