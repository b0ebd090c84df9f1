"""Tasks between the passes: what is learned of many connections is reduced where their spills are, and not in the one
process that learns of the cluster.

A task reads some spilled tables and spills others. An engine (workers.engine) runs tasks side by side: in this process,
in the processes that have scanned the buckets, or in tasks of Spark, which get only the files of the tables that a task
reads.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol


class SpillTask(Protocol):
    """A piece of work over spills, which can be passed to another process."""

    def reads(self) -> list[tuple[str, str]]:
        """Returns the spilled tables that the task reads: the name of the spill's folder, and that of the table."""
        ...

    def __call__(self, folder: Path) -> Any:
        """Does the work. folder: the folder that has the folders of the spills, to which further tables may be spilled
        and whose tables may be removed. Returns what has been found."""
        ...


RunTasks = Callable[[Sequence[SpillTask]], list[Any]]
"""Runs tasks that do not depend on each other. Returns what each has found."""
