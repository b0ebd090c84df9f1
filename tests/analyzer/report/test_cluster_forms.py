"""Reports of several clusters on a terminal and in Markdown: the clusters first, then the whole report of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.markdown.clusters import markdown_of
from kafkascope_analyzer.report.markdown.report import to_markdown
from kafkascope_analyzer.report.model.capture import OfCluster
from kafkascope_analyzer.report.model.clusters import ClusterOverview, ClusterReports, SharedClient
from kafkascope_analyzer.report.model.failed_sections import FailedPartRow
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.terminal.clusters import render_all
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

HOSTILE = "a|b\x1b[2J"


@pytest.fixture(scope="module")
def report(small: Any, tmp_path_factory: pytest.TempPathFactory) -> Report:
    place: Path = small.write_dataset(tmp_path_factory.mktemp("clusters") / "small.kscope")
    return report_model(Dataset.open(place))


def overview(name: str, n_clients: int) -> ClusterOverview:
    servers = tuple(f"10.0.0.{n}:9092" for n in range(5))
    return ClusterOverview(name, "its cluster id", servers, n_clients, 9, "warning", 3, 7, "sentence")


@pytest.fixture(scope="module")
def both(report: Report) -> ClusterReports:
    shared = SharedClient("10.9.9.9", ("one", HOSTILE), ("mm2",), "MirrorMaker")
    reports = of_cluster(report, "one", 1), of_cluster(report, HOSTILE, 2)
    return ClusterReports((overview("one", 1204), overview(HOSTILE, 2)), (shared,), reports)


def of_cluster(report: Report, name: str, number: int) -> Report:
    return replace(report, capture=replace(report.capture, of_cluster=OfCluster(name, number, 2)))


def test_what_failed_in_any_cluster_has_failed(both: ClusterReports) -> None:
    part = FailedPartRow("rule", ("slow_broker",), 1, "KeyError", ("rules.py:1",), "The rule slow_broker failed")
    first, second = both.reports
    assert both.failed_parts == ()
    assert replace(both, reports=(first, replace(second, failed_parts=(part,)))).failed_parts == (part,)


def test_one_report_is_as_it_was(report: Report) -> None:
    assert markdown_of(report) == to_markdown(report)
    whole, alone = (page_of(parts, 80, ascii_only=False) for parts in (render_all(report), render(report)))
    assert whole == alone


def test_markdown_has_the_clusters_and_then_the_report_of_each(both: ClusterReports) -> None:
    text = markdown_of(both)
    assert text.startswith("# 2 clusters\n")
    assert [text.count(to_markdown(report)) for report in both.reports] == [1, 1]
    assert "# Kafka traffic in `small.pcap`: cluster `one`, 1 of 2\n" in text
    assert text.count("40 packets in the whole capture") == 2
    assert "| `one` | `10.0.0.0:9092`, `10.0.0.1:9092`, `10.0.0.2:9092` … and 2 more | 1204 | warning | 3 | 7 |" in text
    assert "- `10.9.9.9` talks to `one`, " in text
    assert "\x1b" not in text
    assert "a|b" not in text


def test_the_terminal_has_the_clusters_and_then_the_report_of_each(both: ClusterReports) -> None:
    lines = [" ".join(line.split()) for line in page_of(render_all(both), 120, ascii_only=False).splitlines()]
    assert any(line.startswith("2 clusters") for line in lines)
    assert "one 10.0.0.0:9092, 10.0.0.1:9092, 10.0.0.2:9092 … and 2 more 1,204 warning 3 7" in lines
    assert [line.split(" ─")[0] for line in lines if line.startswith("Cluster ")][:1] == ["Cluster one, 1 of 2"]
    assert sum(line.startswith("kafkascope · small.pcap") for line in lines) == 2
    assert any("10.9.9.9 talks to one, a|b\\x1b[2J: MirrorMaker (mm2)" in line for line in lines)
