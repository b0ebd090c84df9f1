"""Keeps the output of launched processes away from this process's standard error.

PySpark launches the JVM of a session on a cluster with this process's standard error, to which it and Spark write
warnings and hints. Setting a log level would be too late for the first of them, and would change the output of the
user's own logging configuration.
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
    """Redirects the standard error of processes that are launched in the block to a temporary file, as long as they
    run. If the block raises an error, the file is copied to standard error, because it may contain the reason."""
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
