"""`InterruptibleCalls`: calls of DuckDB that Ctrl-C and SIGTERM stop at once.

DuckDB looks for signals itself in the thread that asks, and then waits until its other threads have done their part,
which may take as long as the query. So another thread asks: the signal interrupts the one that waits for it, which
tells DuckDB to stop, and all threads of DuckDB heed that.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import ParamSpec, TypeVar

import duckdb

P = ParamSpec("P")
T = TypeVar("T")
_WAIT_S = 0.02
"""Between two tries to stop a call: DuckDB forgets the first where it has only planned the query by then."""


class InterruptibleCalls:
    """Makes the calls of one connection, one after the other."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kafkascope-sql")
        self._thread.submit(bool).result()  # a signal while the thread starts would have a second one started

    def run(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> T:
        """What the call returns or raises. What a signal raises meanwhile is raised when the call has stopped."""
        try:
            return self._thread.submit(call, *args, **options).result()
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """Ends the thread, and a call that it still makes."""
        self._stop()
        self._thread.shutdown()

    def _stop(self) -> None:
        """Stops the call that the thread makes, if it makes one: it comes to the next thing when that has ended."""
        is_idle = self._thread.submit(bool)
        while not wait([is_idle], _WAIT_S).done:
            self._connection.interrupt()
