"""`kafkascope diff`: what changed in the traffic, on two datasets whose rows are known."""

from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.compare import ClientKind, Comparison
from kafkascope_analyzer.report.model.compare_traffic import generic_name, traffic_changes
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
    model = Comparison((), 0, 0, (old, old), (svc,), (), (), (), ())
    page = page_of(render_comparison(model), 80, ascii_only=True)
    before, after = page.index("Only in the first"), page.index("Only in the second")
    assert before < page.index("old - producer") < after < page.index("svc - producer")
    assert "Starts" not in page
