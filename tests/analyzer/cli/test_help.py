import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli import exits
from kafkascope_analyzer.cli.app import COMMANDS, app


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"kafkascope {command}" in result.output or command in result.output


def test_help_lists_the_commands_that_users_need() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    assert [command for command in COMMANDS if f"\n  {command}" not in text] == []


def test_help_prints_descriptions_whole_and_all_exit_codes() -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "..." not in text.partition("Commands:")[2].replace("select ... from", "")
    assert "Write the whole dataset, tables and stories and report.json, and print the report." in text
    for code in (exits.FOUND, exits.USAGE, exits.UNREADABLE, exits.SPARK_FAILED, exits.NO_KAFKA, exits.INTERRUPTED):
        assert f" {code} " in text.partition("Exit codes:")[2]


def test_completion_installs_and_completes(tmp_path: Path) -> None:
    """Typer looks among the parent processes for the shell: here the next one is bash, whoever runs the tests."""

    def kafkascope(*args: str, **more: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path), **more}
        command = ["bash", "-c", '"$@"; exit $?', "bash", sys.executable, "-m", "kafkascope_analyzer.cli", *args]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout

    kafkascope("--install-completion")
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert script.read_text().rstrip().endswith("-F _kafkascope_completion kafkascope")
    words = {"_KAFKASCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "kafkascope t", "COMP_CWORD": "1"}
    assert kafkascope(**words).split() == ["timeline", "topology", "tables"]


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("kafkascope 0.")


@pytest.mark.parametrize("args", [[], ["analyze"], ["nonsense"], ["ingest", "--nonsense", "x"], ["info"]])
def test_wrong_usage_is_exit_code_2(args: list[str]) -> None:
    assert CliRunner().invoke(app, args).exit_code == 2


@pytest.mark.parametrize(
    "args",
    [
        ["analyze", "x", "-o", "a.kscope", "-ob.kscope"],
        ["report", "x", "--html", "a", "--html=b"],
        ["sql", "x", "--run", "a", "--run", "b"],
        ["cut", "x", "-o", "a", "--margin", "1s", "--margin", "2s"],
    ],
)
def test_an_option_of_one_value_is_not_dropped_where_it_is_given_twice(args: list[str]) -> None:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2
    assert "is given twice, and takes one value" in result.output


def test_the_value_of_an_option_may_look_like_an_option() -> None:
    result = CliRunner().invoke(app, ["sql", "none.kscope", "--run", "--run"])
    assert "given twice" not in result.output


def test_a_value_that_does_not_fit_is_one_sentence() -> None:
    """Without the name of the exception that the library has for it."""
    printed = CliRunner().invoke(app, ["info", "--format", "nope", "x"]).output
    assert "Invalid value for '--format': 'nope' is not one of 'rich', 'plain', 'json'." in printed


def test_nothing_heavy_is_imported_for_the_help() -> None:
    program = "import sys, kafkascope_analyzer.cli.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"numba", "numpy", "pyarrow", "pyspark", "pandas"} & set(loaded) == set()
