"""The page of `kafkascope diff` in the browser: what it shows, and that text of strangers is text there too."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.html.compare import comparison_page
from kafkascope_analyzer.report.model.compare import Comparison, comparison
from kafkascope_analyzer.report.model.compare_stories import IncidentChange

HOSTILE = "<img src=x onerror=window.stolen=1>\u202e\x1b[2J" + "x" * 32_000


@pytest.fixture(scope="module")
def model(told_leader_move: Path) -> Comparison:
    """A capture compared with itself, but for an incident that is new and an API that is slower."""
    found = comparison(Dataset.open(told_leader_move), Dataset.open(told_leader_move))
    new = IncidentChange("broker down: node 9", 0, 2, 0, 3, 0, 5_000, "new")
    slower = replace(found.latency[0], p99_after_us=9_000_000, verdict="slower")
    return replace(found, incidents=(new, *found.incidents), latency=(slower, *found.latency[1:]))


def hostile(value: Any) -> Any:
    """The same with text of strangers in place of each text, but for verdicts."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = ("verdict", "worse")
        return replace(value, **{f.name: hostile(getattr(value, f.name)) for f in fields(value) if f.name not in kept})
    if isinstance(value, tuple):
        return tuple(map(hostile, value))
    return HOSTILE if isinstance(value, str) else value


def rows_of(page: Any, caption: str) -> list[list[str]]:
    script = """(caption) => [...document.querySelectorAll("table")]
        .filter((one) => one.caption.textContent === caption)
        .flatMap((one) => [...one.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"""
    return page.evaluate(script, caption)


def test_what_changed_stands_first_and_the_rest_is_to_open(opened: Any, model: Comparison, tmp_path: Path) -> None:
    place = tmp_path / "diff.html"
    place.write_text(comparison_page(model), encoding="utf-8")
    found = opened(place)
    assert rows_of(found.page, "Incidents") == [
        ["broker down: node 9", "0", "2", "0", "3", "0 µs", "5.00 s", "▲ new"],
    ]
    (row,) = rows_of(found.page, "Latency by API")
    assert (row[0], row[-2], row[-1]) == (model.latency[0].api_name, "9.00 s", "▲ slower")
    assert len(rows_of(found.page, "Latency by API and broker, as before")) == len(model.latency_by_broker)
    assert ["clients", "6", "6"] in rows_of(found.page, "The two captures")
    assert found.complaints == []


def test_text_of_strangers_is_text(opened: Any, model: Comparison, tmp_path: Path) -> None:
    place = tmp_path / "hostile.html"
    place.write_text(comparison_page(hostile(model)), encoding="utf-8")
    found = opened(place, size=(400, 800))
    assert found.page.evaluate("[window.stolen, document.images.length]") == [None, 0]
    text = found.page.evaluate("document.body.textContent")
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\\u202e" in text
    assert "x" * 5_000 not in text
    assert found.page.evaluate("document.documentElement.scrollWidth") == 400
    assert found.complaints == []
