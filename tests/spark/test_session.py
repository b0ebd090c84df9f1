import os
import pathlib

import pytest

from kafkascope_spark.session import class_archive_option, java_problem, java_release


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
