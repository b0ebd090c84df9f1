"""`interruptible`: Ctrl-C and SIGTERM while DuckDB executes a query."""

from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = "Query interrupted"
"""DuckDB notices the signal itself and raises RuntimeError with this text in place of KeyboardInterrupt."""


@contextmanager
def interruptible() -> Iterator[None]:
    """The block executes queries of DuckDB. Raises KeyboardInterrupt where a signal interrupted one."""
    try:
        yield
    except RuntimeError as error:
        if INTERRUPTED in str(error):
            raise KeyboardInterrupt from error
        raise
