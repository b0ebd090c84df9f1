"""`analyze` from capture to report: with Spark, without Java, and interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli import analyze as analyze_command
from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.report.schema import packaged_schema

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "healthy_basic.pcap.zst"
CLIENTS = {"svc-b-1": "producer", "indexer-2": "consumer", "worker-3": "consumer", "svc-b-4": "consumer"}
"""The clients of the capture, as its truth names them."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "kafkascope_analyzer.cli", *map(str, args)]


@pytest.mark.spark
def test_the_whole_way(here: Path) -> None:
    done = subprocess.run(command("analyze", CAPTURE, "--format", "json"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        0,
        ["dataset: healthy_basic.kscope, report: healthy_basic.kscope/report.json"],
    )
    report = here / "healthy_basic.kscope" / "report.json"
    assert done.stdout == report.read_text()
    assert list(Draft202012Validator(packaged_schema()).iter_errors(json.loads(done.stdout))) == []
    told = {client["client_id"]: client for client in json.loads(done.stdout)["clients"]["listed"]}
    assert {name: client["kind"] for name, client in told.items()} == CLIENTS
    assert {client["starts"][0]["outcome"] for client in told.values()} == {"ready"}
    assert [p.name for p in here.iterdir()] == ["healthy_basic.kscope"]
    assert stories_added_later(here) == report.read_text()


def stories_added_later(here: Path) -> str:
    """The report of the same capture by `ingest` and then `stories`; what it prints is a page in ASCII."""
    assert run("ingest", CAPTURE, "-q", "-o", "later.kscope").exit_code == 0
    adding = command("stories", "later.kscope", "-q", "--format", "plain")
    done = subprocess.run(adding, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.isascii()
    assert "start: ready after" in done.stdout
    return (here / "later.kscope" / "report.json").read_text()


def test_without_java_the_tables_and_the_report_are_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(here / "no-java"))
    result = run("analyze", CAPTURE)
    assert result.exit_code == 0
    assert "Java 17 or newer" in result.stderr
    assert "kafkascope stories healthy_basic.kscope" in result.stderr
    dataset = here / "healthy_basic.kscope"
    assert json.loads((dataset / "report.json").read_text())["stories"]["present"] is False
    assert not (dataset / "stories").exists()
    assert run("stories", dataset).exit_code == 2


def test_an_error_in_the_stories_keeps_the_tables(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("Spark broke")

    monkeypatch.setattr(analyze_command, "java_problem", lambda *_: None)
    monkeypatch.setattr(analyze_command, "_open_session", lambda: None)
    monkeypatch.setattr(analyze_command, "write_stories", fail)
    assert isinstance(run("analyze", CAPTURE, "-q").exception, RuntimeError)
    assert [p.name for p in here.iterdir()] == ["healthy_basic.kscope"]
    assert run("info", "healthy_basic.kscope").exit_code == 0


def heed_interrupts() -> None:
    """A shell starts what it runs in the background deaf to SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_leaves_nothing(here: Path, sign: signal.Signals) -> None:
    os.mkfifo(here / "slow.pcap")
    with (
        subprocess.Popen(
            command("ingest", "slow.pcap"),
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs here
        ) as ingest,
        (here / "slow.pcap").open("wb"),  # opens once the command reads from it, and never gives a byte
    ):
        ingest.send_signal(sign)
        assert ingest.stderr is not None
        said = ingest.stderr.read()
    assert (ingest.returncode, said) == (130, "kafkascope: interrupted: nothing was written\n")
    assert [p.name for p in here.iterdir()] == ["slow.pcap"]


def test_large_inputs_do_not_start_spark_beside_the_workers(here: Path) -> None:
    with (here / "large.pcap").open("wb") as large:
        large.truncate(1 << 40)
    shutil.copy(CAPTURE, here / "small.pcap.zst")
    assert analyze_command.is_small([here / "small.pcap.zst"])
    assert not analyze_command.is_small([here / "small.pcap.zst", here / "large.pcap"])
    assert not analyze_command.is_small(["-"])
