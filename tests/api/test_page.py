"""The code of docs/python.md runs as printed, block after block."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import kafkascope
from kafkascope.analysis import AnalyzeOptions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def blocks() -> list[str]:
    return [dedent(block) for block in re.findall(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", PAGE.read_text("utf-8"))]


@pytest.mark.slow
def test_the_page_runs(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    (tmp_path / "capture.kscope").symlink_to(place)
    monkeypatch.chdir(tmp_path)
    asked: list[dict[str, Any]] = []

    def analyzed(capture: str, **options: Any) -> kafkascope.Dataset:  # test_analyze.py runs it
        asked.append(options)
        return kafkascope.open(capture.replace(".pcap", ".kscope"))

    monkeypatch.setattr(kafkascope, "analyze", analyzed)
    names: dict[str, Any] = {}
    assert len(blocks()) == 4
    for block in blocks():
        exec(compile(block, str(PAGE), "exec"), names)
    assert [set(options) - set(AnalyzeOptions.__annotations__) for options in asked] == [set()]
    printed = capsys.readouterr().out
    dataset = names["dataset"]
    assert all(rule in printed for rule in dataset["findings"]["rule"].arrow()[0].to_pylist())
    assert printed.count("node 3") >= 1
