"""Keeps what a process that is launched prints away from this process's standard error.

PySpark launches the JVM of a session on a cluster with our standard error, on which it and Spark write warnings and
hints as long as it lives. Setting a log level would come too late for the first of them, and would change what the
user's own logging configuration writes elsewhere.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2


@contextmanager
def launched_quietly() -> Iterator[None]:
    """Has processes that are launched in the block write their standard error to a temporary file, as long as they
    live. Where the block fails, it is copied to ours: it may say why."""
    sys.stderr.flush()
    ours = os.dup(_STANDARD_ERROR)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), _STANDARD_ERROR)
        try:
            yield
        except BaseException:
            file.seek(0)
            with open(ours, "wb", closefd=False) as errors:
                shutil.copyfileobj(file, errors)
            raise
        finally:
            os.dup2(ours, _STANDARD_ERROR)
            os.close(ours)
