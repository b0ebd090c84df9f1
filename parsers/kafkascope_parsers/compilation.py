"""Listeners for the compilation of kernels, which takes a second or more each and is needed if no earlier run has left
the code on disk. Imports nothing, so that a command may listen before numba is loaded.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compilation(listener: Callable[[], None]) -> Iterator[None]:
    """Calls the listener before each compilation during the block, also in processes that are forked in it."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report_compilation() -> None:
    """Calls the listeners because a kernel is compiled now."""
    for listener in _listeners:
        listener()
