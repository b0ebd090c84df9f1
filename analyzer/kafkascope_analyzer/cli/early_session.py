"""Opens the embedded Spark session of `analyze` while the captures are read.

Processes are forked for large captures, and a process must not be forked while other threads run: a lock that another
thread holds at that moment, as that of a module being imported, is never released in the child. So the session is
opened in two steps. The JVM is launched at once: that starts a process and no thread, and takes longest. The connection
to it (py4j, which starts threads) is opened in a thread only when no fork can follow: at once where one process reads
the captures, else after the first block, which is pushed to processes that have been forked by then.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kafkascope_parsers.errors import SparkError

if TYPE_CHECKING:
    from kafkascope_analyzer.read.place import CapturePlace
    from kafkascope_spark.session import SessionSize

_IMPORTS = threading.Lock()
"""Held while modules of pyspark are imported. They import each other in a circle: when two threads begin at different
modules of the circle at the same time, one finds a module that is not complete, and fails."""


@contextmanager
def early_session(inputs: "list[CapturePlace]", jobs: int | None, *, wanted: bool) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each block that was read. The session is open, or has failed, when the `with`
    block ends.

    jobs: as in `analyze --jobs`; wanted: False where no embedded session will be used. Nothing is opened where this
    process has a session already: the stories use it. A failure is not reported: the stories open the session again and
    report it. When the `with` block raises, the JVM is stopped.
    """
    if not wanted or is_session_open():
        yield _nothing
        return
    with _IMPORTS:
        from kafkascope_spark.session import launch_early, size_for_input

    n_bytes = input_bytes(inputs)
    size = size_for_input(n_bytes)
    jvm = None
    with suppress(SparkError):  # the stories report it
        jvm = launch_early(size)
    opening = threading.Thread(target=_open_session, args=(size,), name="spark-start", daemon=True)

    def start() -> None:
        if opening.ident is None:
            opening.start()

    if is_read_by_one_process(n_bytes, jobs):
        start()
    try:
        yield start
    except BaseException:
        if jvm is not None:
            jvm.stop()
        raise
    start()
    with _IMPORTS:
        import kafkascope_spark.story_job  # noqa: F401 - the stories need it next, and this thread has nothing to do

    opening.join()


def is_session_open() -> bool:
    """Whether this process has a Spark session."""
    with _IMPORTS:
        from kafkascope_spark.session import active_session

    return active_session() is not None


def input_bytes(inputs: "list[CapturePlace]") -> int | None:
    """Returns the uncompressed bytes of the captures; None where one of them is a stream, whose length is unknown."""
    from kafkascope_analyzer.read.unpacked_size import unpacked_bytes

    return None if any(place.is_stream for place in inputs) else sum(map(unpacked_bytes, inputs))


def is_read_by_one_process(n_bytes: int | None, jobs: int | None) -> bool:
    """Whether ingest forks no processes for this many bytes."""
    from kafkascope_analyzer.ingest.run import BYTES_PER_WORKER

    return jobs == 1 or (n_bytes is not None and n_bytes <= BYTES_PER_WORKER)


def _open_session(size: "SessionSize") -> None:
    with _IMPORTS:
        import pyspark.sql  # noqa: F401 - what opens the session needs it

        from kafkascope_spark.failures import spark_failures
        from kafkascope_spark.session import open_session

    # The stories report a failure. A session that is stopped while it opens fails in many ways, and py4j logs each.
    with suppress(Exception), spark_failures():
        open_session(size=size)


def _nothing() -> None:
    """Does nothing, where no session is wanted."""
