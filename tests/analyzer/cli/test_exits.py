import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_parsers.errors import CaptureError, DamagedDatasetError, SparkError, UsageError

CAPTURE = str(Path(__file__).parents[3] / "fixtures" / "captures" / "mid_stream-any.pcap.zst")


@pytest.fixture
def small_here(small: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small dataset in the current directory."""
    monkeypatch.chdir(tmp_path)
    return str(small.write_dataset(tmp_path / "small.kscope"))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("say --jsonl"), 2, "kafkascope: say --jsonl\n"),
        (CaptureError("not a capture", name="a.pcap", byte=7), 3, "kafkascope: a.pcap: byte 7: not a capture\n"),
        (DamagedDatasetError("a.parquet: damaged"), 3, "kafkascope: a.parquet: damaged\n"),
        (SparkError("Spark failed: the disk is full"), 4, "kafkascope: Spark failed: the disk is full\n"),
        (KeyboardInterrupt(), 130, "kafkascope: interrupted\n"),
    ],
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == said


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stage", "arguments", "left"),
    [
        ("kafkascope_analyzer.sql.database.Database.query", ["sql", "{}", "select 1"], ""),
        ("kafkascope_analyzer.report.model.compare.comparison", ["diff", "{}", "{}"], ""),
        ("kafkascope_analyzer.report.model.clusters.report_of", ["report", "{}", "--html", "x.html"], ""),
        (
            "kafkascope_analyzer.cli.report.write_report_files",
            ["report", "{}", "--html", "x.html"],
            ": nothing was written",
        ),
        ("kafkascope_analyzer.dataset.new_dataset.scratch_folders", ["clean", "{}", "--dry-run"], ""),
        (
            "kafkascope_analyzer.dataset.new_dataset.remove_leftovers",
            ["clean", "{}"],
            ": some files may have been removed; `kafkascope clean {}` goes on",
        ),
        ("kafkascope_analyzer.cli.ingest.write_tables", ["ingest", CAPTURE, "-o", "y.kscope"], ": nothing was written"),
        (
            "kafkascope_analyzer.cli.ingest.show_overview",
            ["ingest", CAPTURE, "-o", "y.kscope"],
            ": the dataset y.kscope is whole",
        ),
        (
            "kafkascope_analyzer.cli.cut_piece.copy_packets",
            ["cut", CAPTURE, "--from", "+0", "-o", "y.pcapng"],
            ": nothing was written",
        ),
    ],
)
def test_each_command_says_what_an_interruption_left(
    stage: str, arguments: list[str], left: str, small_here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, interrupt)
    done = CliRunner().invoke(app, [each.format(small_here) for each in arguments])
    assert (done.exit_code, done.stderr) == (130, f"kafkascope: interrupted{left.format(small_here)}\n")


def test_a_defect_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), exit_codes():
        raise ZeroDivisionError


def test_sigterm_is_an_interruption() -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.exit_code == 130
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def compile_and_fail() -> None:
    """A library that answers an interruption with an exception of its own, as numba's cache does."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("no compiled object yet") from None


def test_an_error_that_an_interruption_caused_is_an_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        compile_and_fail()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "kafkascope: interrupted\n"


class InterruptedWhenDestroyed:
    """Python ignores the KeyboardInterrupt that the signal's handler raises here."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def destroy_and_go_on() -> None:
    InterruptedWhenDestroyed()
    time.sleep(30)


def test_an_interruption_that_python_ignored_comes_again(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        destroy_and_go_on()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "kafkascope: interrupted\n"


def test_a_reader_that_goes_away_makes_no_noise() -> None:
    program = """
import typer
from kafkascope_analyzer.cli.exits import exit_codes

def command():
    with exit_codes():
        print("x" * 1_000_000)

typer.run(command)
"""
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.close()
    noise = run.stderr.read().decode()
    assert (run.wait(), noise) == (141, "")


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "kafkascope_analyzer.cli", "sql", "--list"]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr == (
        "kafkascope: standard output cannot be written: no space left on its device; free some, or write elsewhere\n"
    )
