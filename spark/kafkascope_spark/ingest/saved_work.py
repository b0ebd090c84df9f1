"""What the driver passes to the tasks of a run in files, because it may be large: facts that were learned, and pieces
of work. The files are unpickled, so they must be those that the driver wrote."""

import hashlib
import pickle
from dataclasses import dataclass

from kafkascope_parsers.errors import UsageError
from kafkascope_spark.ingest.task_files import TaskRun


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file in the dataset's storage, and its SHA-256."""

    place: str
    sha256: str


def save_file(run: TaskRun, content: object, place: str) -> SavedFile:
    """Writes an object to the dataset's storage, for the tasks of this run."""
    data = pickle.dumps(content)
    run.storage.write_bytes(place, data)
    return SavedFile(place, hashlib.sha256(data).hexdigest())


def load_file(run: TaskRun, file: SavedFile) -> bytes:
    """Returns the pickle of the object. Raises UsageError if the file is not the one that the driver wrote."""
    data = run.storage.read_bytes(file.place)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise UsageError(f"{run.storage.uri_of(file.place)} was changed while the run was at work")
    return data
