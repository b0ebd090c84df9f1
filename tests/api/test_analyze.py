"""`kafkascope.analyze`: the command's options by their names, its errors and warnings as Python's."""

import shutil
import typing
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer.main

import kafkascope
from kafkascope import analysis
from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "fixtures" / "captures" / "pieces" / "path_cut.pcap.zst"
NOT_FROM_PYTHON = {"captures", "out", "quiet", "format", "fail_on", "html", "markdown", "perfetto", "sarif", "junit"}
"""Arguments of their own, and forms of output: Python has the report as objects."""


def test_it_takes_the_options_of_the_command() -> None:
    command: Any = typer.main.get_command(app).get_command(None, "analyze")  # type: ignore[attr-defined]
    known = {option.name: option for option in command.params if option.name not in NOT_FROM_PYTHON}
    hints = get_type_hints(analysis.AnalyzeOptions)
    assert set(hints) == set(known)
    assert {name for name, kind in hints.items() if kind is bool} == {n for n, o in known.items() if o.is_flag}
    repeated = {name for name, kind in hints.items() if "Sequence" in str(typing.get_args(kind))}
    assert repeated == {name for name, option in known.items() if option.multiple}


def test_options_become_words() -> None:
    options = {"records": True, "append": False, "jobs": 2, "tls_keylog": [Path("a"), "b"], "stall": None}
    assert list(analysis._as_words(options)) == ["--records", "--jobs=2", "--tls-keylog=a", "--tls-keylog=b"]


@pytest.mark.slow
def test_without_java_it_warns_and_has_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="no stories were made") as warned:
        dataset = kafkascope.analyze(CAPTURE, jobs=1)
    assert warned[0].filename == __file__
    assert (tmp_path / "path_cut.kscope").is_dir()
    assert len(dataset["requests"]) > 0
    with pytest.raises(kafkascope.UsageError, match="is there already"):
        kafkascope.analyze([CAPTURE])


@pytest.mark.parametrize(
    ("captures", "options", "error", "sentence"),
    [
        ("none.pcap", {}, kafkascope.CaptureError, r"none\.pcap: no such file or directory"),
        ([], {}, kafkascope.UsageError, "name the captures"),
        ("a.pcap", {"stal": "2s"}, kafkascope.UsageError, "No such option: --stal .*--stall"),
        ("a.pcap", {"stall": "1"}, kafkascope.CaptureError, r"a\.pcap: no such file"),
        ("a.pcap", {"stall": "soon"}, kafkascope.UsageError, "soon"),
    ],
)
def test_errors_are_the_sentences_of_the_command(
    captures: Any, options: Any, error: type[Exception], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=f"^{sentence}" if not options else sentence) as raised:
        kafkascope.analyze(captures, tmp_path / "out.kscope", **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "said", "error"),
    [
        (4, '{"error": "Spark ran out of memory", "exit_code": 4}', kafkascope.SparkError),
        (1, "Traceback (most recent call last):\nKeyError: 1", RuntimeError),
        (130, "", KeyboardInterrupt),
    ],
)
def test_how_the_command_may_end(
    code: int, said: str, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    ends = f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit {code}\n"
    program = tmp_path / "python"
    program.write_text(ends)
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    tables_only = tmp_path / "tables.kscope"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(error):
        kafkascope.analyze(CAPTURE, tables_only if code != 4 else _without_stories(place, tmp_path))
    if code == 4:
        with pytest.warns(UserWarning, match="Spark ran out of memory"):  # the dataset has its stories
            assert kafkascope.analyze(CAPTURE, place).uri == kafkascope.open(place).uri


def _without_stories(place: Path, folder: Path) -> Path:
    """A copy of the dataset whose manifest lists no table of the stories."""
    copy = folder / "copy.kscope"
    shutil.copytree(place, copy)
    manifest = Dataset.open(copy).manifest
    tables = {name: files for name, files in manifest.files.items() if not name.startswith("stories/")}
    (copy / MANIFEST).write_text(manifest.with_files(tables).to_json(), "utf-8")
    return copy
