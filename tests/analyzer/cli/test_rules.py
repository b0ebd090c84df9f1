"""kafkascope rules; --fail-on and --ignore: exit codes, and the names of rules."""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.cli.exits import CommandEnd
from kafkascope_analyzer.cli.fail_on import end_if_found, known_rules, n_found
from kafkascope_analyzer.cli.options import Severity
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.findings.rules import RULES


def run(*args: str):
    return CliRunner().invoke(app, list(args))


def test_the_table_has_every_rule():
    lines = run("rules").stdout.splitlines()
    assert lines[0].split(maxsplit=2) == ["rule", "severity", "what it finds"]
    assert [line.split(maxsplit=2) for line in lines[1:]] == [[r.name, r.severity, r.title] for r in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_prints_its_page(rule):
    said = " ".join(run("rules", rule.name).stdout.split())
    for text in (rule.name, rule.title, rule.meaning, rule.looks_at, rule.advice):
        assert text in said


def test_a_rule_that_is_not_there():
    result = run("rules", "broker_lots")
    assert result.exit_code == 2
    assert "broker_lots" in result.stderr
    assert "the closest is broker_lost" in result.stderr


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> pathlib.Path:
    place = tmp_path / "stories" / "findings"
    place.mkdir(parents=True)
    output = [("broker_lost", "warning"), ("shared_vip", "error"), ("tiny_batches", "info"), ("shared_vip", "error")]
    rows = pa.Table.from_pylist([{"rule": rule, "severity": severity} for rule, severity in output])
    pq.write_table(rows, place / "part-0.parquet")
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    return tmp_path


@pytest.mark.parametrize(
    ("severity", "n"),
    [(Severity.info, 4), (Severity.warning, 3), (Severity.error, 2)],
)
def test_findings_of_a_severity_or_worse(dataset, severity, n):
    assert n_found(Dataset.open(dataset), severity) == n


def test_a_finding_ends_the_command_with_1(dataset):
    with pytest.raises(CommandEnd, match="3 findings at warning or worse") as ended:
        end_if_found(Dataset.open(dataset), Severity.warning)
    assert ended.value.code == 1
    end_if_found(Dataset.open(dataset), None)


def test_without_findings_to_look_at(tmp_path):
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    with pytest.raises(UsageError, match="stories"):
        n_found(Dataset.open(tmp_path), Severity.warning)


def test_names_of_rules_to_ignore():
    assert known_rules(None) == frozenset()
    assert known_rules(["broker_lost", "broker_lost"]) == {"broker_lost"}
    with pytest.raises(UsageError, match=r"--ignore brokerlost: no such rule \(the closest is broker_lost\)"):
        known_rules(["brokerlost"])


@pytest.mark.parametrize("command", ["analyze", "stories"])
def test_an_unknown_rule_is_refused_before_anything_is_done(command, tmp_path):
    result = run(command, str(tmp_path), "--ignore", "nonsense", "-q")
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []
    assert "kafkascope rules" in result.stderr or "not a dataset" in result.stderr


@pytest.mark.parametrize("command", ["analyze", "stories"])
def test_a_stall_that_is_no_duration_is_refused_before_anything_is_done(command, tmp_path):
    result = run(command, str(tmp_path), "--stall", "2 hours", "-q")
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []
    assert "--stall 2 hours: not a duration; write it as 500ms, 2s or 1min" in result.stderr
