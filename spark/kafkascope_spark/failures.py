"""Turns all errors of Spark, py4j or the JVM during a story job into a `SparkError` with one sentence.

The cause is looked for in the exception, in its stack trace and in the output of the embedded JVM, because a JVM that
runs out of memory or disk often ends before it can answer.
"""

import contextlib
import logging
import re
from collections.abc import Iterator
from urllib.parse import unquote

from kafkascope_analyzer.dataset.parquet_files import RESTORE
from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, SparkError, UsageError
from kafkascope_spark.session.gateway import current_jvm, exit_cause

_OUT_OF_MEMORY_EXIT = "exit code 52"
"""org.apache.spark.util.SparkExitCode.OOM"""
_OWN_ERRORS = tuple(f"{error.__module__}.{error.__qualname__}: " for error in (UsageError, CaptureError))
"""Begins of error messages in a Python worker's traceback that already tell the user what to do."""
_DAMAGED = f"{DamagedDatasetError.__module__}.{DamagedDatasetError.__qualname__}: "
_UNREAD_FILE = re.compile(r"\[FAILED_READ_FILE[^\]]*\][^\n]*? file:/*(/\S+?\.parquet)")
"""Message of Spark's own reader for a local file that it cannot read; object stores fail for other reasons, too."""
_CAUSES = (
    (
        ("No space left on device", "Errno 28"),
        "the disk is full where Spark or its tasks keep temporary files, or where the dataset is: free some space, or "
        "name directories with more (SPARK_LOCAL_DIRS, and --temporary of ingest)",
    ),
    (
        (
            "java.lang.OutOfMemoryError",
            "SparkOutOfMemoryError",
            "UNABLE_TO_ACQUIRE_MEMORY",
            "Not enough memory to build and broadcast the table",
            _OUT_OF_MEMORY_EXIT,
        ),
        "the heap of Spark's JVM is exhausted: run on a machine or cluster with more memory (--master, --remote)",
    ),
    (
        ("MemoryError", "ArrowMemoryError"),
        "a Python worker of Spark ran out of memory: run on a machine or cluster with more memory (--master, --remote)",
    ),
    (
        ("Python worker exited unexpectedly", "Python worker failed to connect back", "Connection reset"),
        "a Python worker of Spark ended unexpectedly, most often because the system was out of memory: close other "
        "programs, or run on a cluster (--master, --remote)",
    ),
    (
        ("ExecutorLostFailure", "Lost executor"),
        "an executor was lost, most often because it was out of memory: give it more (spark.executor.memory)",
    ),
    (
        ("No FileSystem for scheme", "FileSystem not found"),
        "the Spark session has no connector for the dataset's storage: give the driver and the executors Hadoop's (for "
        "S3 the package org.apache.hadoop:hadoop-aws in the version of their Hadoop)",
    ),
    (
        ("NoAwsCredentialsException", "NoAuthWithAWSException", "Unable to load credentials"),
        "Spark's driver or an executor has no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in "
        "the environment of both, or give their machines a role",
    ),
    (
        ("AccessDeniedException: s3a://", "InvalidAccessKeyId", "SignatureDoesNotMatch"),
        "S3 refuses the credentials of Spark's driver or of an executor: check those in the environment of both",
    ),
)
"""Texts that identify a cause, with the sentence for it; the first match wins."""


@contextlib.contextmanager
def spark_failures() -> Iterator[None]:
    """Raises SparkError for any failure of Spark in the block, DamagedDatasetError if the cause is a file of the
    dataset. Other exceptions on the driver, from defects of this program, are not changed.

    Inside the block, py4j and PySpark log nothing: they would log a traceback for Ctrl-C, and a failed query as JSON.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    before = current_jvm()
    start = before.printed_bytes if before is not None else 0
    with _quiet_py4j(), _quiet_queries():
        try:
            yield
        except (PySparkException, Py4JError, OSError, EOFError) as error:
            if _is_interruption(error):
                raise KeyboardInterrupt from error
            if damaged := _damage(_text_of(error)):
                raise DamagedDatasetError(damaged) from error
            raise SparkError(f"Spark failed: {failure_sentence(error, start)}") from error
        except Exception as error:
            jvm = current_jvm()
            if jvm is None or exit_cause(jvm) is None:
                raise
            raise SparkError(f"Spark failed: {failure_sentence(error, start)}") from error


def failure_sentence(error: BaseException, start: int = 0) -> str:
    """Returns what happened and what to do, in one sentence without the final period.

    start: byte of the JVM's output at which the job began. The output is only used if the JVM has ended.
    """
    return _system_cause(error, start) or _first_cause(_text_of(error)) or type(error).__name__


def is_of_system(error: BaseException) -> bool:
    """Whether Spark failed because of the machine, the storage or the JVM, and not because of the query."""
    return _is_interruption(error) or _system_cause(error, 0) is not None


def _system_cause(error: BaseException, start: int) -> str | None:
    """Returns the sentence about a cause outside of the job; None if the cause is the job itself."""
    jvm = current_jvm()
    ended = exit_cause(jvm) if jvm is not None and _is_connection_lost(error) else None
    evidence = _text_of(error)
    if jvm is not None and ended is not None:
        evidence = f"{evidence}\n{jvm.printed(start)}\n{ended}"
    for texts, sentence in _CAUSES:
        if any(text in evidence for text in texts):
            return sentence
    if ended is not None:
        return f"its JVM {ended}, most often because the system was out of memory: close other programs and try again"
    return None


def _damage(text: str) -> str | None:
    """Returns the sentence about the file of a dataset that a Python worker, or Spark's own reader, could not read;
    None if that is not the cause."""
    said = re.search(rf"{re.escape(_DAMAGED)}(\S.*)", text)
    if said:
        return said[1].strip()
    file = _UNREAD_FILE.search(text)
    return f"{unquote(file[1])}: the Parquet file is damaged; {RESTORE}" if file else None


def _is_interruption(error: BaseException) -> bool:
    """Whether Ctrl-C led to this exception: PySpark cancels the job, then reads its result, which fails."""
    context = error.__context__
    while context is not None and not isinstance(context, KeyboardInterrupt):
        context = context.__context__
    return context is not None


def _is_connection_lost(error: BaseException) -> bool:
    """Whether no answer came from the JVM; Py4JJavaError is an answer."""
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(error, Py4JError | OSError | EOFError) and not isinstance(error, Py4JJavaError)


def _text_of(error: BaseException) -> str:
    """Returns the message of the exception with the stack trace of the JVM, as far as they are still available."""
    stack = getattr(error, "_stackTrace", None) or ""
    try:
        return f"{error}\n{stack}"
    except (OSError, RuntimeError) as unanswered:  # Py4JJavaError asks the JVM, which may be gone
        return f"{type(error).__name__}: {unanswered}"


def _first_cause(text: str) -> str:
    """Returns the exception of a Python worker, else the innermost cause in the JVM's stack trace, else the first
    line."""
    raised = re.findall(r"^Traceback .*\n(?:[ \t].*\n|\n)*(\S.*)", text, re.MULTILINE)
    if raised:
        own = next((prefix for prefix in _OWN_ERRORS if str(raised[-1]).startswith(prefix)), "")
        return f"a Python worker of Spark reports: {raised[-1].removeprefix(own)}" if own else str(raised[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return next(iter([*reversed(causes), *lines]), "")


class _WithoutPy4j(logging.Filter):
    """Drops the records that py4j logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is not py4j's."""
        return "py4j" not in record.pathname


@contextlib.contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Suppresses the log messages of py4j in the block, which it writes to standard error through the root logger."""
    root, own, py4j_filter = logging.getLogger(), logging.getLogger("py4j"), _WithoutPy4j()
    propagated = own.propagate
    root.addFilter(py4j_filter)
    own.propagate = False
    try:
        yield
    finally:
        root.removeFilter(py4j_filter)
        own.propagate = propagated


@contextlib.contextmanager
def _quiet_queries() -> Iterator[None]:
    """Suppresses PySpark's log messages in the block, which it writes to standard error for each failed query."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
