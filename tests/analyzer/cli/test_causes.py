"""A cause has the same exit code in every command: the table of docs/commands.md, command by command."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def causes(load_module: Callable[[Path], ModuleType]) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    found: tuple[tuple[str, int, tuple[str, ...]], ...] = load_module(ROOT / "scripts/reference/commands.py").CAUSES
    return found


def test_each_cause_ends_every_command_alike(
    causes: tuple[tuple[str, int, tuple[str, ...]], ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    load_module: Callable[[Path], ModuleType],
) -> None:
    small = load_module(ROOT / "tests/analyzer/report/small_dataset.py")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "F").write_bytes(b"x")
    (tmp_path / "D").mkdir()
    small.write_dataset(tmp_path / "S")
    for cause, code, lines in causes:
        for line in lines:
            if " N" in line:
                continue  # test_endings has a capture without Kafka
            result = CliRunner().invoke(app, line.split())
            assert result.exit_code == code, (cause, line, result.stderr)
            errors = [text for text in result.stderr.splitlines() if text.startswith("kafkascope: ")]
            assert len(errors) == 1, (cause, line, result.stderr)


def test_what_is_no_dataset_is_none_for_every_command(
    causes: tuple[tuple[str, int, tuple[str, ...]], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "D").mkdir()
    (tmp_path / "F").write_bytes(b"x")
    _, code, lines = causes[0]
    for line in lines:
        for place in "DF":
            result = CliRunner().invoke(app, line.replace("X", place).split())
            assert result.exit_code == code, (line, place, result.stderr)
