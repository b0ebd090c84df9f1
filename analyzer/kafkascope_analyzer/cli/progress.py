"""Progress on standard error, only on a terminal: a bar for work that takes longer than two seconds, and a spinner."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status

BAR_DELAY_S = 2.0
MAKING_REPORT = "making the report"


class Bar:
    """A bar that appears once the work has taken BAR_DELAY_S; `at(done, total)` moves it."""

    def __init__(self, label: str, *, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._label, self._shown, self._clock = label, shown, clock
        self._started_s = clock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._spinner: Status | None = None

    def at(self, done: int, total: int) -> None:
        """Shows that `done` of `total` bytes are done."""
        is_early = self._progress is None and self._clock() - self._started_s < BAR_DELAY_S
        if not self._shown or self._spinner is not None or is_early:
            return
        if self._progress is None:
            self._progress = _progress()
            self._task = self._progress.add_task(self._label, total=total or None)
            self._progress.start()
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total or None)

    def name_stage(self, label: str) -> None:
        """Replaces the bar by a spinner with a label for the current work, whose duration is unknown."""
        if not self._shown or self._spinner is not None:
            return
        from rich.console import Console

        self.close()
        self._spinner = Console(stderr=True).status(label)
        self._spinner.start()

    def close(self) -> None:
        """Removes what is shown."""
        if self._progress is not None:
            self._progress.stop()
        if self._spinner is not None:
            self._spinner.stop()


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def bar(label: str, *, quiet: bool) -> Iterator[Bar]:
    """Shows a bar during the block, unless standard error is not a terminal or the user asked for quiet."""
    shown = Bar(label, shown=not quiet and sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def waiting(label: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows a spinner during the block, for work whose progress is unknown; under the same conditions as `bar`. Yields
    a function that names the next stage of the work.
    """
    if quiet or not sys.stderr.isatty():
        yield _nowhere
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status:
        yield status.update


def _nowhere(label: str) -> None:
    """Does nothing, where no stage is shown."""
