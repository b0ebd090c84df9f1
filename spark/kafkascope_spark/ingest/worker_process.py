"""How a Python worker of Spark is set up for the tasks of ingest."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_GC_OBJECTS = 500_000
"""New objects before a collection of the youngest generation: rows live in Arrow and numpy, which the collector does
not traverse, and loading the kernels creates half a million objects and no garbage."""
_settled: list[bool] = []
"""Not empty when this process has done a task."""


@contextmanager
def task_at_work() -> Iterator[None]:
    """A task runs inside the block.

    Spark's daemon collects garbage after each task, 0.3 s for the modules and kernels of an ingest task. So what is
    alive after the first task of a process is frozen: later collections pass over it.
    """
    gc.set_threshold(_GC_OBJECTS)
    yield
    if not _settled:
        _settled.append(True)
        gc.collect()
        gc.freeze()
