"""Each export in the program that it is made for: Prometheus, a collector of OpenTelemetry, Grafana's schema, readers
of Zeek's logs, OCSF and SARIF. A test whose program is not installed skips and says so; `make export-tools` installs
them. What libraries of Python read (Delta Lake, Iceberg, protobufs) is in the tests of each form."""

import json
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.report import report_model

from .conftest import exported

COMPILER_OPTIONS = {"noEmit": True, "strict": True, "skipLibCheck": True, "module": "esnext", "target": "es2022"} | {
    "moduleResolution": "bundler",
    "types": [],
}

READERS = {
    "zeek": "import parsezeeklogs as p, sys; print(sum(row is not None for row in p.ParseZeekLogs(sys.argv[1])))",
    "ocsf": "import json, sys; from py_ocsf_models.events.findings.detection_finding import DetectionFinding as D; "
    "print(len([D(**json.loads(line)) for line in open(sys.argv[1])]))",
    "sarif": "import sys; from sarif import loader; print(len(loader.load_sarif_file(sys.argv[1]).get_results()))",
}
"""Programs that print how many rows, findings or results a library reads from a file."""


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skips a test, and its fixtures, where a program is not installed."""
    missing = ", ".join(name for name in programs if shutil.which(name) is None)
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")


def free_port() -> int:
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        port: int = waiting.getsockname()[1]
    return port


@contextmanager
def running(words: list[str], is_ready: Callable[[], bool], output: Path) -> Iterator[None]:
    """A server while the block runs."""
    with output.open("w") as lines, subprocess.Popen(words, stdout=lines, stderr=subprocess.STDOUT) as server:
        try:
            deadline = time.monotonic() + 60
            while not is_ready():
                assert server.poll() is None, output.read_text()
                assert time.monotonic() < deadline, output.read_text()
                time.sleep(0.1)
            yield
        finally:
            server.terminate()


def answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()
        return True
    except HTTPError as error:
        return error.code == 405  # the receiver of spans takes POST only
    except (URLError, OSError):
        return False


@pytest.fixture(scope="module")
def text(leader_move: Path) -> str:
    return exported("openmetrics", str(leader_move))


@pytest.fixture(scope="module")
def dashboard(leader_move: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(exported("grafana", str(leader_move)))
    return found


@pytest.fixture(scope="module")
def blocks(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What promtool makes of the series."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "series.om").write_text(text)
    make = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
    subprocess.run([*make, str(folder / "series.om"), str(folder / "d")], check=True, capture_output=True)
    (folder / "d" / "wal").mkdir()
    return folder / "d"


@needs("promtool")
def test_promtool_keeps_every_sample(text: str, blocks: Path) -> None:
    dump = subprocess.run(["promtool", "tsdb", "dump", str(blocks)], check=True, capture_output=True, text=True)
    assert len(dump.stdout.splitlines()) == len([line for line in text.splitlines() if not line.startswith("#")])


def one_scrape(text: str) -> str:
    """The last moment in Prometheus' own text format, which is what `promtool check metrics` reads: without times, and
    with `_total` in the names of counters' families."""
    lines = text.splitlines()[:-1]
    last = max(line.rpartition(" ")[2] for line in lines if not line.startswith("#"))
    counters = {line.split()[2] for line in lines if re.fullmatch(r"# TYPE \w+ counter", line)}
    scrape = []
    for line in lines:
        if line.startswith("#"):
            name = line.split()[2]
            scrape.append(line.replace(name, f"{name}_total", 1) if name in counters else line)
        elif line.endswith(f" {last}"):
            scrape.append(line.rpartition(" ")[0])
    return "\n".join([*scrape, ""])


@needs("promtool")
def test_promtool_has_no_complaint_about_names_and_texts(text: str) -> None:
    found = subprocess.run(
        ["promtool", "check", "metrics"], input=one_scrape(text), check=False, capture_output=True, text=True
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def prometheus(blocks: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Asks a Prometheus that has the blocks."""
    server = f"http://127.0.0.1:{free_port()}"
    (blocks.parent / "prometheus.yml").write_text("global: {}\n")
    words = [
        "prometheus",
        f"--config.file={blocks.parent / 'prometheus.yml'}",
        f"--storage.tsdb.path={blocks}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={server.removeprefix('http://')}",
    ]

    def ask(how: str, **words: Any) -> list[dict[str, Any]]:
        answer = json.load(urlopen(f"{server}/api/v1/{how}?{urlencode(words)}", timeout=30))
        assert answer["status"] == "success"
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    with running(words, lambda: answers(f"{server}/-/ready"), blocks.parent / "prometheus.log"):
        yield ask


def span_of(dashboard: dict[str, Any]) -> tuple[float, float]:
    begin, end = (datetime.fromisoformat(dashboard["time"][end]).timestamp() for end in ("from", "to"))
    return begin, end + 1


@needs("promtool", "prometheus")
def test_prometheus_counts_the_requests_of_the_brokers_log(
    prometheus: Callable[..., list[dict[str, Any]]], dashboard: dict[str, Any], log: list[dict[str, Any]]
) -> None:
    query = 'sum by (broker) (kafkascope_requests_total{api="Produce"})'
    found = prometheus("query", query=query, time=span_of(dashboard)[1])
    logged = Counter(str(line["node"]) for line in log if line["api"] == "PRODUCE")
    assert {each["metric"]["broker"]: int(each["value"][1]) for each in found} == logged


@needs("promtool", "prometheus")
def test_prometheus_answers_every_query_of_the_dashboard(
    prometheus: Callable[..., list[dict[str, Any]]], dashboard: dict[str, Any]
) -> None:
    """With the interval of rates as Grafana derives it from a target's step: four times as long."""
    begin, end = span_of(dashboard)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            step = int(target["interval"].removesuffix("s"))
            query = target["expr"].replace("$__rate_interval", f"{4 * step}s").replace("$api", ".*")
            lines = prometheus("query_range", query=query, start=begin, end=end, step=step)
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert lines, panel["title"]
            assert all(shown == line["metric"].keys() for line in lines), panel["title"]


@needs("otelcol")
def test_a_collector_takes_every_span(leader_move: Path, tmp_path: Path) -> None:
    server = f"127.0.0.1:{free_port()}"
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": server}}}},
        "exporters": {"file": {"path": str(tmp_path / "spans.jsonl")}},
        "service": {
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["file"]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    messages = exported("otlp", str(leader_move), "--exchanges").splitlines()
    url = f"http://{server}/v1/traces"
    words = ["otelcol", "--config", str(tmp_path / "config.json")]
    with running(words, lambda: answers(url), tmp_path / "collector.log"):
        for line in messages:
            urlopen(Request(url, line.encode(), {"Content-Type": "application/json"}), timeout=30).close()
    taken = (tmp_path / "spans.jsonl").read_text().splitlines()
    assert sorted(map(identity, spans(taken))) == sorted(map(identity, spans(messages)))


def spans(lines: list[str]) -> list[dict[str, Any]]:
    return [
        span
        for line in lines
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def identity(span: dict[str, Any]) -> tuple[str, ...]:
    """What must come through; the collector leaves out what is empty."""
    names = ("traceId", "spanId", "parentSpanId", "name", "startTimeUnixNano", "endTimeUnixNano")
    return (*(span.get(name, "") for name in names), *sorted(each["key"] for each in span["attributes"]))


@needs("tsc")
def test_grafanas_schema_knows_every_field_of_the_dashboard(dashboard: dict[str, Any], tmp_path: Path) -> None:
    """As a literal in TypeScript, in which a field that a type does not have is an error."""
    compiler = shutil.which("tsc")
    assert compiler
    packages = Path(compiler).parents[1]
    if not (packages / "@grafana" / "schema").exists():
        pytest.skip("@grafana/schema is not installed beside tsc")
    (tmp_path / "node_modules").symlink_to(packages)
    schema = "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen"
    (tmp_path / "dashboard.ts").write_text(
        f'import type {{ Dashboard }} from "{schema}";\nexport const dashboard: Dashboard = {json.dumps(dashboard)};\n'
    )
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": COMPILER_OPTIONS}))
    found = subprocess.run([compiler, "-p", tmp_path], cwd=tmp_path, check=False, capture_output=True)
    assert found.returncode == 0, found.stdout.decode()


def written(form: str, dataset: Path, place: Path) -> int:
    """Writes the form; how many rows, findings or results it must have."""
    if form == "sarif":
        assert CliRunner().invoke(app, ["report", str(dataset), "--sarif", str(place)]).exit_code == 0
        report = report_model(Dataset.open(dataset))
        return len(report.incidents.listed) + len(report.findings.listed)
    sql = ["sql", str(dataset), "--format", "jsonl", "from ocsf_detection_findings"]
    result = CliRunner().invoke(app, sql if form == "ocsf" else ["export", "zeek", str(dataset)])
    place.write_text(result.stdout)
    tables = ("stories/incidents", "stories/findings") if form == "ocsf" else ("requests",)
    return sum(Dataset.open(dataset).rows(table) for table in tables)


@needs("python-with-readers")
@pytest.mark.parametrize("form", READERS)
def test_a_reader_of_the_format_reads_everything(form: str, leader_move: Path, tmp_path: Path) -> None:
    expected = written(form, leader_move, tmp_path / "file.sarif")
    found = subprocess.run(
        ["python-with-readers", "-c", READERS[form], str(tmp_path / "file.sarif")], check=True, capture_output=True
    )
    assert int(found.stdout) == expected > 0
