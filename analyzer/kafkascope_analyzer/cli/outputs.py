"""Where a dataset goes: its name, what may be replaced, and that nothing half-written stays.

A run writes beside the dataset and renames at its end, so an existing one is lost only when the new one is whole. What
is not a kafkascope dataset is never removed.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from kafkascope_parsers.errors import UsageError

SUFFIX = ".kscope"
_CAPTURE_SUFFIXES = (".gz", ".zst", ".lz4", ".xz", ".bz2", ".pcap", ".pcapng", ".cap", ".dmp")


def default_out(first_input: str) -> Path:
    """The first input's name with .kscope, in the current directory: a/b.pcap.zst gives b.kscope, `-` stdin.kscope."""
    name = "stdin" if first_input == "-" else Path(first_input).resolve().name
    while (suffix := Path(name).suffix.lower()) in _CAPTURE_SUFFIXES and suffix:
        name = name[: -len(suffix)]
    return Path((name.strip("*?[]") or "capture") + SUFFIX)


def check_out(out: Path, *, overwrite: bool) -> None:
    """Raises UsageError where the dataset must not be written there."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out}: is there and is not a directory; give another name with -o")
    if not out.exists():
        if not out.absolute().parent.is_dir():
            raise UsageError(f"{out}: the directory it should go into is not there")
        return
    from kafkascope_analyzer.dataset.dataset import is_dataset

    if not is_dataset(out) and any(out.iterdir()):
        raise UsageError(f"{out}: is there and is not a kafkascope dataset; give another name with -o")
    if not overwrite:
        raise UsageError(f"{out}: is there already; --overwrite replaces it, -o gives another name")


@contextmanager
def _put_aside(place: Path) -> Iterator[Path]:
    """Renames what is there, and back where the block fails; gives its new place."""
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    done = False
    try:
        yield old
        done = True
    finally:
        if not done:
            shutil.rmtree(place, ignore_errors=True)
            if old.exists():
                old.rename(place)


class Staged:
    """The place to write to, which becomes OUT at the end of the block: `with Staged(out, overwrite=False) as staged:
    write(staged.work)`.

    After an error or Ctrl-C it is removed. After `keep()` an error (not Ctrl-C) still leaves the tables, without
    stories. Raises UsageError as check_out does.
    """

    def __init__(self, out: Path, *, overwrite: bool) -> None:
        check_out(out, overwrite=overwrite)
        self.work = out.with_name(f".{out.name}.new")
        self._out, self._overwrite, self._kept = out, overwrite, False
        self._removal: threading.Thread | None = None

    def keep(self) -> None:
        """Says that the tables are whole: from here on only an interruption throws them away."""
        self._kept = True

    def __enter__(self) -> "Staged":
        _remove_leftovers(self.work)
        try:  # the captures may take hours to read: it is found out now whether the dataset can be written
            self.work.mkdir()
            self.work.rmdir()
        except OSError as error:
            raise UsageError(
                f"{self._out}: cannot be written: {error.strerror or error}; -o names another place"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or (self._kept and issubclass(kind, Exception)):
                if kind is not None:
                    from kafkascope_analyzer.dataset.dataset import Dataset

                    Dataset.open(self.work).remove_unlisted_stories()
                self._publish()
        finally:
            _remove_leftovers(self.work)

    def _publish(self) -> None:
        if not self._out.exists():
            self.work.rename(self._out)
            return
        check_out(self._out, overwrite=self._overwrite)
        with _put_aside(self._out) as old:
            self.work.rename(self._out)
        self._removal = threading.Thread(target=shutil.rmtree, args=(old,), kwargs={"ignore_errors": True})
        self._removal.start()

    def settle(self) -> None:
        """Waits until the dataset that was replaced is gone: results can be shown meanwhile."""
        if self._removal is not None:
            self._removal.join()


def _remove_leftovers(work: Path) -> None:
    """Removes what a run left: these names, with a dot and .new, are only ever ours."""
    for place in (work, work.with_name(work.name + ".partial")):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
