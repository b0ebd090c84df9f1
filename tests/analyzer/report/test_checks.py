"""SARIF against its schema, JUnit's XML through a parser of such files: the incidents and findings of a report."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import junitparser
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.checks import checks_of
from kafkascope_analyzer.report.junit import junit_of
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.sarif import sarif_of

FIXTURES = Path(__file__).parents[3] / "fixtures"
SCHEMA = json.loads((FIXTURES / "schemas" / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))
HOSTILE = "a]]><b>\x1b[2J\u202e\ud800\ufffe\x00&amp;\"'"


@pytest.fixture(scope="session")
def place(told_leader_move: Path) -> Path:
    return told_leader_move


@pytest.fixture(scope="module")
def report(place: Path) -> Report:
    return report_model(Dataset.open(place))


def sarif_results(text: str) -> list[dict[str, object]]:
    log = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return list(run["results"])


def test_the_command_writes_both(place: Path, tmp_path: Path) -> None:
    words = ["report", str(place), "--sarif", str(tmp_path / "a.sarif"), "--junit", str(tmp_path / "a.xml")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    results = sarif_results((tmp_path / "a.sarif").read_text("ascii"))
    assert [result["ruleId"] for result in results][:2] == ["incident/broker_down", "incident/leader_move"]
    suites = list(junitparser.JUnitXml.fromfile(str(tmp_path / "a.xml")))
    assert [suite.name for suite in suites] == ["incidents", "findings"]
    assert sum(suite.tests for suite in suites) == len(results)
    assert [len(case.result) for case in suites[0]] == [1, 1]
    assert all(isinstance(case.result[0], junitparser.Failure) for case in suites[0])


def test_a_result_is_at_a_packet_of_its_capture(report: Report) -> None:
    """The incident's proof, which the README shows: packets of the broker's connections."""
    (incident, *_) = sarif_results(sarif_of(report))
    places = [*incident["locations"], *incident["relatedLocations"]]  # type: ignore[misc]
    physical = [place["physicalLocation"] for place in places]
    assert {each["artifactLocation"]["uri"] for each in physical} == {"fixtures/captures/leader_move.pcap.zst"}
    packets = {proof.packets[0] for proof in report.incidents.listed[0].evidence if proof.packets}
    assert packets
    assert {each["region"]["startLine"] for each in physical if "region" in each} <= packets
    assert incident["partialFingerprints"] == {"kafkascope/v1": report.incidents.listed[0].incident_id}


def test_strangers_text_stays_text(report: Report) -> None:
    incident = replace(report.incidents.listed[0], title=HOSTILE, sentence=HOSTILE)
    capture = replace(report.capture, files=(replace(report.capture.files[0], path="my captures/ä%&<.pcap"),))
    hostile = replace(report, incidents=replace(report.incidents, listed=(incident,)), capture=capture)
    (result, *_) = sarif_results(sarif_of(hostile))
    assert "\x1b" not in json.dumps(result)
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]  # type: ignore[index]
    assert uri == "my%20captures/%C3%A4%25%26%3C.pcap"
    (suite, _) = junitparser.JUnitXml.fromstring(junit_of(hostile).encode())
    (case,) = suite
    assert case.name.startswith("a]]><b>\\x1b[2J\\u202e")
    assert case.result[0].message.endswith("&amp;\"'")


def test_where_nothing_failed_each_suite_has_a_case_that_passes(report: Report) -> None:
    calm = replace(
        report,
        incidents=replace(report.incidents, listed=(), unassigned=()),
        findings=replace(report.findings, listed=()),
        headline=replace(report.headline, judged=()),
    )
    assert checks_of(calm) == ()
    assert sarif_results(sarif_of(calm)) == []
    suites = list(junitparser.JUnitXml.fromstring(junit_of(calm).encode()))
    assert [(suite.tests, suite.failures) for suite in suites] == [(1, 0), (1, 0)]
    assert [case.is_passed for suite in suites for case in suite] == [True, True]
