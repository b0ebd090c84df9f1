"""The options of the embedded session: heap, compilers and Spark settings, in two sizes.

SMALL is for what ends within seconds: the C1 compiler only, and queries that are interpreted, because compiling them
takes longer than running them. For the same reason the planner does not look for further filters (constraint
propagation, a third of the optimizer's time). A join, a sort or an aggregation begins with a page of 256 KB; by default
it has 16 MB where there are two cores, and the findings of a small capture take some hundred of them. A task may have
8,192 pages, so 2 GB. LARGE is one set of options for 1 million to 50 million requests and 200,000 clients.
"""

import shlex
from dataclasses import dataclass, field
from enum import Enum

from kafkascope_spark.session.class_archive import USE_ARCHIVE

LARGE_REQUESTS = 1_000_000
"""From this number of requests on, a story job takes longer than compiling its queries."""
LARGE_INPUT_BYTES = 100 << 20
"""An exchange of one request and one response takes at least 200 bytes of a capture file (two packet records with
their link, IP and TCP headers), so LARGE_REQUESTS need 200 MB. Half of that, because the uncompressed size of a
compressed file is an estimate."""


class SessionSize(Enum):
    """How much work an embedded session is made for."""

    SMALL = "small"
    LARGE = "large"


def size_for_requests(n_requests: int) -> SessionSize:
    """The size of the session for a dataset with this number of requests."""
    return SessionSize.LARGE if n_requests >= LARGE_REQUESTS else SessionSize.SMALL


def size_for_input(n_bytes: int | None) -> SessionSize:
    """The size of the session for this number of uncompressed bytes of captures; None is input of unknown length."""
    return SessionSize.SMALL if n_bytes is not None and n_bytes < LARGE_INPUT_BYTES else SessionSize.LARGE


CREATED_BY_US = "spark.kafkascope.created"
"""A setting of the sessions that `open_session` creates, embedded or on a cluster. (Spark warns of other names.)"""
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
"""Options of every session that we create; no plan depends on them for correct rows, so a session that the user's
cluster owns keeps its own. Spark takes the size of a table's Parquet files for its size in memory, which is some thirty
times as large here: with its own limit of 10 MB for tables to broadcast, a heap of 1 GB is too small. Arrow batches are
limited by rows: for a limit in bytes Spark 4.3 adds up the sizes of all columns of the batch after each row, which
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
"""Options that make the embedded session start fast and use little memory. Adaptive execution is off: it cuts a query
into one job per shuffle, which costs more than it saves on small tables. Simplified tracebacks are an environment
variable of the Python workers of queries. Workers with other variables have a daemon of their own, which would load all
modules again instead of using the one that was started early (workers.start_early)."""

_CLASS_OPTIONS = (
    "-XX:MetaspaceSize=96m",
    "-Xshare:auto",
    "-Xlog:disable",
    "-XX:-UsePerfData",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
)
"""Without UsePerfData a JVM that is killed leaves no file in hsperfdata_USER.

Below MetaspaceSize, loading classes does not trigger a collection of the heap. The class archive is mapped at the
address it was made for: at any other address each of its pages, 180 MB, would be written and become private memory."""
_JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=160m", *_CLASS_OPTIONS)
_LATE_C2 = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times the usual thresholds: otherwise the C2 compiler spends four fifths of its time, a third of the whole run,
on Spark's planner and on the compiler of its queries, which run only for a moment."""


def cluster_options(archive: str | None) -> dict[str, str]:
    """Options of a session that we create on a cluster. archive: the option of the driver's JVM that uses the archive
    of Spark's classes, or writes it.

    Spark puts those of the JVMs before spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, which are the
    user's. An executor uses the archive where it finds it under the same path, and starts without it elsewhere. Spark's
    progress bar would be drawn over ours, into logs too.
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
    """The options of one size. jvm: of the java command; spark: fixed when the session starts; sql: may also be set on
    a running session."""

    jvm: tuple[str, ...]
    sql: dict[str, str]
    spark: dict[str, str] = field(default_factory=dict)


_SIZES = {
    SessionSize.SMALL: SizeOptions(
        jvm=("-Xms512m", "-Xmx1g", "-XX:TieredStopAtLevel=1", *_JVM_OPTIONS),
        sql={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.constraintPropagation.enabled": "false",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        },
        spark={"spark.buffer.pageSize": "256k"},
    ),
    SessionSize.LARGE: SizeOptions(
        jvm=("-Xms512m", "-Xmx1536m", *_LATE_C2, *_JVM_OPTIONS),
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
    """The options of an embedded session of this size."""
    return _SIZES[size]
