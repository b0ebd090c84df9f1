"""Small tables of a report's dataset are read once, and give what the dataset itself gives."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset import kept_tables
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.kept_tables import kept
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.page_model.page_model import page_model
from kafkascope_analyzer.report.plain import to_json
from kafkascope_analyzer.report.trace_model import trace_model
from kafkascope_parsers.errors import UsageError


@pytest.fixture(scope="session")
def place(told_leader_move: Path) -> Path:
    return told_leader_move


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often the files of each table were opened."""
    counts: Counter[str] = Counter()
    of_all_clusters = Dataset._of_all_clusters

    def counted(self: Dataset, table: str | Table) -> Any:
        counts[table if isinstance(table, str) else table.stored_as] += 1
        return of_all_clusters(self, table)

    monkeypatch.setattr(Dataset, "_of_all_clusters", counted)
    return counts


def test_a_report_its_page_and_its_trace_read_each_table_once(place: Path, opened: Counter[str]) -> None:
    tables = kept(Dataset.open(place))
    page_model(tables, report_model(tables))
    with trace_model(tables) as trace:
        assert len(list(trace.requests())) == tables.rows("requests") == 5708
    with_rows = {name for name in tables.tables if tables.rows(name)}
    assert {name: n for name, n in opened.items() if n != 1 and name in with_rows} == {}
    assert {"requests", "connections", "stories/recoveries", "stories/startup_steps"} <= opened.keys()


@pytest.mark.slow
def test_the_report_is_that_of_the_dataset(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = to_json(report_model(kept(Dataset.open(place))))
    monkeypatch.setattr(kept_tables, "MOST_KEPT_ROWS", 0)
    assert to_json(report_model(Dataset.open(place))) == report


def test_rows_columns_and_filters_are_those_of_the_dataset(place: Path) -> None:
    plain, tables = Dataset.open(place), kept(Dataset.open(place))
    wanted = ["conn_id", "client_ids", "close_kind"]
    for only in (None, one_of("close_kind", ["fin_client"]), one_of("close_kind", [])):
        for _ in range(2):
            assert tables.read("connections", wanted, only) == plain.read("connections", wanted, only)
    lengths = {"n": pa.compute.list_value_length(pa.compute.field("client_ids"))}
    assert list(tables.batches("connections", lengths)) == list(plain.batches("connections", lengths))
    assert list(tables.batches("no_such_table")) == []


def test_large_tables_are_read_each_time(place: Path, opened: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tables = kept(Dataset.open(place))
    monkeypatch.setattr(kept_tables, "MOST_KEPT_ROWS", tables.rows("connections") - 1)
    for _ in range(2):
        assert sum(batch.num_rows for batch in tables.batches("connections", ["conn_id"])) == 171
        assert sum(batch.num_rows for batch in tables.batches("captures")) == 1
    assert opened == {"connections": 2, "captures": 1}


def test_a_dataset_with_other_stories_keeps_none_of_the_former(place: Path) -> None:
    tables = kept(Dataset.open(place))
    assert tables.read("stories/clients").num_rows == 21
    assert tables.with_stories({"stories/clients": []}).read("stories/clients").num_rows == 0
    assert replace(tables).read("stories/clients").num_rows == 21
    assert kept(tables) is tables


def test_a_damaged_file_is_named_also_when_the_table_is_kept(place: Path, tmp_path: Path) -> None:
    tables = kept(Dataset.open(place))
    file = place / tables.files("roles")[0]
    before = file.read_bytes()
    file.write_bytes(before[:-9] + b"x" * 9)
    try:
        with pytest.raises(UsageError, match="roles"):
            tables.arrow("roles", checked=False)
    finally:
        file.write_bytes(before)
    assert tables.read("roles").num_rows == tables.rows("roles")
