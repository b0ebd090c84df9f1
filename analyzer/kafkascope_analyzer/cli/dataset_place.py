"""The place of a new dataset: its name, and what may be replaced. A folder that is not a kafkascope dataset is never
touched."""

from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.storage import Storage

_CAPTURE_SUFFIXES = (".gz", ".zst", ".lz4", ".xz", ".bz2", ".pcap", ".pcapng", ".cap", ".dmp")


def default_out(first_input: str) -> str:
    """Returns the first input's name with .kscope, in the current directory: b.kscope for a/b.pcap.zst, stdin.kscope
    for `-`."""
    from kafkascope_analyzer.dataset.dataset_uri import SUFFIX
    from kafkascope_analyzer.dataset.storage import is_text, is_uri

    if is_uri(first_input):
        name = first_input.partition("?")[0].rstrip("/").rpartition("/")[2]
    else:
        name = "stdin" if first_input == "-" else Path(first_input).resolve().name
    while (suffix := Path(name).suffix.lower()) in _CAPTURE_SUFFIXES and suffix:
        name = name[: -len(suffix)]
    text = "".join(character if is_text(character) else "_" for character in name)
    return (text.strip("*?[]") or "capture") + SUFFIX


def checked_out(out: str, *, overwrite: bool, append: bool = False) -> "Storage":
    """Returns the place for a dataset. append: whether an existing one is extended. Raises UsageError where the dataset
    must not be written there."""
    from kafkascope_analyzer.dataset.leftovers import Content, content_of
    from kafkascope_analyzer.dataset.storage import WEB_SCHEMES, Storage, scheme_of

    if scheme_of(out) in WEB_SCHEMES:
        raise UsageError(f"{out}: a web server is only read from; give another place with -o")
    place = Storage.of(out)
    place.check_name()
    if place.is_local:
        _check_folder(place)
    elif not place.has_folder():
        raise UsageError(f"{place}: there is no such bucket")
    content = content_of(place)
    if content is Content.OTHER:
        raise UsageError(f"{place}: is there and is not a kafkascope dataset; give another name with -o")
    if content is Content.DATASET and not (overwrite or append):
        raise UsageError(
            f"{place}: is there already; --overwrite replaces it, --append adds captures to it, -o gives another name"
        )
    return place


def _check_folder(place: "Storage") -> None:
    out = Path(place.path)
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{place}: is there and is not a directory; give another name with -o")
    if not out.exists() and not out.parent.is_dir():
        raise UsageError(f"{place}: the directory it should go into is not there")
