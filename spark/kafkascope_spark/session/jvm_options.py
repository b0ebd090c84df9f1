"""The options of the embedded session: heap, compilers and Spark settings, in two sizes.

SMALL is for jobs that end within seconds: only the C1 compiler, and interpreted queries, because compiling them takes
longer than running them. For the same reason the planner does not look for further filters (constraint propagation, a
third of the optimizer's time). A join, sort or aggregation begins with a page of 256 KB; the default is 16 MB with two
cores, and the findings of a small capture need some hundred of them. A task may have 8,192 pages, which is 2 GB. LARGE
is one set of options for 1 million to 50 million requests and 200,000 clients.
"""

import shlex
from dataclasses import dataclass, field
from enum import Enum

from kafkascope_spark.session.class_archive import USE_ARCHIVE

LARGE_REQUESTS = 1_000_000
"""From this number of requests on, a session is opened in the large size."""
LARGE_EVENTS = 200_000
"""From this number of rows of `events` on, compiling the story job pays off: it reads nothing else."""
LARGE_QUERY_ROWS = 3_000_000
"""With fewer rows than this, to interpret the queries of findings, at 5 µs a row, is faster than to compile them. Most
rules do not run, and many queries read only stories, so this does not follow from the number of requests."""
LARGE_INPUT_BYTES = 100 << 20
"""An exchange of one request and one response takes at least 200 bytes of a capture file (two packet records with
their link, IP and TCP headers), so LARGE_REQUESTS need 200 MB. Half of that, because the uncompressed size of a
compressed file is an estimate."""


class SessionSize(Enum):
    """Amount of work for which an embedded session is made."""

    SMALL = "small"
    LARGE = "large"


def size_for_requests(n_requests: int) -> SessionSize:
    """Returns the size of the session for a dataset with this number of requests."""
    return SessionSize.LARGE if n_requests >= LARGE_REQUESTS else SessionSize.SMALL


def size_for_events(n_events: int) -> SessionSize:
    """Returns the size of the session for the story job over this number of events."""
    return SessionSize.LARGE if n_events >= LARGE_EVENTS else SessionSize.SMALL


def size_for_queries(n_rows: int) -> SessionSize:
    """Returns the size of the session for queries that read this number of rows."""
    return SessionSize.LARGE if n_rows >= LARGE_QUERY_ROWS else SessionSize.SMALL


def size_for_input(n_bytes: int | None) -> SessionSize:
    """Returns the size of the session for this number of uncompressed bytes of captures; None for input of unknown
    length."""
    return SessionSize.SMALL if n_bytes is not None and n_bytes < LARGE_INPUT_BYTES else SessionSize.LARGE


CREATED_BY_US = "spark.kafkascope.created"
"""Setting that marks sessions created by `open_session`, embedded or on a cluster. (Spark warns about names without
this prefix.)"""
MOST_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"

DATA_OPTIONS = {
    CREATED_BY_US: "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "1m",
    MOST_BATCH_BYTES: str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
}
"""Options of every session that this program creates. Rows are correct without them, so a session of the user's cluster
keeps its own. Spark uses the size of a table's Parquet files as its size in memory, which is about thirty times as
large here: with Spark's default limit of 10 MB for broadcast tables, a heap of 1 GB is too small. Arrow batches are
limited by rows: for a limit in bytes, Spark 4.3 sums up the sizes of all columns of the batch after each row, which
costs more than all the rest."""

EMBEDDED_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.daemon.module": "kafkascope_spark.worker_daemon",
    "spark.log.level": "ERROR",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
"""Options with which the embedded session starts fast and uses little memory. Adaptive execution is off: it divides a
query into one job per shuffle, which costs more than it saves on small tables. Simplified tracebacks set an environment
variable of the Python workers of queries; workers with other variables have their own daemon, which would load all
modules again instead of using the one that was started early (workers.start_early)."""

_CLASS_OPTIONS = (
    "-XX:MetaspaceSize=96m",
    "-Xshare:auto",
    "-Xlog:disable",
    "-XX:-UsePerfData",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
)
"""Without UsePerfData a killed JVM leaves no file in hsperfdata_USER.

Below MetaspaceSize, loading classes does not trigger a collection of the heap. The class archive is mapped at the
address for which it was made: at another address all its pages, 180 MB, would be written and become private memory."""
_HEAP = ("-Xms512m", "-Xmx2g")
"""Spark holds a gigabyte and more while it plans most of the rules together, also for a few rows: with a heap of 1 GB
it collects garbage nearly all the time then."""
_FOR_ROWS = "0.3"
"""Part of the heap for rows, half of Spark's default: small tables need less, and tables that former queries of the
session have broadcast stay in it until it is full."""
_JVM_OPTIONS = (*_HEAP, "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=160m", *_CLASS_OPTIONS)
_LATE_C2 = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times the default thresholds: otherwise the C2 compiler spends four fifths of its time, a third of the whole run,
on Spark's planner and query compiler, which run only for a moment."""


def cluster_options(archive: str | None) -> dict[str, str]:
    """Returns the options of a session that is created on a cluster. archive: option of the driver's JVM that uses or
    writes the archive of Spark's classes.

    Spark puts the JVM options before spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, which are the
    user's. An executor uses the archive if it exists at the same path, and starts without it otherwise. Spark's
    progress bar is off, because it would overwrite that of this program, also in logs.
    """
    jvm = (*_LATE_C2, *_CLASS_OPTIONS)
    used = (archive,) if archive and archive.startswith(USE_ARCHIVE) else ()
    return {
        "spark.driver.defaultJavaOptions": shlex.join((*jvm, archive) if archive else jvm),
        "spark.executor.defaultJavaOptions": shlex.join((*jvm, *used)),
        "spark.ui.showConsoleProgress": "false",
    }


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """Options of one size. jvm: options of the java command; spark: settings that are fixed when the session starts;
    sql: settings that may also be set in a running session."""

    jvm: tuple[str, ...]
    sql: dict[str, str]
    spark: dict[str, str] = field(default_factory=dict)


_SIZES = {
    SessionSize.SMALL: SizeOptions(
        jvm=("-XX:TieredStopAtLevel=1", *_JVM_OPTIONS),
        sql={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.constraintPropagation.enabled": "false",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        },
        spark={"spark.buffer.pageSize": "256k", "spark.memory.fraction": _FOR_ROWS},
    ),
    SessionSize.LARGE: SizeOptions(
        jvm=(*_LATE_C2, *_JVM_OPTIONS),
        sql={
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            "spark.sql.constraintPropagation.enabled": "true",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
        },
        spark={"spark.python.factory.idleWorkerMaxPoolSize": "1"},
    ),
}


def options_for(size: SessionSize) -> SizeOptions:
    """Returns the options of an embedded session of this size."""
    return _SIZES[size]
