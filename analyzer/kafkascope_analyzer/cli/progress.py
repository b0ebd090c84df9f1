"""The progress bar: on standard error, only on a terminal, only for what takes longer than two seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 2.0


class Bar:
    """A bar that appears once the work has taken PATIENCE_S; `at(done, total)` moves it."""

    def __init__(self, what: str, *, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._shown, self._clock = what, shown, clock
        self._begun = clock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def at(self, done: int, total: int) -> None:
        """Says how many bytes of how many are done."""
        if not self._shown or (self._progress is None and self._clock() - self._begun < PATIENCE_S):
            return
        if self._progress is None:
            self._progress = _progress()
            self._task = self._progress.add_task(self._what, total=total or None)
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total or None)

    def close(self) -> None:
        """Takes the bar away."""
        if self._progress is not None:
            self._progress.stop()


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Bar]:
    """A bar for the length of the block; none where standard error is no terminal or the user wants quiet."""
    shown = Bar(what, shown=not quiet and sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def waiting(what: str, *, quiet: bool) -> Iterator[None]:
    """A spinner for work that cannot say how far it is; the same rules."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(sentence: str, *, quiet: bool) -> None:
    """A sentence on standard error that is not an error."""
    if not quiet:
        print(sentence, file=sys.stderr)
