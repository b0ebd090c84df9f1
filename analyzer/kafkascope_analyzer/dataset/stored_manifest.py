"""Reads the manifest of the dataset at a place; where there is none, the error says what is there instead."""

from pathlib import Path

from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest
from kafkascope_analyzer.dataset.manifest_reader import MOST_BYTES, read_manifest
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import DamagedDatasetError, UsageError


def stored_manifest(storage: Storage) -> Manifest:
    """Returns the manifest at a place. Raises UsageError where there is no dataset, or it cannot be read;
    DamagedDatasetError where its manifest is damaged."""
    storage.check_name()
    no_dataset = f"{storage} is not a kafkascope dataset"
    if storage.is_local and Path(storage.path).is_file():
        made = f"if it is a capture, `kafkascope analyze {storage}` makes a dataset of it"
        raise UsageError(f"{no_dataset}: it is a file; {made}")
    try:
        data = _manifest_bytes(storage)
    except FileNotFoundError:
        if storage.is_local and not Path(storage.path).exists():
            made = f"`kafkascope analyze CAPTURE -o {storage}` makes one"
            raise UsageError(f"{no_dataset}: there is nothing of that name; {made}") from None
        if not storage.is_local and not storage.has_folder():
            raise UsageError(f"{storage}: there is no such bucket") from None
        raise UsageError(f"{no_dataset}: it has no {MANIFEST}") from None
    return read_manifest(data, storage)


def _manifest_bytes(storage: Storage) -> bytes:
    """Returns the content of the manifest's file. Raises FileNotFoundError; DamagedDatasetError where it is not a file,
    or its disk fails; UsageError where a store cannot be read."""
    try:
        return storage.read_bytes(MANIFEST, MOST_BYTES + 1)
    except UsageError as error:
        if storage.is_local and isinstance(error.__cause__, OSError):
            raise DamagedDatasetError(str(error)) from error
        raise
