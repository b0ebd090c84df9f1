"""Incidents, findings and the diagram of an episode in Markdown: a renderer shows what the model says."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.markdown.incidents import markdown_findings, markdown_headline, markdown_incidents
from kafkascope_analyzer.report.markdown.mermaid import FIRST_STEPS, LAST_STEPS, sequence
from kafkascope_analyzer.report.model.clients import Client
from kafkascope_analyzer.report.model.recoveries import RecoveredCause, RecoveryStep
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.model.worst_episode import worst_episode

markdown_it = pytest.importorskip("markdown_it")


@pytest.fixture(scope="module")
def report(small: Any, tmp_path_factory: pytest.TempPathFactory) -> Report:
    place: Path = small.write_dataset(tmp_path_factory.mktemp("markdown") / "small.kscope")
    return report_model(Dataset.open(place))


def of(kind: type, /, **values: Any) -> Any:
    """A dataclass with these values; the rest is nothing."""
    empty = {f.name: () if "tuple[" in str(f.type) else None for f in fields(kind)}
    return kind(**empty | values)


def rendered(lines: Iterator[str]) -> tuple[list[str], list[list[str]]]:
    """The texts of a Markdown document, and the cells of its tables, as a renderer has them."""
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    texts, rows = [], []
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if token.type == "inline":
            text = "".join(part.content for part in token.children)
            (rows[-1] if before.type in ("td_open", "th_open") else texts).append(text)
    return texts, rows


def test_incidents_and_who_stalled(report: Report) -> None:
    texts, rows = rendered(markdown_incidents(report))
    (incident,) = report.incidents.listed
    assert rows[1][0] == f"error: {incident.title}"
    waits = [[f"{w.at} ({w.of_day} UTC)", w.lasted, w.state] for w in incident.waits]
    assert [cells[2:] for cells in rows[3:]] == waits
    assert any(report.incidents.listed[0].title in text for text in texts)
    assert any("Node 1 sent nothing from 4.9 s on." in text for text in texts)


def test_the_headline_and_the_findings(report: Report) -> None:
    texts, _ = rendered(markdown_headline(report))
    assert all(any(detail in text for text in texts) for detail in report.headline.details)
    texts, _ = rendered(markdown_findings(report))
    assert any(text.startswith("error broker_lost") and text.endswith("node 1 was lost") for text in texts)
    calm = replace(report.findings, n=0, listed=(), by_severity={})
    assert rendered(markdown_findings(replace(report, findings=calm)))[0][-1] == "No rule found fault with anything."
    absent = replace(report.findings, present=False)
    assert list(markdown_findings(replace(report, findings=absent))) == []


def step(kind: str, at_ms: int, node: int | None = 1, **more: Any) -> RecoveryStep:
    made: RecoveryStep = of(RecoveryStep, step=kind, ts_ns=at_ms * 1_000_000, node_id=node, **more)
    return made


def cause(*steps: RecoveryStep, **more: Any) -> RecoveredCause:
    made: RecoveredCause = of(RecoveredCause, **{"steps": steps, "start_ns": 0, "n_errors": len(steps)} | more)
    return made


def test_a_diagram_has_a_line_a_step_and_a_participant_a_node() -> None:
    errors = [step("error", 0, 2, error_name="A;B"), step("backoff", 1, None, duration_us=1500), step("success", 9, -1)]
    lines = sequence(of(Client, client_id="p<1>"), cause(*errors))
    assert lines == [
        "sequenceDiagram",
        "    participant C as p#60;1#62;",
        "    participant Nm1 as node -1",
        "    participant N2 as node 2",
        "    N2--xC: +0 µs A#59;B",
        "    Note over C: +1.00 ms pauses 1.50 ms",
        "    Nm1-->>C: +9.00 ms success",
    ]


def test_a_long_diagram_has_both_ends_and_says_what_is_left_out() -> None:
    steps = [step("metadata", n) for n in range(100)]
    lines = sequence(of(Client), cause(*steps))
    assert lines.count("    Note over C: 76 steps more") == 1
    assert len([line for line in lines if "->>" in line]) == FIRST_STEPS + LAST_STEPS
    assert lines[-1] == "    C->>N1: +99.0 ms metadata"


def test_the_worst_episode_is_one_that_did_not_end_well_else_the_longest(report: Report) -> None:
    well = cause(step("error", 0), outcome="recovered", time_to_recover_ms=9000, recovery_id="long")
    short = replace(well, time_to_recover_ms=5, recovery_id="short")
    open_one = replace(short, outcome="still_open", time_to_recover_ms=None, recovery_id="open")
    without = replace(well, steps=(), recovery_id="no steps")

    def worst(*recoveries: RecoveredCause) -> str | None:
        client = replace(report.clients.listed[0], recoveries=recoveries)
        found = worst_episode(replace(report.clients, listed=(client,)))
        return found and found[1].recovery_id

    assert worst(short, well) == "long"
    assert worst(well, short, open_one) == "open"
    assert worst(without) is None
