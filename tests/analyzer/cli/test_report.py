"""`report`, `sql`, `tables`: what is printed, what is written, what is refused."""

import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import plain, to_json

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "fixtures" / "captures" / "healthy_basic.pcap.zst"
FORMS = ("--html", "--markdown", "--json", "--perfetto")


@pytest.fixture
def dataset(small: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small.write_dataset(tmp_path / "small.kscope")
    return Path("small.kscope")


def run(*args: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def refused(*args: str | Path) -> str:
    before = sorted(Path().rglob("*"))
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert sorted(Path().rglob("*")) == before
    (sentence,) = result.stderr.splitlines()
    return sentence


@pytest.mark.slow
def test_the_terminal_report_names_the_dataset_in_its_commands(dataset: Path) -> None:
    result = run("report", dataset)
    assert result.exit_code == 0
    assert "kafkascope cut small.kscope --incident incident-1 -o incident-1.pcapng" in result.stdout
    assert "OUT.kscope" not in result.stdout
    assert run("report", dataset, "--format", "plain").stdout.isascii()
    assert json.loads(run("report", dataset, "--format", "json").stdout) == plain(
        report_model(Dataset.open(dataset)), clip=True
    )


@pytest.mark.slow
def test_forms_are_written_together(dataset: Path) -> None:
    result = run("report", dataset, "--markdown", "a.md", "--json", "a.json", "--perfetto", "a.pftrace")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == ["markdown: a.md", "json: a.json", "perfetto: a.pftrace"]
    assert Path("a.json").read_text() == to_json(report_model(Dataset.open(dataset)))
    assert Path("a.md").read_text().startswith("# Kafka traffic in `small.pcap`\n")
    assert Path("a.pftrace").stat().st_size > 1000
    assert sorted(p.name for p in Path().iterdir()) == ["a.json", "a.md", "a.pftrace", "small.kscope"]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_dash_is_standard_output(dataset: Path, form: str) -> None:
    result = run("report", dataset, form, "-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("report", dataset, form, "file", "-q").stderr == ""
    assert result.stdout_bytes == Path("file").read_bytes()


def test_what_cannot_be_written_is_refused_before_anything_is(dataset: Path) -> None:
    Path("there.md").write_text("precious")
    assert "--overwrite replaces it" in refused("report", dataset, "--json", "new.json", "--markdown", "there.md")
    assert "is not a file" in refused("report", dataset, "--markdown", dataset)
    assert "directory it should go into is not there" in refused("report", dataset, "--markdown", "no/where.md")
    assert "same place" in refused("report", dataset, "--markdown", "x", "--json", "./x")
    assert "same place" in refused("report", dataset, "--markdown", "-", "--json", "-")
    assert "not a kafkascope dataset" in refused("report", "no.kscope", "--markdown", "x.md")
    assert Path("there.md").read_text() == "precious"
    assert run("report", dataset, "--markdown", "there.md", "--overwrite", "-q").exit_code == 0
    assert Path("there.md").read_text() != "precious"


def test_one_form_that_fails_leaves_none(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kafkascope_analyzer.report.trace.perfetto.write_perfetto", full)
    sentence = refused("report", dataset, "--markdown", "a.md", "--perfetto", "a.pftrace")
    assert sentence == "kafkascope: --perfetto a.pftrace: cannot be written: No space left on device"


def test_a_trace_needs_no_package_besides_the_default_install(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("perfetto", "perfetto.protos", "google.protobuf"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("report", dataset, "--perfetto", "a.pftrace")
    assert (result.exit_code, result.stderr) == (0, "perfetto: a.pftrace\n")


@pytest.mark.slow
def test_analyze_writes_the_forms_too_and_never_over_a_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    shutil.copy(CAPTURE, "a.pcap.zst")
    result = run("analyze", "a.pcap.zst", "--markdown", "a.md", "--perfetto", "a.pftrace")
    assert result.exit_code == 0
    assert "report: a.kscope/report.json, markdown: a.md, perfetto: a.pftrace" in result.stderr
    assert "kafkascope report a.kscope --all" in result.stdout
    run("report", "a.kscope", "--markdown", "b.md", "--perfetto", "b.pftrace")
    for name in ("md", "pftrace"):
        assert Path(f"a.{name}").read_bytes() == Path(f"b.{name}").read_bytes()
    printed = run("analyze", "a.pcap.zst", "--overwrite", "--markdown", "-")
    assert printed.stdout == Path("a.md").read_text()
    assert "is a capture" in refused("analyze", "a.pcap.zst", "--overwrite", "--markdown", "a.pcap.zst")
    assert "--overwrite" in refused("analyze", "a.pcap.zst", "-o", "c.kscope", "--markdown", "a.md")


@pytest.fixture(scope="module")
def by_jobs(ingested: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A capture read by one process, and by three that each read a part of it: other files, the same rows."""
    capture = ROOT / "fixtures" / "captures" / "leader_move.pcap.zst"
    by_three = tmp_path_factory.mktemp("jobs") / "leader_move.kscope"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
        ingest([capture], by_three, IngestOptions(jobs=3))
    return {1: ingested(capture), 3: by_three}


@pytest.fixture(scope="module")
def reports(by_jobs: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders with the reports in all forms: two of the dataset that one process read, one of that of three."""
    folders = [tmp_path_factory.mktemp("reports") for _ in range(3)]
    for folder, jobs in zip(folders, (1, 1, 3), strict=True):
        forms = [part for form in FORMS for part in (form, folder / form)]
        assert run("report", by_jobs[jobs], *forms, "-q").exit_code == 0
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_same_bytes_twice_and_for_any_number_of_jobs(reports: list[Path], form: str) -> None:
    first, again, other = ((folder / form).read_bytes() for folder in reports)
    assert len(first) > 200
    assert first == again
    assert first == other


def test_sql_prints_what_was_asked_for(dataset: Path) -> None:
    query = "select api_name, count(*) as n from requests group by all order by n desc, 1"
    assert run("sql", dataset, query, "--format", "csv").stdout == "api_name,n\nProduce,5\nJoinGroup,1\nMetadata,1\n"
    wanted = [{"api_name": "Produce", "n": 5}, {"api_name": "JoinGroup", "n": 1}, {"api_name": "Metadata", "n": 1}]
    assert json.loads(run("sql", dataset, "-", "--format", "json", stdin=query).stdout) == wanted
    assert "| `Produce` | 5 |" in run("sql", dataset, query, "--format", "markdown").stdout
    lines = run("sql", dataset, query, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == wanted
    assert run("sql", dataset, query, "--format", "plain").stdout.isascii()
    assert run("sql", dataset, query).stdout.splitlines()[2] == "Produce    5"
    assert refused("sql", dataset, "select foo from requests").startswith("kafkascope: the query failed: Binder Error")


def test_sql_into_a_pipe_is_a_table_however_wide(dataset: Path) -> None:
    query = "select repeat('x', 60) as a, repeat('y', 60) as b, 1 as c, 2 as d, 3 as e from range(2)"
    for how in ("table", "plain"):
        head, _, *rows = run("sql", dataset, query, "--format", how).stdout.splitlines()
        assert head.split() == ["a", "b", "c", "d", "e"]
        assert [row.split() for row in rows] == [["x" * 60, "y" * 60, "1", "2", "3"]] * 2


def test_sql_writes_parquet_in_the_results_own_types(dataset: Path) -> None:
    query = (
        "select 1::smallint as a, timestamp_ns '2026-01-01 00:00:00.123456789' as t, interval 1 month as i, [1, 2] as l"
    )
    result = run("sql", dataset, query, "--format", "parquet")
    assert result.exit_code == 0, result.stderr
    read = pq.read_table(io.BytesIO(result.stdout_bytes))
    assert [str(field.type) for field in read.schema] == ["int16", "timestamp[ns]", "string", "list<element: int32>"]
    assert read.column("t").cast("int64").to_pylist() == [1_767_225_600_123_456_789]
    assert read.column("i").to_pylist() == ["1 month"]
    assert refused("sql", dataset, "select foo from requests", "--format", "parquet").startswith(
        "kafkascope: the query"
    )


def test_sql_rounds_no_time_and_no_number(dataset: Path) -> None:
    query = (
        "select timestamp_ns '2026-01-01 00:00:00.123456789' as t, interval '1 month' as i, "
        "1.234567890123456789::decimal(38, 18) as d, 0.1::decimal(2, 1) as e, 9007199254740993::hugeint as h"
    )
    (row,) = json.loads(run("sql", dataset, query, "--format", "json").stdout)
    assert row["t"] == "2026-01-01 00:00:00.123456789"
    assert row["i"] == "1 month"
    assert (row["d"], row["e"], row["h"]) == ("1.234567890123456789", 0.1, 9007199254740993)
    assert "00:00:00.123456789" in run("sql", dataset, query).stdout


def test_saved_questions_are_listed_shown_and_asked(dataset: Path) -> None:
    listed = run("sql", "--list").stdout
    assert re.search(r"^slow-producers +How long brokers took for Produce by client", listed, re.MULTILINE)
    shown = run("sql", "--show", "slow-producers").stdout
    assert "where api_name = 'Produce'" in shown
    by_name = run("sql", dataset, "--run", "slow-producers", "--format", "json").stdout
    assert json.loads(by_name)[0]["n_requests"] == 5
    assert by_name == run("sql", dataset, "-", "--format", "json", stdin=shown).stdout
    assert "did you mean slow-producers" in refused("sql", dataset, "--run", "slow-producer")
    assert "either a SELECT or --run" in refused("sql", dataset)
    assert "either a SELECT or --run" in refused("sql", dataset, "select 1", "--run", "incidents")
    assert "name the dataset" in refused("sql")


def test_tables_are_listed_with_sentence_and_unit() -> None:
    listed = run("tables").stdout
    assert "requests" in listed
    assert "findings" in listed
    page = run("tables", "requests", "--format", "plain").stdout
    assert page.startswith("requests: one row per request with its response\n")
    assert "last byte of the request to first byte of the response, microseconds" in " ".join(page.split())
    rows = {row["column"]: row for row in json.loads(run("tables", "stories/recoveries", "--format", "json").stdout)}
    assert rows["time_to_recover_ms"]["unit"] == "ms"
    assert rows["start_ns"]["unit"] == "ns"
    assert rows["outcome"]["values"][0] == "recovered"
    assert "view" in next(line for line in listed.splitlines() if line.startswith("topics"))
    assert "as records_written" in run("tables", "topics").stdout
    assert "no table is called request (did you mean requests or client_requests?)" in run("tables", "request").stderr
    assert "correlation_id" not in run("tables", "messages.Fetch_request").stdout


def test_neither_spark_nor_kernels_are_needed(dataset: Path) -> None:
    import subprocess

    program = (
        "import sys; sys.argv = ['kafkascope', 'sql', 'small.kscope', 'select 1']\n"
        "from kafkascope_analyzer.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"pyspark", "numba"} & set(done.stdout.split()) == set()
