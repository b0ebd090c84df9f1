"""kafkascope protocol: the table of APIs, and one API with its fields."""

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app


def run(*args: str):
    return CliRunner().invoke(app, ["protocol", *args])


def test_the_table_has_every_api():
    lines = run().stdout.splitlines()
    assert len(lines) == 96
    assert lines[0].split() == [
        "key",
        "API",
        "decoded",
        "flexible",
        "3.9",
        "4.0",
        "4.4",
        "gone",
        "in",
        "4.0",
        "listeners",
    ]
    assert lines[1].split() == ["0", "Produce", "0-13", "9+", "0-11", "3-12", "3-13", "0-2", "broker"]
    assert lines[5].split() == ["4", "LeaderAndIsr", "0-7", "4+", "0-7", "-", "-", "0-7", "zkBroker"]


@pytest.mark.parametrize("api", ["Fetch", "fetch", "1"])
def test_one_api_shows_its_versions_and_fields(api):
    text = run(api).stdout
    assert text.startswith("Fetch, API key 1\n")
    assert "12: 2.7" in text
    assert "gone in Kafka 4.0: 0-3" in text
    assert "  ClusterId: string (v12+, nullable, tag 0)" in text
    assert "    Topic: string (v0-12)" in text


def test_earlier_names_and_layouts():
    assert "earlier names: ListClientMetricsResources" in run("ListConfigResources").stdout


@pytest.mark.parametrize("api", ["Fetsch", "999"])
def test_an_api_that_is_not_there(api):
    result = run(api)
    assert result.exit_code == 2
    assert api in result.stderr
