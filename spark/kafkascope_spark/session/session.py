"""Opens the Spark session: embedded in this process, on a cluster (`--master`), or on a Spark Connect server.

The embedded session is small (jvm_options) and uses only loopback addresses. A session that was opened elsewhere (by a
notebook, Databricks, a Connect server) is used without changing its settings. Only its executors are checked, once.
"""

import os
import sys
import tempfile
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kafkascope_analyzer.dataset.hidden_pandas import hidden_pandas
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.session.class_archive import class_archive_option
from kafkascope_spark.session.connectors import StorageConnector
from kafkascope_spark.session.gateway import Jvm, connect, current_jvm, launch, launch_options, spark_jars
from kafkascope_spark.session.java import find_java, java_problem
from kafkascope_spark.session.jvm_options import (
    DATA_OPTIONS,
    EMBEDDED_OPTIONS,
    SessionSize,
    cluster_options,
    options_for,
)
from kafkascope_spark.session.quiet import launched_quietly
from kafkascope_spark.session.workers import check_executors, start_early

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "kafkascope.embedded"
"""Setting that marks sessions that `open_session` embeds in this process; others belong to the user."""
CONNECTOR = "kafkascope.connector"
"""Setting of embedded sessions: scheme of the storage for which they have a connector."""


def open_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    size: SessionSize = SessionSize.SMALL,
    connector: StorageConnector | None = None,
    quiet: bool = False,
) -> "SparkSession":
    """Returns the session of master, of remote (a Spark Connect URL), of `SPARK_REMOTE`, or the active one; else an
    embedded session of this size, with the connector. quiet: whether the JVM of a session that is created on a cluster
    prints nothing to standard error; an existing session is not changed.

    Raises UsageError if Java is missing, a cluster cannot be reached or its executors lack something that the stories
    need; SparkError if the embedded session does not start.
    """
    if master is not None and remote is not None:
        raise UsageError(
            "give --master or --remote, not both: one is a Spark cluster, the other a Spark Connect server"
        )
    remote = remote or (os.environ.get("SPARK_REMOTE") if master is None else None)
    if master is not None or remote:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session = _connected(remote) if remote else _on_cluster(str(master), quiet=quiet)
        check_executors(session)
        return session
    active = active_session()
    if active is None:
        return _embedded(size, connector)
    if active.conf.get(EMBEDDED, None) is None:
        check_executors(active)
        return active
    if connector is not None and active.conf.get(CONNECTOR, None) != connector.scheme:
        raise UsageError(_no_connector(connector))
    set_size(active, size)
    return active


def is_embedded(master: str | None, remote: str | None = None) -> bool:
    """Whether open_session(master, remote) runs Spark on this machine, inside this process."""
    return master is None and remote is None and not os.environ.get("SPARK_REMOTE")


def active_session() -> "SparkSession | None":
    """Returns the session that is already open in this process; None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def cancel_jobs() -> None:
    """Cancels the jobs of the session of this process, if there is one."""
    from pyspark.sql.utils import is_remote

    session = active_session()
    if session is not None and is_remote():
        session.interruptAll()
    elif session is not None:
        session.sparkContext.cancelAllJobs()


def launch_early(size: SessionSize, connector: StorageConnector | None = None) -> Jvm | None:
    """Launches the JVM to which `open_session` will connect, without waiting. Returns None if Java is missing.

    Starts a process and no thread, and imports no Spark: the caller may fork afterwards.
    """
    java = find_java()
    if java is None:
        return None
    # Spark's workers inherit these. pyarrow's own allocator keeps three times the memory that a worker needs to read
    # files, and glibc has one heap per thread.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    fixed = launch_options()
    archive = class_archive_option(java, fixed, spark_jars())
    options = (*fixed, *options_for(size).jvm, *([archive] if archive else ()))
    return launch(java, options, connector.packages, connector.excluded) if connector else launch(java, options)


def _embedded(size: SessionSize, connector: StorageConnector | None) -> "SparkSession":
    problem = java_problem()
    if problem:
        raise UsageError(problem)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with hidden_pandas():
        import pyspark.testing.utils  # noqa: F401 - PySpark asks it for numpy at its first call; the JVM is not up yet

    try:
        start_early(_spark_context(size, connector))
        return SparkSession.builder.getOrCreate()
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        raise SparkError(f"the Spark session does not start: {_first_line(error)}") from error


def _spark_context(size: SessionSize, connector: StorageConnector | None) -> Any:
    """Returns the Spark context on the JVM of this process, which is launched if it does not run yet."""
    from pyspark import SparkConf, SparkContext

    options = DATA_OPTIONS | EMBEDDED_OPTIONS | options_for(size).sql | options_for(size).spark
    options |= {"spark.sql.warehouse.dir": tempfile.gettempdir(), EMBEDDED: "true"}
    if connector is not None:
        options |= {CONNECTOR: connector.scheme, **connector.settings, **_JARS_OF_CLASS_PATH}
    configured = SparkConf(loadDefaults=False).setMaster("local[*]").setAppName("kafkascope")
    configured.setAll(list(options.items()))
    launched = current_jvm()
    if launched is not None and connector is not None and launched.packages != connector.packages:
        raise UsageError(_no_connector(connector))
    if SparkContext._gateway is not None:  # of a stopped session, whose JVM is used again
        return SparkContext(conf=configured)
    jvm = launched or launch_early(size, connector)
    if jvm is None:
        raise SparkError("Spark's JVM cannot be started: the java command is gone")
    return SparkContext(conf=configured, gateway=connect(jvm))


_JARS_OF_CLASS_PATH = {"spark.jars": "", "spark.submit.pyFiles": ""}
"""Settings that are cleared because SparkSubmit would copy every jar for the executor, and Python workers would open
the jars as if they contained modules. The executor is in the same JVM, whose class path has the jars."""


def _no_connector(connector: StorageConnector) -> str:
    return (
        f"the Spark session of this process was opened without the connector for {connector.scheme}://: "
        "write these stories in a new process"
    )


def set_size(session: "SparkSession", size: SessionSize) -> None:
    """Sets the SQL settings of this size in an embedded session, which may have been opened before the size was known,
    or for other work. Other sessions keep their settings."""
    if session.conf.get(EMBEDDED, None) is None:
        return
    for name, value in options_for(size).sql.items():
        session.conf.set(name, value)


_SUBMITTED = ("spark-submit",)
"""Placeholder for the class path and module options of the JVM that PySpark launches by spark-submit."""


def _on_cluster(master: str, *, quiet: bool) -> "SparkSession":
    problem = java_problem()
    if problem:
        raise UsageError(problem)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kafkascope").master(master)
    if active_session() is None:
        archive = class_archive_option(str(find_java()), _SUBMITTED, spark_jars())
        builder = builder.config(map={**DATA_OPTIONS, **cluster_options(archive)})
    try:
        with launched_quietly() if quiet else nullcontext():
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise UsageError(f"no Spark session at {master}: {_first_line(error)}") from error


def _connected(remote: str) -> "SparkSession":
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        raise UsageError("Spark Connect needs more packages: pip install 'pyspark[connect]'")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.remote(remote).getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise UsageError(f"no Spark Connect session at {remote}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
