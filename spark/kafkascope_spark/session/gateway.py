"""Launches the JVM of the embedded session and connects to it.

PySpark launches it by two shell scripts and a JVM that only computes the command line (0.4 s of processor time), waits
for it, and passes it this process's standard output and error. Here the JVM is launched directly, without waiting, so
that it starts while this process still loads its modules. Its output goes to a temporary file, which is used to explain
a failure. It runs Spark's own gateway (org.apache.spark.api.python.PythonGatewayServer) without SparkSubmit in between:
spark-defaults.conf and PYSPARK_SUBMIT_ARGS are for sessions opened with --master. Only a session that needs packages
from Maven Central (connectors) is launched through SparkSubmit, which downloads them and puts them on the class path;
there spark-defaults.conf may name another repository (spark.jars.ivySettings, spark.jars.repositories).

`launch` only starts a process, no thread, so the caller may still fork afterwards. A forked child closes its copy of
the JVM's standard input: the JVM ends when the last copy is closed. `connect` loads py4j, which starts threads: nothing
may be forked after it.
"""

import atexit
import contextlib
import os
import pathlib
import resource
import signal
import struct
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import IO, Any

from kafkascope_analyzer.dataset.temporary_folders import OwnedFolder, temporary_root
from kafkascope_parsers.errors import SparkError
from kafkascope_spark.session.class_archive import WRITE_ARCHIVE

MAIN_CLASS = "org.apache.spark.api.python.PythonGatewayServer"
SUBMIT_CLASS = "org.apache.spark.deploy.SparkSubmit"
START_TIMEOUT_S = 120
DOWNLOAD_TIMEOUT_S = 900
"""Longest time of a start that downloads packages: 19 MB at 25 kB/s."""
_POLL_S = 0.01
_READ_BYTES = 1 << 20
_LEAST_HANDLES = 1024
"""File handles that a JVM with some hundred jars on its class path needs."""
_SHOWN_WORDS = 60
"""Number of words that are shown of the output of a JVM that does not start; the first ones contain the reason."""
_UNRESOLVED = ("unresolved dependency", "UNRESOLVED DEPENDENCIES", "download failed", "FAILED DOWNLOADS")
"""Messages of SparkSubmit when it cannot get a package."""
_MODULE_OPTIONS = (
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""Module options of Spark's launcher (org.apache.spark.launcher.JavaModuleOptions), without the module
jdk.incubator.vector, which only Spark's machine learning uses and which slows the start."""


_LEFT_OUT = ("spark-mllib_",)
"""Prefixes of Spark's jars that the stories do not need. Spark's machine learning registers functions in each new
session (org.apache.spark.sql.ml.InternalFunctionRegistration), which takes half a second of Scala reflection."""
_FIRST = "slf4j-api-"
"""Prefix of the jar that Spark's launcher puts first."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """A launched JVM. output: file with its output; folders: folders for its temporary files; packages: Maven
    coordinates with which it was launched; writes_archive: whether it writes the archive of Spark's classes when it
    ends; then it must not be killed."""

    process: "subprocess.Popen[bytes]"
    output: IO[bytes]
    folders: tuple[OwnedFolder, ...]
    packages: tuple[str, ...] = ()
    writes_archive: bool = False

    @property
    def connection_file(self) -> pathlib.Path:
        """File in which the JVM writes the port and the secret of its gateway."""
        return self.folders[0].path / "connection"

    @property
    def printed_bytes(self) -> int:
        """Number of bytes that the JVM has printed."""
        return os.fstat(self.output.fileno()).st_size

    def printed(self, start: int = 0) -> str:
        """Returns the output of the JVM from this byte on, at most the last megabyte."""
        start = max(start, self.printed_bytes - _READ_BYTES)
        return os.pread(self.output.fileno(), _READ_BYTES, start).decode(errors="replace")

    def stop(self) -> None:
        """Kills the JVM and removes its temporary files."""
        self.process.kill()
        self.process.wait()
        for folder in self.folders:
            folder.remove()


_launched: list[Jvm] = []
"""JVMs that this process has launched, without those that did not start: one, unless it died and was replaced."""


_gateways: list[Any] = []
"""py4j gateways to the launched JVMs."""


def launch_options() -> tuple[str, ...]:
    """Returns the class path and the module options of the JVM. Imports no Spark."""
    return "-cp", ":".join(map(str, spark_jars())), *_MODULE_OPTIONS


def spark_jars() -> list[pathlib.Path]:
    """Returns the jars of Spark that the stories need, in the order of the class path. Imports no Spark."""
    jars = [jar for jar in sorted((spark_home() / "jars").glob("*.jar")) if not jar.name.startswith(_LEFT_OUT)]
    return sorted(jars, key=lambda jar: not jar.name.startswith(_FIRST))


def spark_home() -> pathlib.Path:
    """Returns the folder of the pyspark package, which contains Spark's jars."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkError("the package pyspark is not installed: install kafkascope again")
    return pathlib.Path(spec.origin).parent


def launch(java: str, options: tuple[str, ...], packages: tuple[str, ...] = (), excluded: tuple[str, ...] = ()) -> Jvm:
    """Launches the JVM and returns at once. options: options of the java command; packages: Maven coordinates of
    further packages on the class path; excluded: group:artifact of their dependencies that are not downloaded.

    Raises SparkError if the process cannot be started.
    """
    try:
        folders = _temporary_folders()
        output = tempfile.TemporaryFile()  # noqa: SIM115 - the JVM writes to it as long as it lives
    except OSError as error:
        raise SparkError(f"Spark's JVM cannot be started: no temporary files: {error.strerror or error}") from error
    options = (*options, f"-Djava.io.tmpdir={folders[0].path}")
    environment = os.environ | {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folders[0].path / "connection"),
        "SPARK_LOCAL_DIRS": ",".join(str(folder.path) for folder in folders[1:] or folders),
        "SPARK_CONF_DIR": os.environ.get("SPARK_CONF_DIR", str(spark_home() / "conf")),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_CONNECT_MODE": "0",
        "PYTHONHASHSEED": "0",
    }
    # With SPARK_HOME, Python workers would load PySpark from an archive of its sources and compile it each time.
    environment.pop("SPARK_HOME", None)
    with _uninterrupted():
        try:
            process = subprocess.Popen(
                [java, *options, *_main(packages, excluded)],
                stdin=subprocess.PIPE,  # the JVM ends when this process does
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                process_group=0,  # Ctrl-C is for this process, which then ends the JVM
                pass_fds=[folder.lock for folder in folders if folder.lock is not None],
            )
        except OSError as error:
            for folder in folders:
                folder.remove()
            raise SparkError(f"Spark's JVM cannot be started: {java}: {error.strerror or error}") from error
        if not _launched:
            os.register_at_fork(after_in_child=_close_in_child)
            atexit.register(_end_jvms, os.getpid())
        writes_archive = any(option.startswith(WRITE_ARCHIVE) for option in options)
        jvm = Jvm(process, output, folders, packages, writes_archive)
        _launched.append(jvm)
    return jvm


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM until the block ends: in the middle of it they would leave a JVM that nothing ends. The
    JVM itself does not block them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _temporary_folders() -> tuple[OwnedFolder, ...]:
    """Makes a folder for temporary files of a JVM in the system's temporary folder and in each folder of
    SPARK_LOCAL_DIRS. The JVM also holds their locks, and removes them when it ends. Raises OSError, UsageError."""
    name = f"kafkascope-spark-{uuid.uuid4().hex[:12]}"
    named = [part for part in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if part]
    return tuple(OwnedFolder.make(parent / name) for parent in (temporary_root(), *map(pathlib.Path, named)))


def _end_jvms(owner: int) -> None:
    """Ends the JVMs of this process when it ends, and removes their folders. They would end by themselves a moment
    later, but in a container they would be killed with this process, and their folders would stay. Only a JVM that
    writes the archive of Spark's classes is left to end by itself, and removes its own folders."""
    if os.getpid() != owner:
        return
    for gateway in _gateways:
        gateway._gateway_client.is_connected = False  # py4j's finalizers send nothing any more
    for jvm in _launched:
        is_connected = any(gateway.proc is jvm.process for gateway in _gateways)
        if not (jvm.writes_archive and is_connected and jvm.process.poll() is None):
            jvm.stop()


def _main(packages: tuple[str, ...], excluded: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the main class and its arguments."""
    if not packages:
        return (MAIN_CLASS,)
    exclusions = ("--exclude-packages", ",".join(excluded)) if excluded else ()
    return SUBMIT_CLASS, "--packages", ",".join(packages), *exclusions, "pyspark-shell"


def _close_in_child() -> None:
    for jvm in _launched:
        if jvm.process.stdin is not None:
            with contextlib.suppress(OSError):
                jvm.process.stdin.close()


def connect(jvm: Jvm) -> Any:
    """Returns the py4j gateway to a launched JVM when that is ready. Raises SparkError if the JVM ends before."""
    from pyspark import java_gateway

    patience_ends = time.monotonic() + (DOWNLOAD_TIMEOUT_S if jvm.packages else START_TIMEOUT_S)
    while not jvm.connection_file.exists():
        if jvm.process.poll() is not None or time.monotonic() > patience_ends:
            jvm.stop()
            _launched.remove(jvm)
            raise SparkError(_start_problem(jvm))
        time.sleep(_POLL_S)
    port, secret = _connection(jvm.connection_file.read_bytes())
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    try:
        gateway: Any = java_gateway.launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    _gateways.append(gateway)
    gateway.proc = jvm.process
    for folder in jvm.folders:
        gateway.jvm.java.io.File(str(folder.path)).deleteOnExit()
    jvm.connection_file.unlink()
    hide_lost_connections()
    return gateway


def hide_lost_connections() -> None:
    """Keeps PySpark's accumulator server from printing a traceback when the JVM ends while it is connected: the running
    job reports that in one sentence."""
    from pyspark.accumulators import AccumulatorTCPServer

    AccumulatorTCPServer.handle_error = _ignore_lost_connection  # type: ignore[method-assign, assignment]


def _start_problem(jvm: Jvm) -> str:
    """Returns why the JVM has not started, in one sentence."""
    printed = jvm.printed()
    if jvm.packages and any(text in printed for text in _UNRESOLVED):
        return (
            f"Spark cannot download {jvm.packages[0]}, which it needs to open the dataset: make Maven Central "
            f"reachable, put the jars into {spark_home() / 'jars'}, or use a cluster that has them (--master, --remote)"
        )
    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if handles != resource.RLIM_INFINITY and handles < _LEAST_HANDLES:
        return (
            f"Spark's JVM does not start with {handles} file handles: raise the limit to {_LEAST_HANDLES} (ulimit -n)"
        )
    return f"Spark's JVM does not start: {_one_line(printed)}"


def _ignore_lost_connection(server: object, request: object, client_address: object) -> None:
    """Does nothing, in place of socketserver's method that prints a traceback."""


def _connection(written: bytes) -> tuple[int, str]:
    """Returns the port and the secret in the file that PythonGatewayServer writes: the port and the length of the
    secret as big-endian integers, then the secret."""
    port, n_bytes = struct.unpack_from(">ii", written)
    return port, written[8 : 8 + n_bytes].decode()


def current_jvm() -> Jvm | None:
    """Returns the JVM that this process launched last; None if it launched none."""
    return _launched[-1] if _launched else None


def exit_cause(jvm: Jvm) -> str | None:
    """Returns how a JVM has ended, such as `was killed by SIGKILL`; None while it runs."""
    try:
        code = jvm.process.wait(1)
    except subprocess.TimeoutExpired:
        return None
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _one_line(printed: str) -> str:
    return " ".join(printed.split()[:_SHOWN_WORDS]) or "it printed nothing"
