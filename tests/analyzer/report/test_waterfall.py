"""The waterfall and the comparison, on the small dataset."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.compare import comparison
from kafkascope_analyzer.report.model.starts import clients_of
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.start_waterfall import bar
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.startups.table import StartupStepRow

Write = Callable[..., Path]
MS = 1_000_000


def run(*arguments: object) -> Result:
    """The command on a terminal of 80 columns."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


def step(start: int, end: int, wait: int = 0, broker: int = 0) -> StartupStepRow:
    row = dict.fromkeys(field.name for field in fields(StartupStepRow)) | {"on_critical_path": True}
    row |= {"start_ns": start * MS, "end_ns": end * MS, "wait_us": wait * 1000, "broker_us": broker * 1000}
    return StartupStepRow(**row)


def test_a_bar_shows_whose_time_it_was() -> None:
    scale = (0, 10 * MS)
    assert bar(step(4, 8, wait=2, broker=2), scale, 10) == "  ..==##  "
    assert bar(step(0, 10), scale, 10) == "=========="
    assert bar(step(5, 5), scale, 10) == "     =    "
    assert bar(step(10, 12), scale, 10) == "         >"


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_a_bar_is_as_wide_as_it_should_be(start: int, took: int, wait: int, broker: int, end: int) -> None:
    made = bar(step(start, start + took, min(wait, start), min(broker, took)), (0, end * MS), 24)
    assert len(made) == 24
    assert made.strip()


@pytest.mark.parametrize("how", ["plain", "rich"])
def test_starts_fit_80_columns_and_is_ascii_when_plain(dataset: Write, how: str) -> None:
    result = run("timeline", dataset(text="\x1b[31mé"), "--start", "--format", how)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    assert any("init producer id #2" in line for line in lines)
    assert any("COORDINATOR_LOAD" in line for line in lines)
    if how == "plain":
        assert result.stdout.isascii()


@pytest.mark.parametrize("which", [("--client", "reader"), ("g1:1",)])
def test_starts_of_one_client_or_one_start_as_json(dataset: Write, which: tuple[str, ...]) -> None:
    result = run("timeline", dataset(), "--start", *which, "--format", "json")
    (client,) = json.loads(result.stdout)["clients"]
    assert (client["client_instance_id"], client["starts"][0]["outcome"]) == ("g1", "failed")


def test_who_is_not_there_is_said(dataset: Write) -> None:
    result = run("timeline", dataset(), "--client", "nobody")
    assert result.exit_code == 2
    assert "no client nobody; it has reader, svc" in result.stderr
    assert "Traceback" not in result.stderr


def test_brokers_are_shown_when_asked_for(dataset: Write) -> None:
    place = dataset()
    assert "b1" not in [c.client_instance_id for c in clients_of(Dataset.open(place))]
    assert [c.client_instance_id for c in clients_of(Dataset.open(place), ["broker-1"])] == ["b1"]


def test_without_stories_it_says_how_to_make_them(dataset: Write) -> None:
    with pytest.raises(UsageError, match="kafkascope stories"):
        clients_of(Dataset.open(dataset(stories=False)))


@pytest.fixture
def two(small: Any, tmp_path: Path) -> tuple[Path, Path]:
    """The same client, ready after 400 ms and after 1,400 ms: a wait before its first Produce grew by 1,000 ms."""
    places = tmp_path / "a.kscope", tmp_path / "b.kscope"
    for place, total_ms, wait_ms in ((places[0], 400, 300), (places[1], 1_400, 1_300)):
        small.write_dataset(place)
        found = small.story_rows("")
        for start in found["startups"]:
            if start["outcome"] == "ready":
                start |= {"ready_ns": small.at(total_ms), "total_us": total_ms * 1000}
        found["startup_steps"][2] |= {"wait_us": wait_ms * 1000}
        for name in ("startups", "startup_steps"):
            small.write_table(place, small.TABLES[name], found[name])
    return places


def test_a_slower_start_names_the_step_and_whose_time(two: tuple[Path, Path]) -> None:
    model = plain(comparison(Dataset.open(two[0]), Dataset.open(two[1])))
    slower = next(row for row in model["matched"] if row["kind"] == "producer")
    assert (slower["verdict"], slower["change_us"], model["n_slower"]) == ("slower", 1_000_000, 1)
    assert slower["steps"] == [
        {
            "step": "first_produce",
            "before_us": 390_000,
            "after_us": 1_390_000,
            "change_us": 1_000_000,
            "wait_us": 1_000_000,
            "broker_us": 0,
            "network_us": 0,
        }
    ]
    result = run("diff", *two, "--format", "plain")
    assert "slower by 1.00 s" in result.stdout
    assert "+1.00 s first produce" in result.stdout
    assert "mostly the client's wait" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_capture_against_itself_has_no_change(two: tuple[Path, Path]) -> None:
    model = plain(comparison(Dataset.open(two[0]), Dataset.open(two[0])))
    assert {row["verdict"] for row in model["matched"]} == {"same"}
    assert model["only_before"] == model["only_after"] == []
