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
from kafkascope_analyzer.cli import early_session
from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.read.place import place_of
from kafkascope_analyzer.report.schema import packaged_schema
from kafkascope_parsers.errors import SparkError

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


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder in which the capture was analyzed with default options, and what was printed."""
    folder = tmp_path_factory.mktemp("analyzed")
    analyze = command("analyze", CAPTURE, "--format", "json")
    return folder, subprocess.run(analyze, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_the_whole_way(here: Path, analyzed: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = analyzed
    assert (done.returncode, done.stderr.splitlines()) == (
        0,
        ["dataset: healthy_basic.kscope, report: healthy_basic.kscope/report.json"],
    )
    report = folder / "healthy_basic.kscope" / "report.json"
    assert done.stdout == report.read_text()
    assert list(Draft202012Validator(packaged_schema()).iter_errors(json.loads(done.stdout))) == []
    output = {client["client_id"]: client for client in json.loads(done.stdout)["clients"]["listed"]}
    assert {name: client["kind"] for name, client in output.items()} == CLIENTS
    assert {client["starts"][0]["outcome"] for client in output.values()} == {"ready"}
    assert [p.name for p in folder.iterdir()] == ["healthy_basic.kscope"]
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


def break_the_stories(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(analyze_command, "java_problem", lambda *_: None)
    monkeypatch.setattr("kafkascope_spark.session.launch_early", lambda size: None)
    monkeypatch.setattr(early_session, "_open_session", lambda size: None)
    monkeypatch.setattr(analyze_command, "make_stories", fail)


def test_a_defect_in_the_stories_keeps_the_tables(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_stories(monkeypatch, RuntimeError("a defect"))
    assert isinstance(run("analyze", CAPTURE, "-q").exception, RuntimeError)
    assert [p.name for p in here.iterdir()] == ["healthy_basic.kscope"]
    assert run("info", "healthy_basic.kscope").exit_code == 0


def test_a_failure_of_spark_keeps_the_tables_and_their_report(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_stories(monkeypatch, SparkError("Spark failed: its JVM was killed"))
    result = run("analyze", CAPTURE, "-q", "--fail-on", "info")
    assert result.exit_code == 4
    assert result.stderr == (
        "kafkascope: Spark failed: its JVM was killed; the tables are complete: "
        "`kafkascope stories healthy_basic.kscope` tries again\n"
    )
    assert [p.name for p in here.iterdir()] == ["healthy_basic.kscope"]
    report = json.loads((here / "healthy_basic.kscope" / "report.json").read_text())
    assert report["stories"]["present"] is False
    assert run("info", "healthy_basic.kscope").exit_code == 0


@pytest.mark.spark
def test_a_jvm_that_is_killed_ends_analyze_with_one_sentence(here: Path) -> None:
    """The stories replaced by a job that kills the JVM; all the rest is the real command."""
    program = f"""
import os, signal, sys
import kafkascope_spark.stories
from kafkascope_spark.session import open_session
from kafkascope_spark.session.gateway import current_jvm

def kill_the_jvm(*_, **__):
    session = open_session()
    os.kill(current_jvm().process.pid, signal.SIGKILL)
    session.range(4).toArrow()

kafkascope_spark.stories.make_stories = kill_the_jvm
from kafkascope_analyzer.cli import main
sys.argv = ["kafkascope", "analyze", {str(CAPTURE)!r}, "-q", "--format", "json"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1), done.stderr
    assert "its JVM was killed by SIGKILL" in done.stderr
    assert "`kafkascope stories healthy_basic.kscope` tries again" in done.stderr
    assert json.loads(done.stdout)["stories"]["present"] is False


def heed_interrupts() -> None:
    """A shell starts what it runs in the background deaf to SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


STOPPED_IN_THE_STORIES = f"""
import os, signal, sys
from pathlib import Path
import kafkascope_spark.stories

sign = getattr(signal, sys.argv[1])

def stop(*_, **__):
    assert list(Path("healthy_basic.kscope/stories/clients").iterdir())
    os.kill(os.getpid(), sign)
    signal.pause()

kafkascope_spark.stories.write_findings = stop
from kafkascope_analyzer.cli import main
sys.argv[1:] = ["analyze", {str(CAPTURE)!r}, "-q"]
main()
"""
"""`analyze` that gets a signal once Spark has written the stories of clients, and waits for its end."""


def stopped_in_the_stories(sign: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", STOPPED_IN_THE_STORIES, sign],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_interrupts,
    )


def files_in(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


@pytest.mark.spark
def test_interrupted_in_the_stories_leaves_nothing(here: Path) -> None:
    """So does `stories`, beside which nothing happens but that (tests/spark/test_stories.py)."""
    done = stopped_in_the_stories("SIGINT")
    assert (done.returncode, done.stderr) == (130, "kafkascope: interrupted: nothing was written\n")
    assert list(here.iterdir()) == []


@pytest.mark.spark
@pytest.mark.slow
def test_what_a_run_that_was_killed_in_the_stories_leaves_can_be_cleaned(here: Path) -> None:
    assert stopped_in_the_stories("SIGKILL").returncode == -signal.SIGKILL
    assert any(file.startswith("healthy_basic.kscope/stories/") for file in files_in(here))
    assert run("clean", "healthy_basic.kscope").exit_code == 0
    assert list(here.iterdir()) == []


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


def test_a_session_is_connected_only_when_no_fork_can_follow(here: Path) -> None:
    with (here / "large.pcap").open("wb") as large:
        large.truncate(1 << 40)
    shutil.copy(CAPTURE, here / "small.pcap.zst")
    small = early_session.input_bytes([place_of(here / "small.pcap.zst")])
    both = early_session.input_bytes([place_of(here / name) for name in ("small.pcap.zst", "large.pcap")])
    assert early_session.is_read_by_one_process(small, None)
    assert not early_session.is_read_by_one_process(both, None)
    assert early_session.is_read_by_one_process(both, 1)
    assert not early_session.is_read_by_one_process(early_session.input_bytes([place_of("-")]), None)


@pytest.mark.parametrize(("size", "jobs", "at_once"), [(1, None, True), (1 << 40, 2, False)])
def test_the_connection_waits_for_the_first_block(
    here: Path, monkeypatch: pytest.MonkeyPatch, size: int, jobs: int | None, at_once: bool
) -> None:
    opened: list[object] = []
    monkeypatch.setattr("kafkascope_spark.session.launch_early", lambda wanted: None)
    monkeypatch.setattr(early_session, "_open_session", opened.append)
    monkeypatch.setattr(early_session, "input_bytes", lambda inputs: size)
    with early_session.early_session([], jobs, wanted=True) as after_block:
        assert bool(opened) is at_once
        after_block()
        after_block()
    assert len(opened) == 1


@pytest.mark.spark
def test_processes_are_forked_beside_a_jvm_that_starts(
    here: Path, analyzed: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    """Two processes read, while the JVM is already there: the report is that of one process."""
    monkey = "import kafkascope_analyzer.ingest.run as run; run.BYTES_PER_WORKER = 1 << 18; "
    main = "import sys; from kafkascope_analyzer.cli import main; sys.argv[0] = 'kafkascope'; main()"
    arguments = ["analyze", str(CAPTURE), "-q", "--jobs", "2", "--format", "json", "-o", "two.kscope"]
    done = subprocess.run([sys.executable, "-c", monkey + main, *arguments], capture_output=True, check=True)
    by_one, places = analyzed[1].stdout, (analyzed[0] / "healthy_basic.kscope", here / "two.kscope")
    buckets = [json.loads((place / "_dataset.json").read_text())["options"]["buckets"] for place in places]
    assert buckets == [1, 2]
    assert json.loads(done.stdout)["clients"] == json.loads(by_one)["clients"]
