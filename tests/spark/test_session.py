"""Sizes, options and the choice of the session; what starts a JVM is in test_failures and test_stories."""

import glob
import os
import pathlib
import shlex
import socket
import socketserver
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

import kafkascope_spark
from kafkascope_parsers.errors import SparkError, UsageError
from kafkascope_spark.session import (
    LARGE_REQUESTS,
    SessionSize,
    is_embedded,
    java_problem,
    open_session,
    session,
    size_for_events,
    size_for_input,
    size_for_queries,
    size_for_requests,
)
from kafkascope_spark.session.class_archive import class_archive_option, keep_class_archive
from kafkascope_spark.session.gateway import connect, hide_lost_connections, launch, launch_options, spark_home
from kafkascope_spark.session.java import find_java, java_release
from kafkascope_spark.session.jvm_options import LARGE_EVENTS, LARGE_QUERY_ROWS, cluster_options, options_for
from kafkascope_spark.session.workers import executor_problem, python_mismatch


@pytest.mark.parametrize(
    ("printed", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("sh: something else", None),
    ],
)
def test_release_is_read_from_the_output_of_java(printed: str, release: int | None) -> None:
    assert java_release(printed) == release


def fake_java(folder: pathlib.Path, version: str) -> None:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


@pytest.mark.parametrize("has_release_file", [False, True])
def test_java_home_wins_and_old_java_is_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, has_release_file: bool
) -> None:
    fake_java(tmp_path, "11.0.2")
    if has_release_file:
        (tmp_path / "release").write_text('IMPLEMENTOR="Debian"\nJAVA_VERSION="11.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    problem = java_problem()
    assert problem is not None
    assert "11" in problem
    assert "17" in problem
    assert "install" in problem


def test_the_release_file_agrees_with_java_itself() -> None:
    java = find_java()
    assert java is not None
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    from kafkascope_spark.session.java import _installed_release

    assert _installed_release(pathlib.Path(java)) in (None, java_release(printed))


def test_java_17_is_no_problem(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_problem() is None


def test_no_java_at_all_says_what_to_install(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install" in (java_problem() or "")


def test_archive_is_written_once_then_used(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = class_archive_option("/usr/bin/java", ("-cp", "a"), [])
    assert first is not None
    assert first.startswith("-XX:ArchiveClassesAtExit=")
    part = pathlib.Path(first.partition("=")[2])
    assert class_archive_option("/usr/bin/java", ("-cp", "a"), []) is None, "another JVM writes it"
    part.write_bytes(bytes(64) + b"regions")
    assert class_archive_option("/usr/bin/java", ("-cp", "a"), []) is None, "it is not complete"
    (claim,) = part.parent.glob("*.claim")
    os.utime(claim, (0, 0))
    again = class_archive_option("/usr/bin/java", ("-cp", "a"), [])
    assert str(again).startswith("-XX:ArchiveClassesAtExit="), "the other JVM was killed"
    part.write_bytes(b"magic".ljust(64, b"\0") + b"regions")
    after_failure = class_archive_option("/usr/bin/java", ("-cp", "a"), [])
    assert str(after_failure).startswith("-XX:ArchiveClassesAtExit="), "that run did not do its work"
    assert not part.exists()
    part.write_bytes(b"magic".ljust(64, b"\0") + b"regions")
    keep_class_archive()
    assert str(class_archive_option("/usr/bin/java", ("-cp", "a"), [])).startswith("-XX:SharedArchiveFile=")
    assert not part.exists()
    other = class_archive_option("/usr/bin/java", ("-cp", "b"), [])
    assert str(other).startswith("-XX:ArchiveClassesAtExit="), "another class path does not fit this archive"


@pytest.mark.parametrize("change", ["size", "time"])
def test_archive_is_made_anew_for_jars_that_were_installed_again(
    change: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM refuses an archive of jars of another size or time (OpenJDK's SharedClassPathEntry::validate)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"classes")

    def option() -> str:
        return str(class_archive_option("/usr/bin/java", ("-cp", str(jar)), [jar]))

    pathlib.Path(option().partition("=")[2]).write_bytes(b"magic".ljust(64, b"\0") + b"regions")
    keep_class_archive()
    assert option().startswith("-XX:SharedArchiveFile=")
    if change == "size":
        times = jar.stat().st_mtime_ns
        jar.write_bytes(b"other classes")
        os.utime(jar, ns=(times, times))
    else:
        os.utime(jar, (1_700_000_000, 1_700_000_000))
    assert option().startswith("-XX:ArchiveClassesAtExit=")


def test_archives_that_no_run_uses_are_removed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = class_archive_option("/usr/bin/java", ("-cp", "a"), [])
    part = pathlib.Path(str(first).partition("=")[2])
    part.write_bytes(b"magic".ljust(64, b"\0") + b"regions")
    keep_class_archive()
    used = pathlib.Path(str(class_archive_option("/usr/bin/java", ("-cp", "a"), [])).partition("=")[2])
    unused, foreign = used.with_name("spark-4.0.0-0123456789ab.jsa"), used.with_name("notes.txt")
    for file in (used, unused, foreign):
        file.touch()
        os.utime(file, (0, 0))
    class_archive_option("/usr/bin/java", ("-cp", "a"), [])
    class_archive_option("/usr/bin/java", ("-cp", "b"), [])
    assert [used.exists(), unused.exists(), foreign.exists()] == [True, False, True]


def test_the_command_has_what_sparks_own_launcher_passes() -> None:
    """Oracle: org.apache.spark.launcher.Main, which bin/spark-class runs."""
    java = find_java()
    assert java is not None
    environment = os.environ | {"SPARK_HOME": str(spark_home()), "SPARK_SCALA_VERSION": "2.13"}
    spark = ("org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit", "pyspark-shell")
    command = [java, "-cp", f"{spark_home()}/jars/*", *spark]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    theirs = [x for x in printed.strip("\0\n ").replace("\n", "\0").split("\0") if x]
    options = {x for x in theirs if x.startswith("-") and x not in ("-cp", "-Xmx1g")}
    unused = {"--add-modules=jdk.incubator.vector", "-Dderby.connection.requireAuthentication=false"}
    assert options - unused == set(launch_options()[2:]), "Spark's launcher passes other options"
    first, all_jars = theirs[theirs.index("-cp") + 1].split(":")[-2:]
    ours = launch_options()[1].split(":")
    left_out = {jar for jar in glob.glob(f"{all_jars}.jar") if jar not in ours}
    assert ours[0] == first
    assert {*ours, *left_out} == set(glob.glob(f"{all_jars}.jar"))
    assert [pathlib.Path(jar).name.partition("_")[0] for jar in left_out] == ["spark-mllib"]


def test_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option goes before SPARK_REMOTE, a master is a cluster, neither is this process."""
    opened: list[tuple[str, object]] = []

    def record(name: str, where: object, connector: object = None, **_: object) -> MagicMock:
        opened.append((name, where))
        return MagicMock()

    for name in ("_connected", "_on_cluster", "_embedded"):
        monkeypatch.setattr(session, name, partial(record, name))
    monkeypatch.setattr(session, "check_executors", lambda checked: opened.append(("check", None)))
    monkeypatch.setattr(session, "active_session", lambda: None)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    open_session(size=SessionSize.LARGE)
    open_session(None, "sc://a:15002")
    open_session("spark://m:7077")
    monkeypatch.setenv("SPARK_REMOTE", "sc://b:15002")
    open_session()
    open_session(None, "sc://a:15002")
    open_session("spark://m:7077")
    check = ("check", None)
    assert opened == [
        ("_embedded", SessionSize.LARGE),
        *(("_connected", "sc://a:15002"), check),
        *(("_on_cluster", "spark://m:7077"), check),
        *(("_connected", "sc://b:15002"), check),
        *(("_connected", "sc://a:15002"), check),
        *(("_on_cluster", "spark://m:7077"), check),
    ]
    assert not is_embedded(None)
    monkeypatch.delenv("SPARK_REMOTE")
    assert is_embedded(None)
    assert not is_embedded(None, "sc://a:15002")


def test_a_session_that_somebody_else_opened_keeps_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    active = MagicMock()
    active.conf.get.return_value = None
    checked: list[object] = []
    monkeypatch.setattr(session, "active_session", lambda: active)
    monkeypatch.setattr(session, "check_executors", checked.append)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert open_session(size=SessionSize.LARGE) is active
    active.conf.set.assert_not_called()
    assert checked == [active]


@pytest.mark.parametrize("active", [None, MagicMock()])
def test_a_master_is_given_options_only_for_a_new_session(
    active: MagicMock | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = MagicMock()
    builder.appName().master.return_value = builder
    builder.config.return_value = builder
    monkeypatch.setattr("pyspark.sql.SparkSession.builder", builder)
    monkeypatch.setattr(session, "active_session", lambda: active)
    monkeypatch.setattr(session, "check_executors", lambda checked: None)
    monkeypatch.setattr(session, "class_archive_option", lambda java, options, jars: None)
    there = open_session("spark://m:7077")
    assert builder.config.called == (active is None)
    there.conf.set.assert_not_called()  # type: ignore[attr-defined]


@pytest.mark.parametrize("quiet", [False, True])
def test_with_q_the_jvm_of_a_master_prints_nothing_here(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither while the session opens nor afterwards, but for what it printed where it does not open."""
    launched: list[subprocess.Popen[bytes]] = []

    def launch() -> None:
        print_lines = ["sh", "-c", "echo WARN first >&2; read line; echo WARN later >&2"]
        launched.append(subprocess.Popen(print_lines, stdin=subprocess.PIPE))
        time.sleep(0.2)

    def fail() -> None:
        subprocess.run(["sh", "-c", "echo no such master >&2"], check=True)
        raise RuntimeError("gone")

    builder = MagicMock()
    builder.appName().master().config().getOrCreate.side_effect = launch
    monkeypatch.setattr("pyspark.sql.SparkSession.builder", builder)
    monkeypatch.setattr(session, "active_session", lambda: None)
    monkeypatch.setattr(session, "check_executors", lambda checked: None)
    open_session("spark://m:7077", quiet=quiet)
    launched[0].communicate(b"go on\n")
    assert capfd.readouterr().err == ("" if quiet else "WARN first\nWARN later\n")
    builder.appName().master().config().getOrCreate.side_effect = fail
    with pytest.raises(UsageError, match="no Spark session at spark://m:7077: gone"):
        open_session("spark://m:7077", quiet=quiet)
    assert capfd.readouterr().err == "no such master\n"


def test_only_the_driver_on_a_cluster_writes_an_archive_and_executors_use_it() -> None:
    driver, executor = "spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions"
    without = cluster_options(None)
    assert without[driver] == without[executor]
    writes, uses = "-XX:ArchiveClassesAtExit=/a b/c.part", "-XX:SharedArchiveFile=/a b/c.jsa"
    assert shlex.split(cluster_options(writes)[driver]) == [*shlex.split(without[driver]), writes]
    assert cluster_options(writes)[executor] == without[executor]
    for jvm in (driver, executor):
        assert shlex.split(cluster_options(uses)[jvm]) == [*shlex.split(without[jvm]), uses]


def test_an_embedded_session_takes_the_settings_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """analyze opens it before it knows how many requests the captures have."""
    ours = MagicMock()
    ours.conf.get.return_value = "true"
    monkeypatch.setattr(session, "active_session", lambda: ours)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    open_session(size=SessionSize.LARGE)
    ours.conf.set.assert_any_call("spark.sql.codegen.wholeStage", "true")
    ours.conf.set.assert_any_call("spark.sql.shuffle.partitions", "8")


def test_master_and_remote_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        open_session("spark://m:7077", "sc://a:15002")


def test_connect_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pyspark\[connect\]"):
        open_session(None, "sc://a:15002")


def test_the_size_follows_the_work() -> None:
    assert size_for_requests(LARGE_REQUESTS - 1) is SessionSize.SMALL
    assert size_for_requests(LARGE_REQUESTS) is SessionSize.LARGE
    assert size_for_input(LARGE_REQUESTS * 200) is SessionSize.LARGE, "so many bytes may hold as many requests"
    assert size_for_input(10_000_000) is SessionSize.SMALL
    assert size_for_input(None) is SessionSize.LARGE, "a stream may be of any length"
    assert size_for_events(LARGE_EVENTS - 1) is SessionSize.SMALL
    assert size_for_events(LARGE_EVENTS) is SessionSize.LARGE
    assert size_for_queries(LARGE_QUERY_ROWS - 1) is SessionSize.SMALL
    assert size_for_queries(LARGE_QUERY_ROWS) is SessionSize.LARGE


def test_both_sizes_set_the_same_sql_settings() -> None:
    """So that a session can be given the other size's while it runs."""
    small, large = (options_for(size) for size in SessionSize)
    assert small.sql.keys() == large.sql.keys()
    assert "-XX:TieredStopAtLevel=1" in small.jvm
    assert {size.jvm.count("-Xmx2g") for size in (small, large)} == {1}


def test_a_jvm_that_does_not_start_is_explained() -> None:
    java = find_java()
    assert java is not None
    with pytest.raises(SparkError, match=r"Spark's JVM does not start: .*Could not create the Java Virtual Machine"):
        connect(launch(java, ("-XX:NoSuchOption",)))
    with pytest.raises(SparkError, match=r"/no/java: No such file"):
        launch("/no/java", ())


@pytest.mark.parametrize("hidden", [False, True])
def test_a_jvm_that_ends_leaves_no_traceback(
    hidden: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A JVM that ends closes its connection to PySpark's server of accumulators, which raises EOFError. When it prints
    nothing by itself, `hide_lost_connections` can go."""
    from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler

    monkeypatch.setattr(AccumulatorTCPServer, "handle_error", socketserver.TCPServer.handle_error)
    if hidden:
        hide_lost_connections()
    with AccumulatorTCPServer(("127.0.0.1", 0), UpdateRequestHandler, "token") as server:
        with socket.create_connection(server.server_address) as jvm:
            jvm.sendall(b"token")
        server.handle_request()
    assert ("EOFError" in capfd.readouterr().err) is not hidden


def test_the_version_is_the_packages() -> None:
    assert kafkascope_spark.__version__ == version("kafkascope")


@pytest.mark.parametrize(
    ("ours", "arrow", "part"),
    [
        ("", "18.0.0", r"the executors have no kafkascope: install it there, or pass it with --py-files"),
        ("0.0.1", "18.0.0", r"version 0\.0\.1, not"),
        (kafkascope_spark.__version__, "", r"the executors have no pyarrow"),
    ],
)
def test_what_executors_lack_is_one_sentence(ours: str, arrow: str, part: str) -> None:
    problem = executor_problem(ours, arrow)
    assert problem is not None
    assert "\n" not in problem
    with pytest.raises(UsageError, match=part):
        raise UsageError(problem)


def test_an_executor_that_fits_is_no_problem() -> None:
    assert executor_problem(kafkascope_spark.__version__, "18.0.0") is None


def test_another_python_on_the_executors_is_one_sentence() -> None:
    why = "PythonException\n[PYTHON_VERSION_MISMATCH] Python in worker: 3.9, driver: 3.11.\nat a.b"
    sentence = python_mismatch(why)
    assert "PYSPARK_PYTHON" in sentence
    assert "Python in worker: 3.9, driver: 3.11." in sentence
    assert "\n" not in sentence


def test_an_executor_without_the_package_gets_the_check_as_code() -> None:
    """The function must not be pickled as a reference to our module, which an executor may lack."""
    import sys

    from pyspark import cloudpickle

    from kafkascope_spark.session.workers import _describe_executor

    code = cloudpickle.dumps(_describe_executor())
    hidden = "import sys, pickle; sys.path[:0] = {paths}; sys.modules['kafkascope_spark'] = None\n"
    program = hidden.format(paths=[p for p in sys.path if p]) + f"print(repr(pickle.loads({code!r})(0)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(r"'\t")


@pytest.mark.spark
def test_queries_use_the_workers_that_were_started_early(spark: Any) -> None:
    """Spark starts another daemon for workers with other variables of the environment, and that one loads everything
    again. Workers that load PySpark from the archive of its sources compile it each time."""

    def of_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"daemon": [os.getppid()], "loaded_from": [str(pyspark.__file__)]})

    early = spark.sparkContext.parallelize([0], 1).map(lambda _: os.getppid()).collect()
    (row,) = spark.range(1).coalesce(1).mapInArrow(of_worker, "daemon long, loaded_from string").collect()
    assert early == [row.daemon]
    assert pathlib.Path(row.loaded_from).is_file()
