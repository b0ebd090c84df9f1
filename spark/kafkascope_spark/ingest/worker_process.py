"""Sets up a Python worker of Spark for the tasks of ingest."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_GC_OBJECTS = 500_000
"""New objects before a garbage collection of the youngest generation: rows are in Arrow and numpy, which the collector
does not traverse, and loading the kernels creates half a million objects and no garbage."""
_settled: list[bool] = []
"""Not empty if this process has completed a task."""


@contextmanager
def task_at_work() -> Iterator[None]:
    """Runs a task in the block.

    Spark's daemon collects garbage after each task, which takes 0.3 s for the modules and kernels of an ingest task. So
    all objects after the first task of a process are frozen: later collections skip them.
    """
    gc.set_threshold(_GC_OBJECTS)
    yield
    if not _settled:
        _settled.append(True)
        gc.collect()
        gc.freeze()
