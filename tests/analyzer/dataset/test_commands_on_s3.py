"""The commands that read a dataset give the same from S3 as from a local folder; failures are one sentence."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import REPORT_FILE
from kafkascope_analyzer.report.model.clusters import write_report
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import to_json

FIXTURES = Path(__file__).parents[3] / "fixtures"


def run(*args: object) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*args: object, code: int = 2) -> str:
    """The one line of standard error of a command that ends with this exit code."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def uploaded(new_bucket, tmp_path_factory: pytest.TempPathFactory, unpack) -> str:
    """The dataset in a bucket, for tests that only read it."""
    return new_bucket().upload(unpack(tmp_path_factory.mktemp("uploaded")), "a/leader_move.kscope")


COMMANDS = {
    "report": ["--format", "json"],
    "info": [],
    "timeline": ["--format", "plain"],
    "topology": ["--format", "plain"],
    "sql": [
        "select kind, (select count(*) from messages.metadata_response) n from clients order by client_instance_id",
        "--format",
        "csv",
    ],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("s3_environment")
def test_a_command_gives_the_same(command: str, leader_move: Path, uploaded: str) -> None:
    local = run(command, leader_move, *COMMANDS[command])
    assert run(command, uploaded, *COMMANDS[command]) == local
    assert len(local.splitlines()) > 3


@pytest.mark.slow
@pytest.mark.usefixtures("s3_environment")
def test_explain_and_diff(leader_move: Path, uploaded: str) -> None:
    recovery = Dataset.open(leader_move).read("stories/recoveries", ["recovery_id"])["recovery_id"][0].as_py()
    local = run("explain", leader_move, recovery, "--format", "json")
    assert run("explain", uploaded, recovery, "--format", "json") == local.replace(str(leader_move), uploaded)
    there, here = (
        run("diff", uploaded, leader_move, "--format", "json"),
        run("diff", leader_move, uploaded, "--format", "json"),
    )
    assert there.replace(str(leader_move), uploaded) == here.replace(str(leader_move), uploaded)


@pytest.mark.slow
@pytest.mark.usefixtures("s3_environment")
def test_cut(leader_move: Path, uploaded: str, tmp_path: Path) -> None:
    capture = FIXTURES / "captures" / "leader_move.pcap.zst"
    for place, name in ((leader_move, "local.pcapng"), (uploaded, "remote.pcapng")):
        run("cut", place, "--client", "order-api-5", "--capture", capture, "-o", tmp_path / name)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.pcapng")}
    assert sizes["remote.pcapng"] > 1_000
    assert len(set(sizes.values())) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["--html", *(pytest.param(f, marks=pytest.mark.lab) for f in ("--markdown", "--json"))]
)
@pytest.mark.usefixtures("s3_environment")
def test_a_report_file_is_the_same(form: str, leader_move: Path, uploaded: str, tmp_path: Path) -> None:
    for place, name in ((leader_move, "local"), (uploaded, "remote")):
        run("report", place, form, tmp_path / f"{name}.out", "--quiet")
    assert (tmp_path / "remote.out").read_bytes() == (tmp_path / "local.out").read_bytes()


@pytest.mark.slow
def test_report_json_goes_beside_the_tables(leader_move: Path, bucket) -> None:
    made = bucket()
    dataset = Dataset.open(made.upload(leader_move, "x"))
    model = report_model(dataset)
    write_report(dataset, model)
    assert made.get(f"x/{REPORT_FILE}").decode() == to_json(model)


def test_what_is_not_listed_is_not_read(leader_move: Path, bucket) -> None:
    made = bucket()
    uri = made.upload(leader_move, "x")
    (file,) = Dataset.open(leader_move).files("requests")
    made.put("x/requests/part-9.parquet", (leader_move / file).read_bytes())
    query = "select count(*) n from requests"
    assert run("sql", uri, query, "--format", "csv") == run("sql", leader_move, query, "--format", "csv")


def test_a_bucket_or_dataset_that_is_not_there(bucket) -> None:
    made = bucket()
    assert refused("report", "s3://no-such-bucket/x.kscope").endswith("there is no such bucket")
    assert "is not a kafkascope dataset" in refused("info", f"{made.uri}/nothing.kscope")


def test_a_damaged_manifest(leader_move: Path, bucket) -> None:
    made = bucket()
    uri = made.upload(leader_move, "x")
    whole = made.get("x/_dataset.json")
    made.put("x/_dataset.json", whole[: len(whole) // 2])
    assert f"{uri}/_dataset.json is damaged" in refused("report", uri, code=3)
    made.put("x/_dataset.json", json.dumps(json.loads(whole) | {"schema_version": 1}).encode())
    assert "older kafkascope" in refused("topology", uri, code=3)


def test_a_file_that_is_missing_or_damaged_is_named(leader_move: Path, bucket) -> None:
    made = bucket()
    uri = made.upload(leader_move, "x")
    made.put("x/connections/part-0.parquet", b"PAR1 no")
    assert f"{uri}/connections/part-0.parquet: the Parquet file is damaged" in refused("report", uri, code=3)
    (file,) = Dataset.open(leader_move).files("requests")
    made.remove(f"x/{file}")
    asked = refused("sql", uri, "select count(latency_us) from requests", code=3)
    assert f"{uri}/{file}: the file is gone" in asked


def test_credentials_that_the_server_does_not_know(leader_move: Path, bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto import settings

    uri = bucket().upload(leader_move, "x")
    monkeypatch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)  # from here on moto checks credentials
    assert "check the credentials" in refused("report", uri)


@pytest.mark.slow
def test_a_server_that_does_not_answer(bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = bucket().uri
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "cannot be reached" in refused("report", f"{uri}/x")
