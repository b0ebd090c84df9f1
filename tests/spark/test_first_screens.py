"""What the first screen keeps to, on captures of real clusters: its length, its width, commands once."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

pytestmark = pytest.mark.spark

WIDTH, MOST_LINES, MOST_OF_ANOTHER, NOTE_LINES = 80, 120, 60, 2
"""A capture of six clients and one incident takes so many lines at most, each further incident so many more; here two
lines say that no rule was asked."""


@cache
def model_of(dataset: Path) -> Report:
    return report_model(Dataset.open(dataset))


@pytest.mark.parametrize(
    "name", ["slow_broker", "frozen_broker", "late_broker", "delayed_path", "connection_limit", "failed_directory"]
)
def test_the_first_screen_is_short_and_says_each_command_once(dataset_of: Callable[..., Path], name: str) -> None:
    model = model_of(dataset_of(name))
    page = page_of(render(model), WIDTH, ascii_only=True)
    lines = page.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= MOST_LINES + NOTE_LINES + MOST_OF_ANOTHER * max(model.incidents.n - 1, 0)
    assert [page.count(f"kafkascope {command} ") for command in ("cut", "explain")] == [1, 1]
    assert sum(line.startswith("wireshark ") for line in lines) == 1


@pytest.mark.parametrize("name", ["slow_broker", "frozen_broker", "late_broker"])
def test_each_time_of_an_incident_has_its_time_of_day(dataset_of: Callable[..., Path], name: str) -> None:
    model = model_of(dataset_of(name))
    assert model.incidents.listed
    for incident in model.incidents.listed:
        moments = (incident.fault_start, incident.fault_end)
        assert all(re.search(r"\d\d:\d\d:\d\d\.\d{3}", moment.of_day) for moment in moments if moment is not None)
        assert all(wait.at and wait.of_day for wait in incident.waits)
        assert all(step.at and step.of_day for step in incident.course)
        assert incident.sentence.count(" UTC)") >= 1
