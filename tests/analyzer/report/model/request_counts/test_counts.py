"""Reports of a dataset that grows by files, with counts that are saved, against reports that read all requests."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.kept_tables import kept
from kafkascope_analyzer.dataset.manifest import COUNTS_FILE, MANIFEST
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS
from kafkascope_analyzer.report.model.apis import apis
from kafkascope_analyzer.report.model.broker_latency import DURATIONS, broker_latency
from kafkascope_analyzer.report.model.client_traffic import client_traffic
from kafkascope_analyzer.report.model.latency_over_time import latency_over_time
from kafkascope_analyzer.report.model.leader_load import leader_load
from kafkascope_analyzer.report.model.removed_versions import removed_versions
from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables
from kafkascope_analyzer.report.model.request_counts.saved import SavedCounts
from kafkascope_analyzer.report.model.request_counts.slots import Slots
from kafkascope_analyzer.report.model.request_rates import request_rates
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.sql.database import Database

N_FILES = 3
SECTIONS = (apis, request_rates, broker_latency, client_traffic, leader_load, removed_versions, latency_over_time)
COUNTED = "kafkascope.counts"
Write = Callable[..., Path]


class Growing:
    """A dataset whose requests are in N_FILES files, of which an ingest has written the first ones so far."""

    def __init__(self, place: Path, small: ModuleType) -> None:
        self.place, self.small = place, small
        rows = pq.read_table(place / "requests/part-0.parquet").sort_by("ts_ns").to_pylist()
        self.requests = [row | {"ts_ns": small.T0 + 900 * (row["ts_ns"] - small.T0), "node_id": 1} for row in rows]
        (self.capture,) = pq.read_table(place / "captures/part-0.parquet").to_pylist()
        self.connections = pq.read_table(place / "connections/part-0.parquet").to_pylist()

    def grow_to(self, n_files: int, settled: int | None = None) -> None:
        """Lists the first files; the rows of the first `settled` ones stay in later runs."""
        step = -(-len(self.requests) // N_FILES)
        rows = self.requests[: step * n_files]
        self.small.write_table(self.place, CAPTURES, [{**self.capture, "last_ns": rows[-1]["ts_ns"] + 1}])
        (self.place / "requests/part-0.parquet").unlink(missing_ok=True)
        schema = pa.schema([(field.name, field.type) for field in REQUESTS.schema])
        for number in range(n_files):
            own = rows[step * number : step * (number + 1)]
            file = self.place / f"requests/part-{number}-{'ab' * 6}.parquet"
            if not file.exists():
                pq.write_table(pa.Table.from_pylist(own, schema=schema), file)
        self.small.relist(self.place)
        manifest = Dataset.open(self.place).manifest
        listed = [
            replace(file, made_of=("a",), times=(0, rows[min(step * (n + 1), len(rows)) - 1]["ts_ns"]))
            if n < (n_files if settled is None else settled)
            else file
            for n, file in enumerate(manifest.files["requests"])
        ]
        found = manifest.with_files({**manifest.files, "requests": tuple(listed)})
        (self.place / MANIFEST).write_text(found.to_json())

    def report(self) -> list[Any]:
        """The sections that count requests; their counts are saved."""
        tables = kept(Dataset.open(self.place))
        found = sections_of(tables)
        for name, content in tables.for_next_run.items():
            tables.write_beside(name, content)
        return found

    def anew(self) -> list[Any]:
        """The same without saved counts: all requests are read as one table."""
        dataset = Dataset.open(self.place)
        plain = tuple(replace(file, made_of=()) for file in dataset.manifest.files["requests"])
        manifest = dataset.manifest.with_files({**dataset.manifest.files, "requests": plain})
        return sections_of(replace(dataset, manifest=manifest))


def sections_of(dataset: Dataset) -> list[Any]:
    with report_tables(dataset) as database:
        assert isinstance(database, ReportTables)
        found = [section(database) for section in SECTIONS]
        database.counts.keep()
    return found


@pytest.fixture
def growing(dataset: Write, small: ModuleType) -> Growing:
    return Growing(dataset(), small)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tables in which requests are counted."""
    found: list[str] = []
    arrow = Database.arrow

    def noted(self: Database, statement: str) -> Any:
        found.append(statement)
        return arrow(self, statement)

    monkeypatch.setattr(Database, "arrow", noted)
    return found


def test_a_growing_dataset_has_the_report_of_all_its_requests(growing: Growing, counted: list[str]) -> None:
    growing.grow_to(1)
    growing.report()
    counted.clear()
    growing.grow_to(N_FILES)
    found = growing.report()
    assert len(counted) == (N_FILES - 1) * len(SECTIONS), "only new files are counted"
    assert found == growing.anew()


def test_a_file_that_changes_later_is_counted_each_time(growing: Growing) -> None:
    growing.grow_to(2, settled=1)
    growing.report()
    growing.grow_to(3, settled=2)
    assert growing.report() == growing.anew()


def test_connections_that_become_those_of_brokers_no_longer_count_for_clients(
    growing: Growing, counted: list[str]
) -> None:
    growing.grow_to(2)
    before = growing.report()
    rows = [{**row, "roles": ["inter_broker"]} for row in growing.connections]
    growing.small.write_table(growing.place, CONNECTIONS, rows)
    growing.grow_to(2)
    counted.clear()
    after = growing.report()
    assert len(counted) == 2, "only latencies of clients are counted anew, in both files"
    place = SECTIONS.index(latency_over_time)
    assert (before[place].n, after[place].n) == (1, 0)
    assert before[:place] == after[:place]


def about(place: Path, **changed: Any) -> None:
    """Changes what the footer of the saved counts says."""
    rows = pq.read_table(place / COUNTS_FILE)
    old = json.loads(rows.schema.metadata[COUNTED.encode()])
    pq.write_table(rows.replace_schema_metadata({COUNTED: json.dumps({**old, **changed})}), place / COUNTS_FILE)


def without_column(place: Path) -> None:
    rows = pq.read_table(place / COUNTS_FILE)
    pq.write_table(rows.drop_columns(["n"]), place / COUNTS_FILE)


def of_texts(place: Path) -> None:
    rows = pq.read_table(place / COUNTS_FILE)
    texts = pa.array(["many"] * rows.num_rows)
    pq.write_table(rows.set_column(rows.schema.get_field_index("n"), "n", texts), place / COUNTS_FILE)


DAMAGES: tuple[Callable[[Path], object], ...] = (
    lambda place: (place / COUNTS_FILE).write_bytes(b"PAR1 but no more"),
    lambda place: about(place, release="0.0"),
    lambda place: about(place, start_ns=1),
    lambda place: about(place, slot_ns=3),
    lambda place: about(place, slot_ns=0),
    lambda place: about(place, slot_ns="x"),
    lambda place: about(place, files=[1]),
    lambda place: about(place, files={"x": 1}),
    without_column,
    of_texts,
)


def test_saved_counts_that_do_not_fit_are_not_used(growing: Growing) -> None:
    growing.grow_to(2)
    expected = growing.report()
    intact = (growing.place / COUNTS_FILE).read_bytes()
    dataset = Dataset.open(growing.place)
    states = dict.fromkeys(dataset.files("requests"), "")
    for damage in (lambda place: None, *DAMAGES):
        (growing.place / COUNTS_FILE).write_bytes(intact)
        damage(growing.place)
        rows, known = SavedCounts.of(dataset, Slots.of(dataset)).found(DURATIONS, states)
        assert (len(known), rows.num_rows > 0) == ((0, False) if damage in DAMAGES else (2, True))
    assert growing.report() == expected
    assert len(SavedCounts.of(dataset, Slots.of(dataset)).found(DURATIONS, states)[1]) == 2, "saved again"


def test_a_count_has_a_name_for_its_query() -> None:
    one, other = (Count(query, {"a": pa.int64()}, {"n": ("sum", pa.int64())}) for query in ("select 1", "select 2"))
    assert one.name != other.name
    assert one.schema.names == ["a", "n"]
    assert one.added("rows") == "(select a, sum(n)::bigint as n from rows group by a)"
