"""`kafkascope diff`: what changed in the traffic, on two datasets whose rows are known."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.html.compare import comparison_page
from kafkascope_analyzer.report.markdown.compare import markdown_comparison
from kafkascope_analyzer.report.model.compare import ClientKind, Comparison, comparison
from kafkascope_analyzer.report.model.compare_stories import story_changes
from kafkascope_analyzer.report.model.compare_traffic import generic_name, traffic_changes
from kafkascope_analyzer.report.model.failed_sections import empty
from kafkascope_analyzer.report.terminal.compare import render_comparison
from kafkascope_analyzer.report.terminal.page import page_of


def requests(small: ModuleType, n: int, latency_us: int, version: int, conn: str = "c1") -> list[dict]:
    return [
        small.request(conn, i, (0, "Produce", version), i, latency_us=latency_us, client_id="svc-1") for i in range(n)
    ]


def errors(small: ModuleType, name: str, n: int, conn: str = "c1") -> list[dict]:
    row = {
        "conn_id": conn,
        "api_key": 0,
        "api_name": "Produce",
        "error_code": 1,
        "error_name": name,
        "ts_ns": small.at(5),
    }
    return [{**row, "request_id": f"{conn}:{i}"} for i in range(n)]


@pytest.fixture
def two(small: ModuleType, tmp_path: Path) -> tuple[Path, Path]:
    """Of 10 s each: Produce from 2 ms to 20 ms, v12 to v13; 3 errors gone, 2 new, 4 to 9; a group rebalances more."""
    places = small.write_dataset(tmp_path / "a.kscope"), small.write_dataset(tmp_path / "b.kscope")
    tables = small.TABLES
    made = (
        (requests(small, 120, 2_000, 12), [("OLD", 3), ("OFTEN", 4), ("SAME", 5)], 1),
        (requests(small, 120, 20_000, 13), [("NEW", 2), ("OFTEN", 9), ("SAME", 6)], 4),
    )
    for place, (rows, named, n_rebalances) in zip(places, made, strict=True):
        between_brokers = requests(small, 120, 90_000, 9, conn="b0")
        small.write_table(place, tables["requests"], [*rows, *between_brokers])
        connections = [
            small.connection("c1", 1, 1, 0, software_name="java", software_version=str(len(named) + n_rebalances)),
            small.connection("b0", 2, 1, 0, roles=["inter_broker"]),
        ]
        small.write_table(place, tables["connections"], connections)
        found = [row for name, n in named for row in errors(small, name, n)]
        small.write_table(place, tables["errors"], [*found, *errors(small, "BETWEEN", n_rebalances, conn="b0")])
        rebalance = {"group_id": "readers", "trigger": "member_left", "unread_ms": 100 * n_rebalances}
        rebalances = [{**rebalance, "rebalance_id": f"r{i}", "start_ns": small.at(i)} for i in range(n_rebalances)]
        small.write_table(place, tables["rebalances"], rebalances)
    return places


def test_what_changed_is_named_without_what_brokers_ask_each_other(two: tuple[Path, Path]) -> None:
    changes = traffic_changes(*map(Dataset.open, two))
    (latency,) = changes.latency
    assert (latency.api_name, latency.p50_before_us, latency.p99_after_us) == ("Produce", 2_000, 20_000)
    assert (latency.n_before, latency.n_after, latency.verdict) == (120, 120, "slower")
    assert {(e.error_name, e.n_before, e.n_after, e.verdict) for e in changes.errors} == {
        ("OLD", 3, 0, "gone"),
        ("NEW", 0, 2, "new"),
        ("OFTEN", 4, 9, "more"),
        ("SAME", 5, 6, "same"),
    }
    assert changes.errors[-1].verdict == "same"
    assert [(v.client_id, v.what, v.before, v.after) for v in changes.versions] == [
        ("svc-*", "software", "java 4", "java 7"),
        ("svc-*", "Produce", "v12", "v13"),
    ]
    (rebalance,) = changes.rebalances
    assert (rebalance.n_before, rebalance.n_after, rebalance.longest_after_ms, rebalance.verdict) == (1, 4, 400, "more")


def test_a_few_requests_are_not_judged(small: ModuleType, two: tuple[Path, Path]) -> None:
    small.write_table(two[1], small.TABLES["requests"], requests(small, 19, 20_000, 12))
    (latency,) = traffic_changes(*map(Dataset.open, two)).latency
    assert (latency.n_after, latency.verdict) == (19, "same")


def test_a_capture_against_itself_has_no_change(two: tuple[Path, Path]) -> None:
    changes = traffic_changes(Dataset.open(two[0]), Dataset.open(two[0]))
    assert {row.verdict for row in (*changes.latency, *changes.errors, *changes.rebalances)} == {"same"}
    assert changes.versions == ()


def test_the_page_shows_each_kind_of_change_in_80_columns(two: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(app, ["diff", *map(str, two), "--format", "plain"])
    assert result.exit_code == 0, result.output
    page = result.stdout
    assert max(map(len, page.splitlines())) <= 80
    words = [" ".join(line.split()) for line in page.splitlines()]
    assert "Produce 120 > 120 2.00 ms > 20.0 ms 2.00 ms > 20.0 ms slower" in words
    assert "OFTEN Produce 4 9 more" in words
    assert "1 error kind as before" in words
    assert "svc-* software java 4 java 7" in words
    assert "readers 1 > 4 100 ms > 400 ms more" in words


@pytest.mark.parametrize(("name", "generic"), [("svc-12", "svc-*"), ("svc", "svc"), ("a.b_3", "a.b_*"), ("12", "12")])
def test_numbers_of_generated_names_count_for_nothing(name: str, generic: str) -> None:
    assert generic_name(name) == generic


def test_clients_that_are_in_one_capture_only_are_listed() -> None:
    svc, old = (ClientKind(name, "producer", "", "") for name in ("svc", "old"))
    model = replace(empty(Comparison), only_before=(old, old), only_after=(svc,))
    page = page_of(render_comparison(model), 80, ascii_only=True)
    before, after = page.index("Only in the first"), page.index("Only in the second")
    assert before < page.index("old - producer") < after < page.index("svc - producer")
    assert "Starts" not in page


@pytest.mark.slow
def test_fail_on_ends_with_1_where_what_is_named_is_worse(two: tuple[Path, Path]) -> None:
    before, after = map(str, two)
    diff = ["diff", before, after]
    for named, said in (
        ("latency", "worse than before: latency (1)"),
        ("errors", "worse than before: errors (2)"),
        ("rebalances", "worse than before: rebalances (1)"),
        ("any", "worse than before: latency (1), errors (2), rebalances (1)"),
    ):
        done = CliRunner().invoke(app, [*diff, "--fail-on", named, "--format", "plain"])
        assert (done.exit_code, done.stderr.strip()) == (1, f"kafkascope: {said}")
    assert CliRunner().invoke(app, ["diff", before, before, "--fail-on", "any"]).exit_code == 0
    assert CliRunner().invoke(app, diff).exit_code == 0


def test_markdown_has_what_changed(two: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "diff.md"
    words = ["diff", *map(str, two), "--markdown", str(out)]
    assert CliRunner().invoke(app, words).exit_code == 0
    text = out.read_text("utf-8")
    assert "| `Produce` | 120 > 120 | 2.00 ms > 20.0 ms | 2.00 ms > 20.0 ms | slower |" in text
    assert "| `NEW` | `Produce` | 0 | 2 | new |" in text
    assert "SAME" not in text
    assert CliRunner().invoke(app, words).exit_code == 2
    assert CliRunner().invoke(app, [*words[:-1], "-"]).stdout == text


def test_markdown_names_clients_of_one_capture_and_keeps_names_as_text() -> None:
    alone = ClientKind("a|b`c", "consumer", "g", "")
    model = replace(empty(Comparison), only_before=(alone,))
    text = markdown_comparison(replace(model, before=replace(model.before, name="a.kscope")))
    assert text.startswith("# `a.kscope` and ")
    assert "## Only in the first\n\n| client | kind | group |" in text
    assert "| ``a\\x7cb`c`` | consumer | `g` |" in text


def test_brokers_are_compared_one_by_one(small: ModuleType, two: tuple[Path, Path]) -> None:
    for place, us in zip(two, (2_000, 90_000), strict=True):
        rows = requests(small, 120, 2_000, 12)
        other = [{**row, "request_id": f"{row['request_id']}b", "node_id": 2} for row in requests(small, 120, us, 12)]
        small.write_table(place, small.TABLES["requests"], [*({**row, "node_id": 1} for row in rows), *other])
    changes = traffic_changes(*map(Dataset.open, two))
    found = {
        (row.node_id, row.n_after, row.p50_before_us, row.p50_after_us, row.verdict)
        for row in changes.latency_by_broker
    }
    assert found == {(1, 120, 2_000, 2_000, "same"), (2, 120, 2_000, 90_000, "slower")}
    assert [(row.node_id, row.n_after) for row in changes.latency] == [(None, 240)]


@pytest.fixture
def told(small: ModuleType, tmp_path: Path) -> tuple[Path, Path]:
    """Two of 10 s: a leader's move and its stalls are gone, a broker is down instead; recoveries take longer, and one
    is not over."""
    places = small.write_dataset(tmp_path / "a.kscope"), small.write_dataset(tmp_path / "b.kscope")
    recovery = {"client_instance_id": "p1", "client_id": "svc-1", "resource_kind": "partition", "resource": "clicks-0"}
    recovery |= {"first_error_name": "NOT_LEADER_OR_FOLLOWER", "outcome": "recovered", "start_ns": small.at(5)}
    incident = {"severity": "warning", "start_ns": small.at(100), "end_ns": small.at(900), "clients": ["p1"]}
    inside = {**recovery, "client_instance_id": "b1", "first_error_name": "BETWEEN", "recovery_id": "inside"}
    made = (
        ([100, 200, 300], "recovered", {**incident, "kind": "leader_move", "subject": "clicks-0", "longest_ms": 700}),
        ([100, 400, 900], "still_open", {**incident, "kind": "broker_down", "node_id": 1, "longest_ms": 5_000}),
    )
    for place, (times, last, failed) in zip(places, made, strict=True):
        rows = [{**recovery, "recovery_id": f"r{ms}", "time_to_recover_ms": ms} for ms in times]
        rows.append({**recovery, "first_error_name": "FENCED", "outcome": last, "recovery_id": "last"})
        small.write_table(place, small.TABLES["recoveries"], [*rows, inside])
        both = {**incident, "incident_id": "i2", "kind": "broker_silent", "node_id": 2, "longest_ms": 1_000}
        small.write_table(place, small.TABLES["incidents"], [{**failed, "incident_id": "i1"}, both])
        small.write_table(place, small.TABLES["stalls"], [])
    return places


def test_incidents_and_recoveries_are_compared(told: tuple[Path, Path]) -> None:
    changes = story_changes(*map(Dataset.open, told))
    assert [(row.what, row.n_before, row.n_after, row.clients_after, row.verdict) for row in changes.incidents] == [
        ("broker down: node 1", 0, 1, 1, "new"),
        ("leader moved: clicks-0", 1, 0, 0, "gone"),
        ("broker silent: node 2", 1, 1, 1, "same"),
    ]
    assert [
        (row.client_id, row.error_name, row.before_ms, row.after_ms, row.verdict) for row in changes.recoveries
    ] == [
        ("svc-*", "FENCED", None, None, "worse"),
        ("svc-*", "NOT_LEADER_OR_FOLLOWER", 200, 400, "slower"),
    ]
    assert (changes.before.n_incidents, changes.before.n_clients, changes.after.n_stalled_clients) == (2, 2, 0)


def test_every_form_has_incidents_and_recoveries(told: tuple[Path, Path]) -> None:
    model = comparison(*map(Dataset.open, told))
    markdown, page = markdown_comparison(model), page_of(render_comparison(model), 80, ascii_only=True)
    assert "| broker down: node 1 | 0 > 1 | 0 > 1 | 0 µs > 5.00 s | new |" in markdown
    assert "| `svc-*` | partition | `NOT_LEADER_OR_FOLLOWER` | 3 > 3 | 200 ms > 400 ms | slower |" in markdown
    words = [" ".join(line.split()) for line in page.splitlines()]
    assert "broker down: node 1 0 > 1 0 > 1 0 us > 5.00 s new" in words
    assert max(map(len, page.splitlines())) <= 80
    assert CliRunner().invoke(app, ["diff", *map(str, told), "--fail-on", "recoveries"]).exit_code == 1


def test_the_html_page_is_the_same_for_the_same_comparison(told: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "diff.html"
    assert CliRunner().invoke(app, ["diff", *map(str, told), "--html", str(out)]).exit_code == 0
    assert out.read_text("utf-8") == comparison_page(comparison(*map(Dataset.open, map(str, told))))
    assert CliRunner().invoke(app, ["diff", *map(str, told), "--html", str(out)]).exit_code == 2
