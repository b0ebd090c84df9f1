"""Recognises the places of datasets, by their names and contents. Imports little: commands use it before they know what
they will read."""

from pathlib import Path

from kafkascope_analyzer.dataset.storage import WEB_SCHEMES, Storage, is_uri, scheme_of

MANIFEST = "_dataset.json"
"""The file that makes a folder a dataset."""
SUFFIX = ".kscope"
"""The end of a dataset's name."""


def is_dataset(place: str | Path) -> bool:
    """Whether a place has a manifest. A URI that ends with .kscope counts as a dataset, and any other https URL as a
    capture, without looking. Raises UsageError where a store cannot be read.
    """
    if is_uri(place) and str(place).rstrip("/").endswith(SUFFIX):
        return True
    if scheme_of(place) in WEB_SCHEMES:
        return False
    storage = Storage.of(place)
    if storage.is_local:
        return (Path(storage.path) / MANIFEST).is_file()
    return bool(storage.file_info(MANIFEST).is_file)
