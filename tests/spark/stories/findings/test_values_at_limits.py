"""Every number of every table at the limits that the contract gives it, in all queries: rules, preconditions, reports,
saved questions and views. Nothing may leave its type, or fail. (Numbers of messages, which stay as Kafka wrote them:
tests/spark/test_limits.py.)
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.contract import TIMESTAMP, Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.ranges import CODE, NODE_ID, PARTITION, PORT, TIME_NS, column_range
from kafkascope_analyzer.dataset.tables import EVENTS, INGEST_TABLES
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import questions, reads_messages, saved_in, views
from kafkascope_spark.queries.finding_rows import finding_writer
from kafkascope_spark.queries.transform import found_facts
from kafkascope_spark.stories.findings.causes import causes_in
from kafkascope_spark.stories.findings.preconditions import Preconditions
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS, INCIDENTS, RECOVERIES, STALLS, STARTUPS, STORY_TABLES
from kafkascope_spark.tables import Tables

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MOST_OF_CASE, MOST_OF_CAPTURE = 8, 20
"""Rows of a table of a case by hand, and of a recorded capture (of events: of each kind)."""
MOST_BY_HAND = 100
"""Rows by hand of a table: queries add up numbers of rows, and 1,024 numbers at the limit of a count (2^53) leave 64
bits, which no capture has."""
OWN_NUMBERS = frozenset({"capture_id", "rank", "section", "seq"})
"""Numbers that the program gives to files and rows: none is from the wire."""
COMPARED = (NODE_ID.what, PARTITION.what, PORT.what)
"""Kinds of numbers by which queries select and join."""
FOLDERS: Mapping[str, Table] = {table.name: table for table in INGEST_TABLES} | {
    f"stories/{table.name}": table for table in STORY_TABLES
}


class Limits:
    """Puts the numbers of rows to limits. places: 0 for the lowest one and 1 for the highest one; the columns take them
    in turn, so that what is computed of two numbers of a row meets both.
    """

    def __init__(self, *places: int) -> None:
        self._places, self._n = places, 0

    def of(self, name: str, values: pa.Array) -> pa.Array:
        """A column, or a field of a struct, at its limit; numbers that are null too."""
        kind = values.type
        null = pa.array(np.asarray(values.is_null())) if values.null_count else None
        if pa.types.is_struct(kind):
            fields = [self.of(field.name, values.field(at)) for at, field in enumerate(kind)]
            return pa.StructArray.from_arrays(fields, fields=list(kind), mask=null)
        if pa.types.is_list(kind):
            ends = pa.array(values.offsets.to_numpy())
            return pa.ListArray.from_arrays(ends, self.of(name, values.values), kind, mask=null)
        if kind == TIMESTAMP:
            self._n -= 1  # the nanoseconds beside it have the same limit
            limit = self._next(TIME_NS.least, TIME_NS.greatest) // 1_000
            return pa.array(np.full(len(values), limit)).cast(kind)
        if not pa.types.is_integer(kind) or name in OWN_NUMBERS:
            return values
        return self._number(name, values)

    def _number(self, name: str, values: pa.Array) -> pa.Array:
        allowed = column_range(name, values.type)
        limit = pa.scalar(self._next(allowed.least, allowed.greatest), values.type)
        kept = allowed.what == CODE.what or (len(self._places) > 1 and allowed.what in COMPARED)
        return pc.fill_null(values, limit) if kept else pa.repeat(limit, len(values))

    def _next(self, least: int, greatest: int) -> int:
        self._n += 1
        return (least, greatest)[self._places[self._n % len(self._places)]]


def at_limits(rows: pa.Table) -> pa.Table:
    """The rows four times: all numbers at the lowest limits, all at the highest, and by turns. Codes stay, and in the
    last two copies what queries select and join by."""
    copies = []
    for places in ((0,), (1,), (0, 1), (1, 0)):
        limits = Limits(*places)
        columns = [limits.of(name, rows[name].combine_chunks()) for name in rows.column_names]
        copies.append(pa.table(columns, schema=rows.schema))
    return pa.concat_tables(copies)


def some(rows: pa.Table, most: int) -> pa.Table:
    """The first rows; of events those of each kind."""
    if "kind" not in rows.column_names:
        return rows.slice(0, most)
    kinds = rows["kind"].unique()
    return pa.concat_tables(
        [rows.slice(0, 0), *(rows.filter(pc.equal(rows["kind"], kind)).slice(0, most) for kind in kinds)]
    )


def spread(rows: pa.Table) -> pa.Table:
    """Rows from the whole table, not only from its beginning."""
    return rows.take(np.unique(np.linspace(0, max(len(rows) - 1, 0), min(MOST_BY_HAND, len(rows))).astype(np.int64)))


@pytest.fixture(scope="module")
def cases(load_module: Callable[[Path], Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Rows by hand in which the rules find something, with ids of their own."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    apart = load_module(Path(__file__).with_name("conftest.py")).apart
    modules = [load_module(Path(__file__).with_name(name)) for name in ("test_tiny_cases.py", "test_client_cases.py")]
    for number, (case, _) in enumerate(case for module in modules for case in module.CASES.values()):
        for table, listed in case.items():
            rows.setdefault(table, []).extend(apart(list(listed)[:MOST_OF_CASE], number))
    return rows


@pytest.fixture(scope="module")
def limits(
    dataset_of: Any, as_dataset: Any, write_dataset: Any, cases: Any, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """A dataset whose numbers are all at limits."""
    folder = tmp_path_factory.mktemp("limits")
    write_dataset(folder / "cases", cases)
    recorded = [dataset_of("leader_move", rules=None), dataset_of("txn", rules=None)]
    for name, table in FOLDERS.items():
        schema = pa.schema([pa.field(field.name, field.type) for field in table.schema])
        parts = [folder / "cases" / name, *(place / name for place in recorded)]
        rows = [some(pq.read_table(part, schema=schema), MOST_OF_CAPTURE) for part in parts[1:] if part.exists()]
        rows += [spread(pq.read_table(part, schema=schema)) for part in parts[:1] if part.exists()]
        (folder / "out.kscope" / name).mkdir(parents=True)
        without_rows = not any(some_rows.num_rows for some_rows in rows)
        nulls = pa.table([pa.nulls(int(without_rows), field.type) for field in schema], schema=schema)
        whole = of_one_cluster(at_limits(pa.concat_tables([nulls, *rows])))
        pq.write_table(whole, folder / "out.kscope" / name / "part-0.parquet")
    shutil.copytree(folder / "cases" / "messages", folder / "out.kscope" / "messages")
    return as_dataset(folder / "out.kscope", (TIME_NS.least, TIME_NS.greatest))


def of_one_cluster(rows: pa.Table) -> pa.Table:
    if "cluster" not in rows.column_names:
        return rows
    return rows.set_column(rows.column_names.index("cluster"), "cluster", pa.array(["c"] * rows.num_rows, pa.string()))


def test_all_tables_have_rows(limits: Dataset) -> None:
    assert all(limits.rows(name) for name in FOLDERS)
    kinds = pc.unique(
        pa.concat_tables(map(pa.Table.from_batches, [list(limits.batches(EVENTS.name, ["kind"]))]))["kind"]
    )
    assert len(kinds) > 15


def test_rules(spark: Any, limits: Dataset, load_module: Callable[[Path], Any]) -> None:
    parts_of = load_module(Path(__file__).with_name("conftest.py")).parts_of
    parts = [
        {f"{rule.name}/{n}": (rule, each) for rule in part for n, each in enumerate(rule.detectors)}
        for part in parts_of(RULES)
    ]
    every = {key: one for part in parts for key, one in part.items()}
    facts = pa.concat_tables([found_facts(Tables(spark, limits), part).toArrow() for part in parts])
    assert sum(map(len, parts)) == sum(len(rule.detectors) for rule in RULES)
    assert len(facts["detector"].unique()) > 10
    failed = FailedParts()
    write = finding_writer(every, TIME_NS.least, partial(causes_in, limits), failed)
    found = pa.Table.from_batches(write(facts.to_batches()))
    assert failed.taken() == ()
    assert found.num_rows == facts.num_rows


def test_preconditions(limits: Dataset) -> None:
    detectors = [detector for rule in RULES for detector in rule.detectors]
    assert sum(Preconditions(limits).satisfied(detectors)) > 10


def test_questions_and_views(limits: Dataset) -> None:
    """Messages made by hand lack fields that some views read: those are asked of real captures elsewhere."""
    own = [each for each in (*questions(), *views()) if not any(map(reads_messages, (each, *saved_in(each.text))))]
    assert len(own) > 20
    with Database(limits) as database:
        for saved in own:
            _, rows = database.query(saved.text)
            list(rows)


def test_reports(limits: Dataset, tmp_path: Path) -> None:
    assert report_model(limits).failed_parts == ()

    def run(*arguments: object) -> None:
        ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert ended.exit_code == 0, (arguments, ended.output[-2000:], ended.exception)

    for form in ("html", "markdown", "perfetto"):
        run("report", limits.path, f"--{form}", tmp_path / form)
    for command in (("report",), ("timeline",), ("topology",), ("timeline", "--start")):
        run(command[0], limits.path, *command[1:])
    for which in ids_of(limits):
        run("explain", limits.path, which)


def ids_of(dataset: Dataset) -> Iterable[str]:
    """An id of each table whose rows can be explained."""
    for table in (CLIENTS, STARTUPS, RECOVERIES, STALLS, INCIDENTS, FINDINGS):
        name = table.columns[1].name
        yield next(dataset.batches(f"stories/{table.name}", [name]))[name][0].as_py()
