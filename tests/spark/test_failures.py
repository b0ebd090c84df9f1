"""Failures of a real Spark: each ends with one sentence on standard error and exit code 4.

A heap that is exhausted, and Ctrl-C during a job, are tried with `analyze` (tests/analyzer/cli/test_analyze.py).
"""

import os
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest

from kafkascope_parsers.errors import SparkError
from kafkascope_spark.failures import failure_sentence, spark_failures
from kafkascope_spark.session import gateway

TIMEOUT_S = 240
PROGRAM = """
import os, pathlib, signal, sys, typer
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_spark.failures import spark_failures
from kafkascope_spark.session import open_session
from kafkascope_spark.session.gateway import current_jvm

def job(session, work):
    return session.range(4).mapInArrow(work, "id long").toArrow()

def ended(run):
    try:
        with exit_codes(), spark_failures():
            run()
    except typer.Exit as done:
        print(done.exit_code, flush=True)

session = open_session()
"""


def outcome(program: str) -> tuple[list[str], list[str]]:
    """Lines of standard output and standard error of a program after PROGRAM."""
    command = [sys.executable, "-c", PROGRAM + textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.fixture
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have launched a JVM, which has ended."""
    monkeypatch.setattr(gateway, "_launched", [])


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[str, str]]:
    """Exit code and sentence of a query that fails, then of workers that fail, then of a JVM that is killed: a session
    goes on after all but the last."""
    codes, sentences = outcome("""
        def exits(batches):
            os._exit(9)
            yield from batches

        def exhausts_memory(batches):
            bytearray(1 << 62)
            yield from batches

        def fills_the_disk(batches):
            with open("/dev/full", "wb") as full:
                full.write(bytes(1 << 16))
            yield from batches

        def is_wrong(batches):
            {}["partition"]
            yield from batches

        def kills_the_jvm(batches):
            os.kill(jvm_pid, signal.SIGKILL)
            yield from batches

        ended(lambda: session.sql("select cast('x' as int)").toArrow())
        for work in (exits, exhausts_memory, fills_the_disk, is_wrong):
            ended(lambda: job(session, work))
        jvm_pid = current_jvm().process.pid
        ended(lambda: job(session, kills_the_jvm))
        ended(lambda: session.range(4).count())
    """)
    assert len(codes) == len(sentences) == 7, sentences
    return list(zip(codes, sentences, strict=True))


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_that_fails(outcomes: list[tuple[str, str]]) -> None:
    code, sentence = outcomes[0]
    assert code == "4"
    assert "CAST_INVALID_INPUT" in sentence


@pytest.mark.spark
@pytest.mark.slow
def test_workers_that_fail_and_a_jvm_that_is_killed(outcomes: list[tuple[str, str]]) -> None:
    expected = [
        "a Python worker of Spark ended unexpectedly",
        "a Python worker of Spark ran out of memory",
        "the disk is full",
        "KeyError: 'partition'",
        "its JVM was killed by SIGKILL",
        "its JVM was killed by SIGKILL",
    ]
    for (code, sentence), part in zip(outcomes[1:], expected, strict=True):
        assert code == "4"
        assert sentence.startswith("kafkascope: Spark failed: ")
        assert part in sentence


@pytest.mark.lab
def test_executors_without_our_packages_are_named_before_any_job(tmp_path: pathlib.Path) -> None:
    """The executors run an empty Python environment of the same version."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
    program = """
        import sys
        from kafkascope_analyzer.cli.exits import exit_codes
        from kafkascope_spark.session import open_session
        with exit_codes():
            open_session("local[2]")
    """
    environment = os.environ | {
        "PYSPARK_PYTHON": str(tmp_path / "empty" / "bin" / "python"),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell",
        # This JVM lives for some seconds: the second compiler would take longer than it saves.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert "kafkascope: the executors have no pyarrow: install it there (pip install pyarrow)" in done.stderr


INTERRUPTED_LAUNCH = """
import os, signal, subprocess, sys
from kafkascope_spark.session import gateway

class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGINT)

gateway.subprocess.Popen = Interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
gateway.launch(sys.argv[1], ())
"""


def test_an_interruption_while_the_jvm_is_launched_leaves_no_jvm(tmp_path: pathlib.Path) -> None:
    """A program that sleeps in place of the java command."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o755)
    command = [sys.executable, "-c", INTERRUPTED_LAUNCH, str(java)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert "KeyboardInterrupt" in done.stderr
    assert not pathlib.Path(f"/proc/{int(done.stdout)}").exists()


CONNECTED = """
from kafkascope_spark.session import open_session
from kafkascope_spark.session.gateway import current_jvm

open_session(None)
print(current_jvm().process.pid)
"""


@pytest.mark.slow
def test_a_process_that_has_ended_leaves_no_jvm_and_no_folder(tmp_path: pathlib.Path) -> None:
    """At once, and not a moment later: a container ends with its first process. Without a cache: the JVM that writes
    the archive of Spark's classes goes on after the process."""
    environment = os.environ | {"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": "/dev/null"}
    command = [sys.executable, "-c", CONNECTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert not pathlib.Path(f"/proc/{int(done.stdout)}").exists()
    assert os.listdir(tmp_path) == []


@pytest.mark.lab
def test_the_first_jvm_writes_the_archive_after_the_process_has_ended(tmp_path: pathlib.Path) -> None:
    """What becomes of the files is shown without a JVM (test_session.py)."""
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", CONNECTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    until = time.monotonic() + TIMEOUT_S
    while pathlib.Path(f"/proc/{int(done.stdout)}").exists() and time.monotonic() < until:
        time.sleep(0.1)
    (archive,) = cache.glob("kafkascope/spark-*.part")
    with archive.open("rb") as file:
        assert file.read(4) != bytes(4)
    assert os.listdir(temporary) == []


@pytest.mark.usefixtures("no_jvm")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Job aborted\nCaused by: java.io.IOException: No space left on device", "the disk is full"),
        ("org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY]", "the heap of Spark's JVM"),
        ("SparkException: Not enough memory to build and broadcast the table to all worker", "the heap of Spark's JVM"),
        ("ExecutorLostFailure (executor 3 exited caused by one of the running tasks)", "an executor was lost"),
        ("thrown:\nTraceback (most recent call last):\n  File x\nKeyError: 'partition'\n", "KeyError: 'partition'"),
        ("Caused by: java.lang.ClassNotFoundException: Class a.S3AFileSystem not found", "no connector for"),
        ('o.a.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"', "no connector for"),
        ("software.amazon.awssdk.core.exception.SdkClientException: Unable to load credentials from", "no credentials"),
        ("java.nio.file.AccessDeniedException: s3a://b/x: getFileStatus on s3a://b/x", "S3 refuses the credentials"),
        (
            "Traceback (most recent call last):\n  File x\nkafkascope_parsers.errors.UsageError: s3://b/x: no\n",
            "Spark failed: a Python worker of Spark reports: s3://b/x: no",
        ),
        ("Job aborted\n\tat a.B.c\nCaused by: java.lang.IllegalStateException: two writers", "two writers"),
    ],
)
def test_the_cause_decides_the_sentence(text: str, part: str) -> None:
    with pytest.raises(SparkError) as failed, spark_failures():
        raise OSError(text)
    assert part in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.usefixtures("no_jvm")
def test_a_defect_of_ours_keeps_its_exception() -> None:
    with pytest.raises(ZeroDivisionError), spark_failures():
        raise ZeroDivisionError


@pytest.mark.usefixtures("no_jvm")
def test_a_failure_without_a_message_is_named_by_its_type() -> None:
    assert failure_sentence(EOFError()) == "EOFError"
