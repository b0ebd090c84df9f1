"""`InterruptibleCalls`: calls of DuckDB that Ctrl-C and SIGTERM stop at once.

DuckDB checks for signals in the calling thread, and then waits until its other threads have finished, which may take as
long as the query. So the call is made in another thread: the signal interrupts the thread that waits for it, which
calls DuckDB's interrupt, and that stops all threads of DuckDB.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import ParamSpec, TypeVar

import duckdb

P = ParamSpec("P")
T = TypeVar("T")
_WAIT_S = 0.02
"""Pause between two attempts to stop a call, seconds: DuckDB ignores the first where it has only planned the query."""


class InterruptibleCalls:
    """Makes the calls of one connection, one after the other."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kafkascope-sql")
        self._thread.submit(bool).result()  # a signal during its start would start a second one

    def run(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> T:
        """Returns the result of the call, or raises its error. An exception from a signal handler is raised after the
        call has stopped."""
        try:
            return self._thread.submit(call, *args, **options).result()
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """Ends the thread, and a call that is still running."""
        self._stop()
        self._thread.shutdown()

    def _stop(self) -> None:
        """Stops the call that the thread is running, if any, and waits for its end."""
        is_idle = self._thread.submit(bool)
        while not wait([is_idle], _WAIT_S).done:
            self._connection.interrupt()
