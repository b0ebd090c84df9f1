"""`analyze` from capture to report: with Spark, without Java, and interrupted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
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


OF_TABLES = ("connections", "cluster", "apis", "errors", "request_rates", "latency", "leaders", "client_traffic")
"""Parts of a report that need no stories."""


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "kafkascope_analyzer.cli", *map(str, args)]


THE_WHOLE_WAY = f"""
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from kafkascope_analyzer.cli import main, startup
from kafkascope_analyzer.cli.app import app

later, end_process = Path(sys.argv[1]), startup.end_process

def run(*arguments):
    done = CliRunner().invoke(app, arguments)
    return [done.exit_code, done.stdout, done.stderr]

def add_stories_later(code):
    dataset = str(later / "later.kscope")
    done = [run("ingest", {str(CAPTURE)!r}, "-q", "-o", dataset), run("stories", dataset, "-q", "--format", "plain")]
    (later / "done.json").write_text(json.dumps(done))
    end_process(code)

startup.end_process = add_stories_later
sys.argv[1:] = ["analyze", {str(CAPTURE)!r}, "--format", "json"]
main()
"""
"""`analyze`, and where it would end `ingest` and `stories` into another folder: they use the session that is open."""


@dataclass(frozen=True, slots=True)
class Analyzed:
    """What THE_WHOLE_WAY did. folder: in which the capture was analyzed with default options; process: what that
    printed; later: the folder of the dataset to which `stories` added the stories; steps: exit code, standard output
    and standard error of `ingest` and of `stories`."""

    folder: Path
    process: subprocess.CompletedProcess[str]
    later: Path

    @property
    def datasets(self) -> tuple[Path, Path]:
        return self.folder / "healthy_basic.kscope", self.later / "later.kscope"

    @property
    def steps(self) -> list[tuple[int, str, str]]:
        return [tuple(step) for step in json.loads((self.later / "done.json").read_text())]


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Analyzed:
    folder, later = tmp_path_factory.mktemp("analyzed"), tmp_path_factory.mktemp("later")
    program = [sys.executable, "-c", THE_WHOLE_WAY, str(later)]
    return Analyzed(folder, subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False), later)


@pytest.mark.spark
def test_the_whole_way(analyzed: Analyzed) -> None:
    folder, done = analyzed.folder, analyzed.process
    noted = {"note": "dataset: healthy_basic.kscope, report: healthy_basic.kscope/report.json"}
    assert (done.returncode, json.loads(done.stderr)) == (0, noted)
    report = analyzed.datasets[0] / "report.json"
    assert done.stdout == report.read_text()
    assert list(Draft202012Validator(packaged_schema()).iter_errors(json.loads(done.stdout))) == []
    output = {client["client_id"]: client for client in json.loads(done.stdout)["clients"]["listed"]}
    assert {name: client["kind"] for name, client in output.items()} == CLIENTS
    assert {client["starts"][0]["outcome"] for client in output.values()} == {"ready"}
    assert [p.name for p in folder.iterdir()] == ["healthy_basic.kscope"]


@pytest.mark.spark
def test_stories_that_are_added_later_are_the_same(analyzed: Analyzed) -> None:
    """What `stories` prints is a page in ASCII."""
    ingested, (code, page, complaints) = analyzed.steps
    assert ingested[0] == 0
    assert (code, complaints) == (0, "")
    assert page.isascii()
    assert re.search(r"consumer +ready \d", page)
    reports = [place / "report.json" for place in analyzed.datasets]
    assert reports[0].read_text() == reports[1].read_text()


@pytest.mark.slow
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

    monkeypatch.setattr(analyze_command, "spark_problem", lambda *_: None)
    monkeypatch.setattr("kafkascope_spark.session.launch_early", lambda size: None)
    monkeypatch.setattr(early_session, "_open_session", lambda size: None)
    monkeypatch.setattr(analyze_command, "make_stories", fail)


def test_a_defect_in_the_stories_keeps_the_tables(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_the_stories(monkeypatch, RuntimeError("a defect"))
    assert isinstance(run("analyze", CAPTURE, "-q").exception, RuntimeError)
    assert [p.name for p in here.iterdir()] == ["healthy_basic.kscope"]
    assert run("info", "healthy_basic.kscope").exit_code == 0


@pytest.mark.slow
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


A_JVM_THAT_ENDS = f"""
import sys
import kafkascope_spark.write_stories
import kafkascope_analyzer.ingest.run
from kafkascope_spark.session import open_session

def exhaust_the_heap(*_, **__):
    open_session().range(4).selectExpr("length(repeat(cast(id as string), 2000000000)) as n").toArrow()

kafkascope_spark.write_stories.make_stories = exhaust_the_heap
kafkascope_analyzer.ingest.run.BYTES_PER_WORKER = 1 << 18
from kafkascope_analyzer.cli import main
sys.argv[1:] = ["analyze", {str(CAPTURE)!r}, "-q", "--jobs", "2", "--format", "json"]
main()
"""
"""`analyze` whose two processes are forked while the JVM starts, with a job that ends the JVM in place of the stories;
all the rest is the real command."""


@pytest.fixture(scope="module")
def without_jvm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder with the dataset that A_JVM_THAT_ENDS made, and what was printed."""
    folder = tmp_path_factory.mktemp("without_jvm")
    program = [sys.executable, "-c", A_JVM_THAT_ENDS]
    return folder, subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_a_jvm_that_ends_is_one_sentence(without_jvm: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Of a heap that is exhausted; tests/spark/test_failures.py kills a JVM."""
    _, done = without_jvm
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1), done.stderr
    assert "the heap of Spark's JVM is exhausted" in done.stderr
    assert "`kafkascope stories healthy_basic.kscope` tries again" in done.stderr
    assert json.loads(done.stdout)["stories"]["present"] is False


@pytest.mark.spark
def test_processes_are_forked_beside_a_jvm_that_starts(
    without_jvm: tuple[Path, subprocess.CompletedProcess[str]], analyzed: Analyzed
) -> None:
    """Two processes read, while the JVM is already there: the report is that of one process."""
    folder, done = without_jvm
    places = (analyzed.datasets[0], folder / "healthy_basic.kscope")
    buckets = [json.loads((place / "_dataset.json").read_text())["options"]["buckets"] for place in places]
    assert buckets == [1, 2]
    two, one = json.loads(done.stdout), json.loads(analyzed.process.stdout)
    assert {key: two[key] for key in OF_TABLES} == {key: one[key] for key in OF_TABLES}


def heed_interrupts() -> None:
    """A shell starts what it runs in the background deaf to SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


STOPPED_IN_THE_STORIES = f"""
import os, signal, sys, time
from pathlib import Path
import kafkascope_spark.write_stories
from kafkascope_spark.session import open_session

sign, command = getattr(signal, sys.argv[1]), os.getpid()

def stops_the_command(batches):
    os.kill(command, sign)
    time.sleep(20)
    Path("finished").touch()  # by a task that was not cancelled
    yield from batches

def run_a_job(*_, **__):
    assert list(Path("healthy_basic.kscope/stories/clients").iterdir())
    open_session().range(0, 1, 1, 1).mapInArrow(stops_the_command, "id long").toArrow()

kafkascope_spark.write_stories.write_findings = run_a_job
from kafkascope_analyzer.cli import main
sys.argv[1:] = ["analyze", {str(CAPTURE)!r}, "-q"]
main()
"""
"""`analyze` that gets a signal in the middle of a job of Spark, whose tasks have written the stories of clients."""


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
@pytest.mark.slow
def test_interrupted_in_the_stories_leaves_nothing_and_prints_no_traceback(here: Path) -> None:
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
    monkeypatch.setattr(early_session, "is_session_open", lambda: False)
    monkeypatch.setattr(early_session, "input_bytes", lambda inputs: size)
    with early_session.early_session([], jobs, wanted=True) as after_block:
        assert bool(opened) is at_once
        after_block()
        after_block()
    assert len(opened) == 1


def test_no_jvm_is_launched_where_a_session_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[object] = []
    monkeypatch.setattr("kafkascope_spark.session.launch_early", launched.append)
    monkeypatch.setattr(early_session, "_open_session", launched.append)
    monkeypatch.setattr("kafkascope_spark.session.active_session", lambda: "a session")
    with early_session.early_session([], None, wanted=True) as after_block:
        after_block()
    assert launched == []
