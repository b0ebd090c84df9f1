"""Sections of the terminal report: each figure of the model is on the page, and what has no figures has no section."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.cause_sentences import cause_sentences, cause_severity
from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.model import ALONE_FINDINGS
from kafkascope_analyzer.report.model.recoveries import RecoveredCause, RecoveryStep
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.model.restarts import Restart
from kafkascope_analyzer.report.terminal.clients import render_clients
from kafkascope_analyzer.report.terminal.findings import LONGEST_COMMAND, command_lines, render_findings
from kafkascope_analyzer.report.terminal.groups import render_rebalances, render_transactions
from kafkascope_analyzer.report.terminal.incidents import render_headline, render_incidents
from kafkascope_analyzer.report.terminal.layout import grid, heading, labelled, line, more
from kafkascope_analyzer.report.terminal.overview import render_head, render_traffic, render_unread
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.recovery_waterfall import bar
from kafkascope_analyzer.report.terminal.restarts import render_restarts
from kafkascope_analyzer.report.terminal.traffic import render_client_traffic, render_latency, render_leaders
from kafkascope_spark.stories.cadences.table import Cadence


@pytest.fixture(scope="module")
def report(small: Any, tmp_path_factory: pytest.TempPathFactory) -> Report:
    place: Path = small.write_dataset(tmp_path_factory.mktemp("terminal") / "small.kscope")
    return report_model(Dataset.open(place))


def of(kind: type, /, **values: Any) -> Any:
    """A dataclass with these values; the rest is nothing."""
    empty = {f.name: () if "tuple[" in str(f.type) else None for f in fields(kind)}
    return kind(**empty | values)


def text(parts: Iterable[RenderableType], width: int = 100) -> str:
    return page_of(parts, width, ascii_only=False)


def lines(parts: Iterable[RenderableType], width: int = 100) -> list[str]:
    return [" ".join(one.split()) for one in text(parts, width).splitlines() if one.strip()]


Render = Callable[[Report], Iterable[RenderableType]]


@pytest.mark.parametrize(
    ("render", "said"),
    [
        (render_head, ["2026-11-21 04:28:08.000 UTC · 10.0 s · 40 packets", "5 TCP connections: 4 kafka, 1 empty"]),
        (render_unread, ["100 B 1 before the first whole frame of a connection that was there already"]),
        (render_latency, ["Produce unknown 5 2.99 ms 9.98 ms", "Metadata unknown 1 1.00 ms 1.00 ms"]),
        (render_client_traffic, ["(no client id) 5 0 0.00 not read"]),
        (
            render_rebalances,
            ["Rebalances (2)", "00:00.060 1 first 2 30.0 ms", "00:00.500 2 member joined 2 3.00 s 2.90 s svc"],
        ),
        (
            render_transactions,
            ["pay (v2) 1 1 1 20.0 ms 40.0 ms", "00:00.300 aborted after 40.0 ms · epoch 1, 12 partitions, 5 records"],
        ),
        (render_incidents, ["Incidents (1)", "00:04.990 4.00 s over"]),
        (render_findings, ["Other findings (2)", "node 1 was lost"]),
        (render_clients, ["producer at 10.0.0.101 · apache-kafka-java 4.3.1"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_figures_of_the_model_are_on_the_page(report: Report, render: Render, said: list[str]) -> None:
    shown = lines(render(report))
    assert [one for one in said if not any(one in row for row in shown)] == [], shown


def test_every_api_and_error_is_on_the_page(report: Report) -> None:
    shown = text(render_traffic(report))
    for api in report.apis:
        assert f"{api.api_name}" in shown
    assert "NOT_LEADER_OR_FOLLOWER" in shown


def test_the_headline_comes_with_its_verdict(report: Report) -> None:
    first, *rest = lines(render_headline(report))
    assert first.startswith(f"{report.headline.verdict} ")
    assert " ".join([first, *rest]).count(report.headline.details[-1]) == 1


@pytest.mark.parametrize("section", ["restarts", "rebalances", "transactions", "findings", "incidents"])
def test_a_section_without_rows_is_not_there(report: Report, section: str) -> None:
    empty = {"n": 0, "present": False, "n_routine": 0, "n_unassigned": 0}
    known = {f.name for f in fields(getattr(report, section))}
    without = replace(
        report, **{section: replace(getattr(report, section), **{k: v for k, v in empty.items() if k in known})}
    )
    renders = {
        "restarts": lambda model: render_restarts(model.restarts),
        "rebalances": render_rebalances,
        "transactions": render_transactions,
        "findings": render_findings,
        "incidents": render_incidents,
    }
    assert list(renders[section](without)) == []
    assert list(render_leaders(replace(report, leaders=replace(report.leaders, n=0, listed=())))) == []


def test_restarts_beyond_the_limit_are_counted(report: Report) -> None:
    row = of(
        Restart, broker="node 1 (a:9092)", node_id=1, at="00:01.000", lasted="2 s", release="4.2 → 4.3", cost="nobody"
    )
    found = replace(report.restarts, n=40, sentence="40 restarts", listed=(row,) * 40)
    shown = lines(render_restarts(found))
    assert shown.count("node 1 00:01.000 2 s 4.2 → 4.3 nobody") == 30
    assert shown[-1] == "… and 10 restarts more (--format json has all)"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_layout_keeps_its_indent_and_its_width(width: int) -> None:
    table = grid(("name", "n"), ("figure", "r"), ("rest", "w"))
    table.add_row("a", "1,204", "x " * 30)
    parts = [heading("Title"), line("word " * 20, indent=4), labelled(("error", "bold"), 8, "y " * 40, indent=2), table]
    shown = text([*parts, *more(3, "finding", "elsewhere")], width).splitlines()
    assert max(map(len, shown)) <= width
    assert all(row.startswith("    ") for row in shown if row.strip().startswith("word"))
    assert all(row.startswith(" " * 10) for row in shown if row.strip().startswith("y") and "error" not in row)
    assert list(more(0, "finding", "elsewhere")) == list(more(-5, "finding", "elsewhere")) == []


def test_a_long_command_is_cut_before_its_options_as_a_shell_reads_it() -> None:
    short, long = "kafkascope cut a", f"kafkascope cut a --client {'x' * LONGEST_COMMAND} -o y.pcapng"
    assert lines(command_lines(short)) == [short]
    shown = lines(command_lines(long), 200)
    assert [row.endswith(" \\") for row in shown] == [True, True, False]
    assert " ".join(row.removesuffix(" \\") for row in shown) == long


@pytest.mark.parametrize(
    ("step", "ts_ns", "duration_us", "drawn"),
    [
        ("error", 0, None, "x"),
        ("success", 1000, None, " " * 10 + "o"),
        ("backoff", 0, None, "."),
        ("backoff", 500, 1, " " * 5 + "." * 6),
        ("metadata", 1000, 1, "#" * 11),
        ("error", 9000, None, " " * 10 + "x"),
        ("error", -9000, None, "x"),
    ],
)
def test_a_step_of_an_episode_is_drawn_on_its_time(step: str, ts_ns: int, duration_us: int | None, drawn: str) -> None:
    made = of(RecoveryStep, step=step, ts_ns=ts_ns, duration_us=duration_us)
    assert bar(made, (0, 1000), 11) == drawn


def test_what_is_said_of_a_cause() -> None:
    cluster = of(Cluster, brokers=())
    cause = of(
        RecoveredCause, n_errors=2, n_wasted_requests=1, outcomes={"recovered": 1, "gave_up": 1}, outcome="gave_up"
    )
    full = replace(
        cause, old_node_id=1, new_node_id=2, error_names=("A", "B"), first_error_name="A", reaction="find_new"
    )
    assert list(cause_sentences(replace(full, expected_reaction="metadata"), cluster)) == [
        "2 errors, 1 wasted request",
        "node 1 → node 2",
        "also B",
        "episodes: 1 recovered, 1 given up",
        "did: find new",
        "expected: metadata",
    ]
    assert list(cause_sentences(replace(full, new_node_id=None), cluster))[1] == "at node 1"
    order = [replace(cause, outcome="recovered", time_to_recover_ms=9), cause, replace(cause, time_to_recover_ms=5)]
    assert sorted(order, key=cause_severity) == [order[2], order[1], order[0]]


@pytest.mark.parametrize(
    ("software", "limit"), [("apache-kafka-java", " (limit 5, default)"), ("librdkafka", ""), ("unknown", "")]
)
def test_a_limit_is_told_of_libraries_that_have_it(report: Report, software: str, limit: str) -> None:
    flight = of(
        Cadence, cadence="in_flight", verdict="late", p50_ms=24, max_ms=60, expected_ms=5, expected_from="default"
    )
    commit = replace(flight, cadence="commit", verdict="fast", p50_ms=359, max_ms=4140, expected_ms=5000)
    first, *others = report.clients.listed
    client = replace(
        first, software_name=software, odd_loops=(flight, commit, replace(commit, cadence="ping", p50_ms=0))
    )
    shown = lines(render_clients(replace(report, clients=replace(report.clients, listed=(client, *others)))))
    assert f"requests in flight: median 24, maximum 60{limit}" in shown
    assert "commit: every 359 ms (median), at most 4.14 s apart (expected: every 5.00 s, default)" in shown
    assert not any(row.startswith("ping") for row in shown)


def test_findings_beyond_the_limit_are_counted(report: Report) -> None:
    row = of(Finding, finding_id="f", rule="acks_zero", severity="warning", sentence="was seen", when="once")
    rows = tuple(replace(row, finding_id=f"f{n}") for n in range(30))
    found = replace(report.findings, n=30, by_severity={"warning": 30}, listed=rows)
    shown = lines(render_findings(replace(report, findings=found)))
    assert shown[0].startswith("Findings (30)")
    assert shown.count("was seen") == ALONE_FINDINGS == 8
    assert "22 more findings, in short: 22 acks_zero (kafkascope report --all)" in shown
