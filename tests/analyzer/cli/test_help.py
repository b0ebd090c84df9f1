import subprocess
import sys

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app

COMMANDS = ["analyze", "ingest", "stories", "report", "timeline", "explain", "info", "topology", "cut", "sql", "tables"]
COMMANDS += ["decode", "protocol"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"kafkascope {command}" in result.output or command in result.output


def test_help_lists_the_commands_that_users_need() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    assert [command for command in COMMANDS if f"\n  {command}" not in text] == []


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("kafkascope 0.")


@pytest.mark.parametrize("args", [[], ["analyze"], ["nonsense"], ["ingest", "--nonsense", "x"], ["info"]])
def test_wrong_usage_is_exit_code_2(args: list[str]) -> None:
    assert CliRunner().invoke(app, args).exit_code == 2


def test_nothing_heavy_is_imported_for_the_help() -> None:
    program = "import sys, kafkascope_analyzer.cli.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"numba", "numpy", "pyarrow", "pyspark", "pandas"} & set(loaded) == set()
