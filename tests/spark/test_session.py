import os
import pathlib
from functools import partial
from unittest.mock import MagicMock

import pytest

from kafkascope_parsers.errors import UsageError
from kafkascope_spark import session
from kafkascope_spark.session import class_archive_option, is_embedded, java_problem, java_release, open_session


@pytest.mark.parametrize(
    ("told", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("sh: something else", None),
    ],
)
def test_release_is_read_from_what_java_prints(told: str, release: int | None) -> None:
    assert java_release(told) == release


def fake_java(folder: pathlib.Path, version: str) -> None:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


def test_java_home_wins_and_old_java_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    problem = java_problem()
    assert problem is not None
    assert "11" in problem
    assert "17" in problem
    assert "install" in problem


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
    first = class_archive_option()
    assert first.startswith("-XX:ArchiveClassesAtExit=")
    part = pathlib.Path(first.partition("=")[2])
    part.write_bytes(b"archive")
    assert class_archive_option().startswith("-XX:ArchiveClassesAtExit="), "it may still be written"
    os.utime(part, (0, 0))
    assert class_archive_option().startswith("-XX:SharedArchiveFile=")
    assert not part.exists()


def test_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option goes before SPARK_REMOTE, a master is a cluster, neither is this process."""
    asked: list[tuple[str, object]] = []

    def opened(name: str, where: object, *_: object, **__: object) -> MagicMock:
        asked.append((name, where))
        return MagicMock()

    for name in ("_connected", "_on_cluster", "_embedded"):
        monkeypatch.setattr(session, name, partial(opened, name))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    open_session(n_requests=7)
    open_session(None, "sc://a:15002")
    open_session("spark://m:7077")
    monkeypatch.setenv("SPARK_REMOTE", "sc://b:15002")
    open_session()
    open_session(None, "sc://a:15002")
    open_session("spark://m:7077")
    assert asked == [
        ("_embedded", 7),
        ("_connected", "sc://a:15002"),
        ("_on_cluster", "spark://m:7077"),
        ("_connected", "sc://b:15002"),
        ("_connected", "sc://a:15002"),
        ("_on_cluster", "spark://m:7077"),
    ]
    assert not is_embedded(None)
    monkeypatch.delenv("SPARK_REMOTE")
    assert is_embedded(None)
    assert not is_embedded(None, "sc://a:15002")


def test_few_requests_are_not_worth_compiled_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    there = MagicMock()
    monkeypatch.setattr(session, "_on_cluster", lambda _: there)
    open_session("spark://m:7077", n_requests=session.LARGE_REQUESTS)
    there.conf.set.assert_not_called()
    open_session("spark://m:7077", n_requests=session.LARGE_REQUESTS - 1)
    there.conf.set.assert_any_call("spark.sql.codegen.wholeStage", "false")


def test_master_and_remote_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        open_session("spark://m:7077", "sc://a:15002")


def test_connect_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pyspark\[connect\]"):
        open_session(None, "sc://a:15002")


@pytest.mark.parametrize(
    ("n_requests", "n_connections", "heap", "partitions"),
    [
        (10, 10, None, None),
        (1_000_000, 22, "480m", "8"),
        (1_000_000, 700_000, "1536m", "8"),
        (5_000_000, 22, "1536m", "8"),
    ],
)
def test_the_heap_follows_the_work(
    n_requests: int, n_connections: int, heap: str | None, partitions: str | None
) -> None:
    """A storm is many requests of few connections: it needs no more heap than Spark starts with."""
    jvm, options = session.sized(n_requests, n_connections)
    stormy = session.sized(n_requests, 22, has_storm=True)[1]
    assert stormy.get("spark.driver.memory") == (heap and "480m"), "however many errors"
    assert options.get("spark.driver.memory") == heap
    assert options.get("spark.sql.shuffle.partitions") == partitions
    assert ("TieredStopAtLevel=1" in jvm) == (n_requests < session.LARGE_REQUESTS)


@pytest.mark.parametrize(("n_requests", "is_short"), [(1_000_000, True), (10_000_000, False)])
def test_a_short_storm_has_one_compiler(n_requests: int, is_short: bool) -> None:
    jvm, _ = session.sized(n_requests, 22, has_storm=True)
    assert ("TieredStopAtLevel=1" in jvm) == is_short


def test_a_storm_has_a_partition_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    there = MagicMock()
    there.sparkContext.defaultParallelism = 3
    builder = MagicMock()
    builder.master().appName().config().getOrCreate.return_value = there
    monkeypatch.setattr("pyspark.sql.SparkSession.builder", builder)
    open_session(n_requests=1_000_000)
    there.conf.set.assert_not_called()
    open_session(n_requests=1_000_000, has_storm=True)
    there.conf.set.assert_called_once_with("spark.sql.shuffle.partitions", 3)
