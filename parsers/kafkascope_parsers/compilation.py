"""Who hears that a kernel is compiled: that takes a second or more each, and happens where no earlier run has left its
code on disk. Imports nothing, so that a command may listen before numba is loaded.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compilation(listener: Callable[[], None]) -> Iterator[None]:
    """Calls the listener before each compilation during the block, also in processes that are forked meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report_compilation() -> None:
    """Tells the listeners that a kernel is compiled now."""
    for listener in _listeners:
        listener()
