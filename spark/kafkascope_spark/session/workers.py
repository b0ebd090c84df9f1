"""Spark's Python workers: starts them early in the embedded session, and checks those of a cluster before use."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import kafkascope_spark
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_MOST_CHECKS = 16
"""Largest number of tasks of the job that checks the executors; more would find nothing new."""
_HOW_TO_INSTALL = "install it there, or pass it with --py-files"


def start_early(context: "SparkContext") -> None:
    """Starts the Python workers of an embedded session in the background: its context is ready half a second before the
    session. The process from which they are forked has the stories' modules loaded (worker_daemon)."""
    threading.Thread(target=_run_empty_job, args=(context,), name="spark-workers", daemon=True).start()


def _run_empty_job(context: "SparkContext") -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # A session that is stopped in the meantime needs no workers; the first real job reports why they do not start.
    with contextlib.suppress(PySparkException, Py4JError, OSError):
        n = context.defaultParallelism
        context.parallelize(range(n), n).foreachPartition(_nothing)


def _nothing(rows: "Iterable[int]") -> None:
    """Does nothing; a worker runs it to be started early."""


def check_executors(session: "SparkSession") -> None:
    """Runs a tiny job that imports on the executors what the stories need.

    Raises UsageError, in one sentence, if this package, its version, pyarrow or the Python version does not fit.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as fn

    described = fn.udf(_describe_executor(), "string", useArrow=False)
    try:
        # As many tasks as run at a time. Not distinct() for a few rows: the exchange would cost as much as all the rest
        # of a small ingest in the JVM.
        rows = session.range(_MOST_CHECKS).coalesce(_MOST_CHECKS).select(described("id")).collect()
    except PySparkException as error:
        if "PYTHON_VERSION_MISMATCH" not in str(error):
            raise
        raise UsageError(python_mismatch(str(error))) from error
    problems = filter(None, (executor_problem(*found.split("\t")) for found in {row[0] for row in rows}))
    for problem in sorted(problems):
        raise UsageError(problem)


def _describe_executor() -> Callable[[int], str]:
    """Returns the function that an executor runs. It returns the versions of this package and of pyarrow there,
    separated by a tab; empty if they cannot be imported. It is nested so that Spark sends its code: an executor without
    this package could not import it."""

    def describe(number: int) -> str:
        try:
            import kafkascope_analyzer.dataset.contract
            import kafkascope_parsers
            import kafkascope_spark

            ours = str(getattr(kafkascope_spark, "__version__", "without a number"))
            del kafkascope_analyzer, kafkascope_parsers
        except ImportError:
            ours = ""
        try:
            import pyarrow

            arrow = str(pyarrow.__version__)
        except ImportError:
            arrow = ""
        return f"{ours}\t{arrow}"

    return describe


def executor_problem(ours: str, arrow: str) -> str | None:
    """Returns what an executor lacks, in one sentence, given its versions of kafkascope and pyarrow; None if it
    fits."""
    wanted = kafkascope_spark.__version__
    if not arrow:
        return "the executors have no pyarrow: install it there (pip install pyarrow)"
    if not ours:
        return f"the executors have no kafkascope: {_HOW_TO_INSTALL} (version {wanted})"
    if ours != wanted:
        return f"the executors have kafkascope version {ours}, not {wanted}: {_HOW_TO_INSTALL}"
    return None


def python_mismatch(why: str) -> str:
    """Returns the sentence for executors with another Python version. why: Spark's own message."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    first = next((line.strip() for line in why.splitlines() if "PYTHON_VERSION_MISMATCH" in line), "")
    detail = first.partition("PYTHON_VERSION_MISMATCH]")[2].strip()
    return f"the executors run another Python than {here}: set PYSPARK_PYTHON to a Python {here} there ({detail})"
