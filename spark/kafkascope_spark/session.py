"""The Spark session: a small one inside this process by default, or a cluster by `--master` or `SPARK_REMOTE`.

Embedded Spark has to feel small: no UI, an in-memory catalog, two shuffle partitions, the C1 compiler and the
serial collector, loopback addresses only, Python workers forked from one process that has their modules
(worker_daemon). Heap and compilers follow the work (sized). Adaptive execution is off there: it cuts a query into one
job per shuffle, which costs more than it saves on small tables. An AppCDS archive of the JVM's classes in the user's
cache halves the start; the first run writes it when its JVM ends, later runs map it. On a cluster nothing is set
but what the data needs: UTC, ANSI, microsecond timestamps, zstd, Arrow.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MIN_JAVA = 17
_HINT = f"install a Java {MIN_JAVA} or newer runtime (as the package openjdk-17-jre-headless), or set JAVA_HOME to one"

DATA_OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
}
"""What the data needs, anywhere. Batches for Python are limited by rows: a limit in bytes makes Spark 4.3 add up the
sizes of all columns of the batch after each row, which costs more than all the rest."""

EMBEDDED_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.python.daemon.module": "kafkascope_spark.worker_daemon",
    "spark.log.level": "ERROR",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""What makes the embedded session small."""
SMALL_OPTIONS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Compiling a query's code takes longer than interpreting it over a small capture's rows."""

WARMED = "kafkascope.workers.started"
"""Set in a session whose workers were asked to start."""
DUMP_S = 60
"""A JVM writes its archive within some 10 s; what was not touched for so long is whole, or the next JVM refuses it."""
LARGE_REQUESTS = 1_000_000
"""From so many requests on the work takes longer than to compile the queries."""
MANY_REQUESTS, MANY_CONNECTIONS = 4_000_000, 20_000
"""Spark's plans, tasks and aggregates of so many clients take more than LARGE_JVM's heap; so many requests of one
client fit in it, and take longer."""
LARGE_OPTIONS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "480m",
    "spark.memory.fraction": "0.3",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "128m",
    "spark.sql.sources.fileCompressionFactor": "40",
    "spark.python.factory.idleWorkerMaxPoolSize": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
}
"""More and smaller partitions: a partition is what one worker sorts at a time. Long batches: what repeats is taken a
batch's stretch at a time (runs). Workers that are done go, but for one. What is sorted and hashed is kept outside the
heap, where no collector copies it, and goes to disk beyond that; 450 MB is the least heap that Spark starts with.
Repeated rows fill a fortieth of their size on disk, by which Spark judges what every task may hold whole."""
LARGE_JVM = (
    "-Xms200m -Xmn48m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=25 -Dio.netty.allocator.numDirectArenas=1 "
    "-XX:TrimNativeHeapInterval=2000"
)
"""The heap grows by need: what a storm of a million errors needs is less than half of it."""
STORM_OPTIONS = {"spark.memory.offHeap.size": "48m", "spark.sql.execution.arrow.maxRecordsPerBatch": "4096"}
"""Besides: what is many in a storm comes in packs and not through Spark (storms)."""
SHORT_STORM_REQUESTS = 2_000_000
"""A storm of fewer is told before the JVM's second compiler is of use."""
MANY_OPTIONS = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "1536m"}
MANY_JVM = "-Xms512m"
_LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
"""Ten times what is usual: else the second compiler spends four fifths of its time, a third of all, on Spark's planner
and on the compiler of its queries, which run for a moment each."""
_ANY_JVM = (
    "-XX:MetaspaceSize=96m -XX:ReservedCodeCacheSize=160m -XX:+UseSerialGC -Xshare:auto -Xlog:disable "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
)
"""Metaspace: below that size, to load classes is no reason to collect the heap. The archive of classes is mapped where
it was made for: elsewhere each of its pages, 180 MB, would be written and so be this process's own."""
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
"""For a few seconds of work."""


def sized(n_requests: int, n_connections: int = 0, *, has_storm: bool = False) -> tuple[str, dict[str, str]]:
    """JVM options and Spark options for so much work: the one place that knows how large a session is. has_storm: most
    of it are errors of a few clients, which come in packs (storms): they need no more memory the more they are.
    A storm's partitions follow the cores, which Spark counts (_embedded)."""
    if n_requests < LARGE_REQUESTS:
        return f"-Xms512m {_ONE_COMPILER} {_ANY_JVM}", SMALL_OPTIONS
    if n_connections > MANY_CONNECTIONS or (n_requests >= MANY_REQUESTS and not has_storm):
        return f"{MANY_JVM} {_LATE_COMPILER} {_ANY_JVM}", MANY_OPTIONS
    compiler = _ONE_COMPILER if has_storm and n_requests < SHORT_STORM_REQUESTS else _LATE_COMPILER
    options = LARGE_OPTIONS | STORM_OPTIONS if has_storm else LARGE_OPTIONS
    return f"{LARGE_JVM} {compiler} {_ANY_JVM}", options


def java_problem() -> str | None:
    """What keeps Spark from starting, in one sentence that says what to install; None when Java is fine. Imports no
    Spark."""
    java = _java()
    if java is None:
        return f"Spark needs Java and none was found: {_HINT}."
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"Spark needs Java and {java} does not run ({error}): {_HINT}."
    release = java_release(told)
    if release is None or release < MIN_JAVA:
        return f"Spark needs Java {MIN_JAVA} and {java} is {release or 'unknown'}: {_HINT}."
    return None


def java_release(told: str) -> int | None:
    """The feature release in what `java -version` prints: 8 for 1.8.0, 17 for 17.0.2; None when there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found.group(1)) if found else None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = pathlib.Path(home) / "bin" / "java"
        return str(java) if java.exists() else None
    return shutil.which("java")


def open_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    n_requests: int = 0,
    n_connections: int = 0,
    has_storm: bool = False,
) -> "SparkSession":
    """The session for master, for remote (a Spark Connect URL), for `SPARK_REMOTE`, or embedded when none is given;
    n_requests, n_connections, has_storm: how much there is to do (sized).

    Raises UsageError when Java is missing (where it is needed), or the session does not start.
    """
    if master is not None and remote is not None:
        raise UsageError(
            "give --master or --remote, not both: one is a Spark cluster, the other a Spark Connect server"
        )
    remote = remote or (os.environ.get("SPARK_REMOTE") if master is None else None)
    if master is None and not remote:
        return _embedded(n_requests, n_connections, has_storm=has_storm)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = _connected(remote) if remote else _on_cluster(str(master))
    if n_requests < LARGE_REQUESTS:
        for name, value in SMALL_OPTIONS.items():
            session.conf.set(name, value)
    return session


def _on_cluster(master: str) -> "SparkSession":
    problem = java_problem()
    if problem:
        raise UsageError(problem)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.appName("kafkascope").master(master).config(map=dict(DATA_OPTIONS)).getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise UsageError(f"no Spark session at {master}: {_first_line(error)}") from error


def _connected(remote: str) -> "SparkSession":
    """A session of a Spark Connect server: the data options are set on it one by one, as some are the server's."""
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        raise UsageError("Spark Connect needs more packages: pip install 'pyspark[connect]'")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.appName("kafkascope").remote(remote).getOrCreate()
        for name, value in DATA_OPTIONS.items():
            session.conf.set(name, value)
    except (PySparkException, OSError, RuntimeError) as error:
        raise UsageError(f"no Spark Connect session at {remote}: {_first_line(error)}") from error
    return session


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def is_embedded(master: str | None, remote: str | None = None) -> bool:
    """Whether open_session(master, remote) stays in this process's machine, results and all."""
    return master is None and remote is None and not os.environ.get("SPARK_REMOTE")


def _embedded(n_requests: int, n_connections: int, *, has_storm: bool) -> "SparkSession":
    problem = java_problem()
    if problem:
        raise UsageError(problem)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    # Of Spark's workers: pyarrow's own allocator keeps three times as much as a worker that reads files asks for.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    options = DATA_OPTIONS | EMBEDDED_OPTIONS
    options["spark.sql.warehouse.dir"] = tempfile.gettempdir()
    jvm, by_size = sized(n_requests, n_connections, has_storm=has_storm)
    options["spark.driver.extraJavaOptions"] = f"{jvm} {class_archive_option()}".strip()
    options |= by_size
    builder = SparkSession.builder.master("local[*]").appName("kafkascope").config(map=dict(options))
    with tempfile.TemporaryFile() as said:
        try:
            with _stderr_to(said.fileno()):
                session = builder.getOrCreate()
        except (PySparkException, OSError, RuntimeError) as error:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise UsageError(f"Spark does not start: {error} {' '.join(last)}".strip()) from error
    if has_storm:
        # What is many is in packs: what is left to sort is worth no task more than there are cores.
        session.conf.set("spark.sql.shuffle.partitions", session.sparkContext.defaultParallelism)
    if session.conf.get(WARMED, None) is None:
        session.conf.set(WARMED, "true")
        threading.Thread(target=_start_workers, args=(session,), name="spark-workers", daemon=True).start()
    return session


def _start_workers(session: "SparkSession") -> None:
    """Have Spark's Python workers started and their modules loaded, while the first plans are built."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    n = session.sparkContext.defaultParallelism
    # A session that is stopped meanwhile needs no workers, and the first real job tells what keeps them from starting.
    with contextlib.suppress(PySparkException, Py4JError, OSError):
        session.range(0, n, 1, n).mapInArrow(_with_modules, "id long").toArrow()


def _with_modules(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The batches as they came, from a worker that has the stories' modules."""
    import kafkascope_spark.stories

    del kafkascope_spark
    yield from batches


@contextlib.contextmanager
def _stderr_to(target: int) -> Iterator[None]:
    """Let the JVM that is started meanwhile write its greetings there: it keeps the stderr that it was born with."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(target, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def class_archive_option() -> str:
    """The JVM option that uses the archive of Spark's classes, or that writes it where there is none yet; empty
    where there is no cache.

    The JVM checks the archive against its own build and its class path and goes on without it when they differ.
    """
    try:
        folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kafkascope"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return ""
    name = f"spark-{version('pyspark')}-{_java_stamp()}"
    archive = folder / f"{name}.jsa"
    _take_over(folder, name, archive)
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive}"
    if " " in str(folder) or not os.access(folder, os.W_OK):
        return ""
    return f"-XX:ArchiveClassesAtExit={folder / f'{name}.{os.getpid()}.part'}"


def _take_over(folder: pathlib.Path, name: str, archive: pathlib.Path) -> None:
    """Give an archive its name once the JVM that wrote it after its last words must be done."""
    for part in sorted(folder.glob(f"{name}.*.part")):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > DUMP_S:
                part.replace(archive)


def _java_stamp() -> str:
    """A name for this Java and this installation: the archive holds for no other."""
    java = pathlib.Path(_java() or "java").resolve()
    try:
        age = java.stat().st_mtime_ns
    except OSError:
        age = 0
    return hashlib.sha256(f"{java}|{age}|{sys.prefix}".encode()).hexdigest()[:12]
