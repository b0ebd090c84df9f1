"""kafkascope rules; --fail-on and --ignore: exit codes, and the names of rules."""

import pathlib
from dataclasses import replace

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
from kafkascope_analyzer.report.model.failed_sections import empty
from kafkascope_analyzer.report.model.incidents.model import Headline, Judged
from kafkascope_analyzer.report.model.report import Report
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.incidents.kinds import KINDS


def run(*args: str):
    return CliRunner().invoke(app, list(args))


def test_the_tables_have_every_rule_and_every_kind_of_incident():
    rules, kinds = (part.splitlines() for part in run("rules").stdout.split("\n\n"))
    assert rules[0].split(maxsplit=2) == ["rule", "severity", "what it finds"]
    assert [line.split(maxsplit=2) for line in rules[1:]] == [[r.name, r.severity, r.title] for r in RULES]
    assert [line.split(maxsplit=1) for line in kinds[1:]] == [[kind.name, kind.words] for kind in KINDS]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_prints_its_page(rule):
    said = " ".join(run("rules", rule.name).stdout.split())
    for text in (rule.name, rule.title, rule.meaning, rule.looks_at, rule.advice):
        assert text in said


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_of_incident_says_what_it_looks_at_and_what_looks_like_it(kind):
    said = " ".join(run("rules", kind.name).stdout.split())
    assert f"{kind.name} (incident): {kind.words}" in said
    assert f"Shown by {kind.known}" in said
    assert "Looks at " in said
    assert "confused with " in said or kind.name == "unexplained"


def test_a_rule_and_a_kind_of_one_name_both_print_their_page():
    said = run("rules", "tls_failed").stdout
    assert "tls_failed (incident): TLS handshake failed" in said
    assert "tls_failed (error): " in said


def test_a_rule_that_is_not_there():
    result = run("rules", "broker_lots")
    assert result.exit_code == 2
    assert "broker_lots" in result.stderr
    assert "did you mean broker_lost" in result.stderr


def judged(*counts: tuple[str, str, int]) -> Headline:
    """A headline whose verdict is about these."""
    return replace(empty(Headline), judged=tuple(Judged(*each) for each in counts))


FOUND = judged(
    ("incident", "error", 2), ("incident", "info", 5), ("failed start", "error", 1), ("finding", "warning", 3)
)


@pytest.mark.parametrize(
    ("severity", "n"),
    [
        (Severity.info, {"incident": 7, "failed start": 1, "finding": 3}),
        (Severity.warning, {"incident": 2, "failed start": 1, "finding": 3}),
        (Severity.error, {"incident": 2, "failed start": 1}),
    ],
)
def test_what_the_verdict_counts_of_a_severity_or_worse(severity: Severity, n: dict[str, int]) -> None:
    assert n_found(FOUND, severity) == n


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> Dataset:
    (tmp_path / "stories" / "findings").mkdir(parents=True)
    pq.write_table(pa.table({"rule": pa.array([], pa.string())}), tmp_path / "stories" / "findings" / "part-0.parquet")
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    return Dataset.open(tmp_path)


def test_what_was_found_ends_the_command_with_1(dataset: Dataset) -> None:
    model = replace(empty(Report), headline=FOUND)
    with pytest.raises(CommandEnd, match="2 incidents, 1 failed start, 3 findings at warning or worse") as ended:
        end_if_found(dataset, model, Severity.warning)
    assert ended.value.code == 1
    end_if_found(dataset, model, None)
    end_if_found(dataset, replace(model, headline=judged(("finding", "info", 1))), Severity.warning)


def test_without_stories_to_look_at(tmp_path: pathlib.Path) -> None:
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    with pytest.raises(UsageError, match="stories"):
        end_if_found(Dataset.open(tmp_path), empty(Report), Severity.warning)


def test_names_of_rules_to_ignore():
    assert known_rules(None) == frozenset()
    assert known_rules(["broker_lost", "broker_lost"]) == {"broker_lost"}
    with pytest.raises(UsageError, match=r"--ignore brokers_lost: no such rule \(did you mean broker_lost"):
        known_rules(["brokers_lost"])


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
    assert "--stall 2 hours: not a duration; write it as 500ms, 2s, 1.5min or 1h" in result.stderr
