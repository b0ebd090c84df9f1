"""Preconditions: on tables of a few rows, and the same predicates as Spark evaluates them."""

import pathlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, ERRORS, INGEST_TABLES, REQUESTS
from kafkascope_spark.queries.statement import selected_names
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import (
    NOT_NULL,
    Expression,
    above,
    all_of,
    any_of,
    below,
    column,
    contains,
    count,
    count_if,
    first_known,
    largest,
    longer_than,
    matches,
    no_match,
    none_of,
    smallest,
    total,
)
from kafkascope_spark.stories.findings.preconditions import KeptRows, Preconditions
from kafkascope_spark.stories.findings.read import (
    Events,
    GroupedRows,
    Groups,
    Read,
    Source,
    Where,
    name_of,
    source_columns,
)
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.findings.rule import Detector, fact
from kafkascope_spark.stories.findings.shared_queries import (
    BROKER_HEARTBEAT_REQUESTS,
    BROKER_HEARTBEAT_RESPONSES,
    MESSAGES,
    SHARED_QUERIES,
    USAGE,
)
from kafkascope_spark.stories.tables import CLIENTS, RECOVERIES, STORY_TABLES


@dataclass(frozen=True)
class Client(Row):
    """Some columns of clients."""

    TABLE: ClassVar[Table] = CLIENTS
    kind: str


ROWS: dict[str, list[dict[str, Any]]] = {
    "errors": [{"error_name": "NONE"}, {"error_name": "NOT_COORDINATOR"}, {"error_name": None}],
    "captures": [{"n_dropped": 3}, {"n_dropped": None}],
    "connections": [{"roles": ["bootstrap", "partition_leader"]}, {"roles": None}],
    "requests": [
        {"conn_id": "c1", "ts_ns": 1, "record_bytes": 400, "fetch_session_epoch": 0},
        {"conn_id": "c1", "ts_ns": 2, "record_bytes": None, "fetch_session_epoch": 0},
        {"conn_id": "c2", "ts_ns": 3, "record_bytes": 600, "fetch_session_epoch": 0},
    ],
    "messages/BrokerHeartbeat/response": [{"request_id": "c1-1", "is_fenced": True}, {"is_fenced": None}],
    "events": [
        {"kind": "usage", "conn_id": "c1", "usage": {"n": 3, "status": "ok"}},
        {"kind": "usage", "conn_id": "c2", "usage": {"n": 4, "status": "unanswered"}},
        {"kind": "loop", "conn_id": "c1", "usage": None},
        {"kind": "usage", "conn_id": "c1", "usage": {"n": 2, "status": "ok"}},
    ],
}
ALL_READS = [
    (f"{rule.name}.{name}", read)
    for rule in RULES
    for detector in rule.detectors
    for name, read in detector.reads.items()
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, as_dataset: Any) -> Dataset:
    place = tmp_path_factory.mktemp("rows")
    for name, rows in ROWS.items():
        (place / name).mkdir(parents=True)
        table = pa.Table.from_pylist(rows)
        for number in range(len(rows)):  # a file each: what is read at a time is never the whole table
            pq.write_table(table.slice(number, 1), place / name / f"part-{number}.parquet")
    return as_dataset(place, (0, 1))


def detector(*reads: Read) -> Detector:
    named = {f"rows_{n}": read for n, read in enumerate(reads)}
    return Detector(reads=named, query="", subject=fact("n"), sentence=lambda _: "")


CASES: list[tuple[Read, bool]] = [
    (Where(ERRORS, error_name=("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")), True),
    (Where(ERRORS, error_name="COORDINATOR_NOT_AVAILABLE"), False),
    (Where(ERRORS, error_name=no_match("^N")), False),
    (Where(ERRORS, error_name=matches("COORD")), True),
    (Where(ERRORS, error_name=contains("COORD")), True),
    (Where(ERRORS, error_name=none_of("NONE", "NOT_COORDINATOR")), False),
    (Where(ERRORS, error_name=None), True),
    (Where(ERRORS, topic=NOT_NULL), False),
    (Where(CAPTURES, n_dropped=above(2)), True),
    (Where(CAPTURES, n_dropped=above(3)), False),
    (Where(CAPTURES, column("n_dropped") * Decimal("0.5") > 1), True),
    (Where(CONNECTIONS, roles=longer_than(1)), True),
    (Where(CONNECTIONS, roles=longer_than(2)), False),
    (Where(CONNECTIONS), True),
    (Where(RECOVERIES), False),
    (Where(RECOVERIES, storm=True), False),
    (Groups(Where(REQUESTS), having=total("record_bytes") >= 1000), True),
    (Groups(Where(REQUESTS), having=total("record_bytes") > 1000), False),
    (Groups(Where(REQUESTS, fetch_session_epoch=0), per=("conn_id",), having=count() >= 2), True),
    (Groups(Where(REQUESTS, fetch_session_epoch=0), per=("conn_id",), having=count() >= 3), False),
    (Groups(Where(REQUESTS, conn_id="c2"), per=("conn_id",), having=count() >= 2), False),
    (Groups(Where(REQUESTS), per=("conn_id",), having=count_if(all_of(record_bytes=None)) > 0), True),
    (Groups(Where(REQUESTS), having=largest("record_bytes") - smallest("record_bytes") > 200), False),
    (Groups(Where(REQUESTS), per=(first_known("record_bytes", "fetch_session_epoch"),), having=count() > 1), False),
    (Groups(Where(RECOVERIES), per=("cause_id",), having=count() >= 1), False),
    (Groups(Where(RECOVERIES), per=("cause_id",)), False),
    (Groups(Where(REQUESTS), per=("conn_id", "record_bytes"), having=count() >= 1, last_of=("conn_id",)), True),
    (Groups(Where(REQUESTS), per=("conn_id", "record_bytes"), having=count() >= 2, last_of=("conn_id",)), False),
    (Where(BROKER_HEARTBEAT_RESPONSES, is_fenced=True), True),
    (Where(BROKER_HEARTBEAT_RESPONSES, is_fenced=False), False),
    (Where(BROKER_HEARTBEAT_RESPONSES, is_caught_up=None, request_id="c1-1"), True),
    (Groups(Where(BROKER_HEARTBEAT_RESPONSES), having=count() >= 3), False),
    (Where(BROKER_HEARTBEAT_REQUESTS), False),
    (Where(USAGE, n=above(3)), True),
    (Where(USAGE, status=None), False),
    (Where(USAGE, n=above(3), status="ok"), False),
    (Where(USAGE, any_of(n=above(3), status="ok")), True),
    (Groups(Where(USAGE), per=("conn_id",), having=total("n") > 4), True),
    (Groups(Where(USAGE), per=("conn_id",), having=total("n") > 5), False),
    (Groups(Where(USAGE, status="unanswered"), per=("conn_id",), having=total("n") > 3), True),
    (Groups(Where(USAGE, status="unanswered"), per=("conn_id",), having=total("n") > 4), False),
    (Groups(Where(USAGE, status=None), per=("conn_id",), having=count() > 0), False),
    (Groups(Where(USAGE), having=total("n") > 8), True),
    (Groups(Where(USAGE), having=total("n") > 9), False),
]


@pytest.mark.parametrize(("read", "there"), CASES)
def test_a_read_has_rows_or_not(dataset: Dataset, read: Read, there: bool) -> None:
    assert Preconditions(dataset).satisfied([detector(read)]) == [there]


def test_all_reads_of_a_dataset_are_evaluated_together(dataset: Dataset) -> None:
    detectors = [detector(read) for read, _ in CASES]
    assert Preconditions(dataset).satisfied(detectors) == [there for _, there in CASES]


def test_a_detector_needs_all_of_its_reads(dataset: Dataset) -> None:
    present, missing = Where(CAPTURES, n_dropped=above(2)), Where(ERRORS, topic=NOT_NULL)
    grouped = Groups(Where(REQUESTS), having=total("record_bytes") > 1000)
    detectors = [detector(), detector(present), detector(present, missing), detector(grouped, present)]
    assert Preconditions(dataset).satisfied(detectors) == [True, True, False, False]


@pytest.mark.parametrize(("least", "there"), [(400, True), (401, False)])
def test_the_reads_of_a_detector_need_candidates_in_common(dataset: Dataset, least: int, there: bool) -> None:
    """Only c1 has a request of less than 500 record bytes."""

    def exist(tables: Tables) -> bool:
        answered = {conn_id for (conn_id,) in rows_of(tables["rows_1"], "conn_id")}
        requests = rows_of(tables["rows_0"], "conn_id", "record_bytes")
        return any(conn_id in answered and n_bytes >= least for conn_id, n_bytes in requests)

    candidates = Candidates({"rows_0": ("conn_id", "record_bytes"), "rows_1": ("conn_id",)}, exist)
    needed = replace(detector(Where(REQUESTS, record_bytes=below(500)), Where(USAGE)), candidates=candidates)
    assert Preconditions(dataset).satisfied([needed]) == [there]


@pytest.mark.parametrize(("most", "there"), [(2, False), (0, True)])
@pytest.mark.parametrize("source", [REQUESTS, USAGE])
def test_of_too_many_groups_spark_finds_whether_they_have_what_is_needed(
    dataset: Dataset, source: Source, most: int, there: bool
) -> None:
    groups = Groups(Where(source), per=("conn_id",), having=count() >= 1)
    needed = replace(detector(groups), candidates=Candidates({"rows_0": ("conn_id",)}, lambda _: False))
    lacking = replace(needed, reads={**needed.reads, "rows_1": Where(ERRORS, topic=NOT_NULL)})
    assert Preconditions(dataset, most).satisfied([needed, lacking]) == [there, False]
    many = GroupedRows(groups, most)
    for _ in range(4):  # as many groups as before
        many.take(pa.RecordBatch.from_pydict({"conn_id": ["c1", "c2"]}))
    assert many.are_too_many == there
    assert many.table().num_rows == (0 if there else 2)


@pytest.mark.parametrize(("most_bytes", "too_many"), [(1 << 20, False), (20, True)])
def test_of_rows_that_are_too_many_nothing_is_kept(most_bytes: int, too_many: bool) -> None:
    kept = KeptRows(Where(REQUESTS), ["conn_id"], most_bytes)
    for _ in range(4):
        kept.take(pa.RecordBatch.from_pydict({"conn_id": ["c1", "c2"]}))
    assert kept.are_too_many == too_many
    assert kept.table().num_rows == (0 if too_many else 8)


@pytest.mark.parametrize("seed", range(20))
def test_what_repeats_until_the_end_is_counted_however_the_rows_are_divided(seed: int) -> None:
    """The oracle goes back from the last row of each connection as long as the session epoch stays the same."""
    random = Random(seed)
    rows = [
        {"conn_id": f"c{random.randrange(3)}", "fetch_session_epoch": random.choice((0, 0, 0, 1)), "ts_ns": ts_ns}
        for ts_ns in range(30)
    ]
    at_the_end: dict[str, list[int]] = {}
    for conn_id in {row["conn_id"] for row in rows}:
        epochs = [row["fetch_session_epoch"] for row in reversed(rows) if row["conn_id"] == conn_id]
        n = next((n for n, epoch in enumerate(epochs) if epoch != epochs[0]), len(epochs))
        at_the_end[conn_id] = [epochs[0], n, epochs.count(epochs[0])]
    read = Groups(Where(REQUESTS), per=("conn_id", "fetch_session_epoch"), having=count() >= 1, last_of=("conn_id",))
    groups = GroupedRows(read)
    random.shuffle(rows)
    while rows:
        part, rows = rows[:7], rows[7:]
        groups.take(pa.RecordBatch.from_pylist(part, pa.schema([REQUESTS.schema.field(name) for name in part[0]])))
    found = {row.pop("conn_id"): row for row in groups.table().to_pylist()}
    assert found.keys() == at_the_end.keys()
    for conn_id, (epoch, n, n_in_all) in at_the_end.items():
        assert found[conn_id]["fetch_session_epoch"] == epoch
        assert n <= found[conn_id]["count(*)"] <= n_in_all


@pytest.mark.parametrize("source", [REQUESTS, USAGE])
def test_candidates_of_groups_have_their_columns(dataset: Dataset, source: Source) -> None:
    def exist(tables: Tables) -> bool:
        return list(rows_of(tables["rows_0"], "conn_id")) == [("c1",)]

    groups = Groups(Where(source), per=("conn_id",), having=count() > 1)
    needed = replace(detector(groups), candidates=Candidates({"rows_0": ("conn_id",)}, exist))
    assert Preconditions(dataset).satisfied([needed]) == [True]


def test_rows_get_the_client_that_their_connection_belongs_to() -> None:
    rows = pa.table({"conn_id": ["c1", "c2", "c9"], "n": [1, 2, 3]})
    clients = pa.table({"client_instance_id": ["ci-1", "ci-2", "ci-3"], "conn_ids": [["c1", "c2"], None, ["c2"]]})
    found = rows_of(with_client(rows, clients), "client_instance_id", "n")
    assert sorted(found) == [("ci-1", 1), ("ci-1", 2), ("ci-3", 2)]
    assert with_client(rows, clients.slice(0, 0)).num_rows == 0


def test_candidates_are_asked_only_where_each_read_has_rows(dataset: Dataset) -> None:
    def exist(_: Tables) -> bool:
        raise AssertionError

    needed = detector(Where(ERRORS, topic=NOT_NULL), Where(REQUESTS))
    needed = replace(needed, candidates=Candidates({"rows_1": ("conn_id",)}, exist))
    assert Preconditions(dataset).satisfied([needed]) == [False]


@pytest.mark.parametrize(("of_groups", "of_rows"), [(True, True), (True, False), (False, True)])
def test_rows_are_read_for_an_exact_test_where_that_of_groups_holds(
    dataset: Dataset, of_groups: bool, of_rows: bool
) -> None:
    read = []

    def exist(tables: Tables) -> bool:
        read.extend(rows_of(tables["rows_1"], "conn_id", "ts_ns"))
        return of_rows

    exact = Candidates({"rows_1": ("conn_id", "ts_ns")}, exist)
    groups = Groups(Where(REQUESTS), per=("conn_id",), having=count() > 1)
    needed = detector(groups, Where(REQUESTS, record_bytes=NOT_NULL))
    needed = replace(needed, candidates=Candidates({"rows_0": ("conn_id",)}, lambda _: of_groups, then=exact))
    assert Preconditions(dataset).satisfied([needed]) == [of_groups and of_rows]
    assert read == ([("c1", 1), ("c2", 3)] if of_groups else [])


MISFITS: list[Callable[[], Any]] = [
    lambda: Where(ERRORS, error="NONE"),
    lambda: Where(ERRORS, column("ts_ns") - column("sent_ns") > 5),
    lambda: Where(ERRORS, api_key="Fetch"),
    lambda: Where(ERRORS, error_name=3),
    lambda: Where(ERRORS, error_name=(3, 4)),
    lambda: Where(ERRORS, error_name=longer_than(1)),
    lambda: Where(ERRORS, column("ts_ns") + 1),
    lambda: Where(REQUESTS, out_of_order="yes"),
    lambda: Where(USAGE, no_field=1),
    lambda: Where(Client, clients=1),
    lambda: Groups(Where(REQUESTS), having=total("nothing") > 1),
    lambda: Groups(Where(REQUESTS), having=total("conn_id") > 1),
    lambda: Groups(Where(REQUESTS), having=total("n_errors")),
    lambda: replace(detector(), candidates=Candidates({"rows_0": ("conn_id",)}, bool)),
    lambda: replace(detector(Where(REQUESTS)), candidates=Candidates({"rows_0": ("nothing",)}, bool)),
    lambda: replace(
        detector(Where(REQUESTS)), candidates=Candidates({}, bool, then=Candidates({"rows_0": ("nothing",)}, bool))
    ),
    lambda: replace(
        detector(Groups(Where(REQUESTS), per=("conn_id",))), candidates=Candidates({"rows_0": ("status",)}, bool)
    ),
]


@pytest.mark.parametrize("made", MISFITS, ids=range(len(MISFITS)))
def test_what_does_not_fit_the_table_is_refused_when_it_is_made(made: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, KeyError)):
        made()


NEVER: list[Callable[[], Any]] = [
    lambda: Where(CONNECTIONS, close_kind="closed"),
    lambda: Where(CONNECTIONS, close_kind=("refused", "closed")),
    lambda: Where(CONNECTIONS, any_of(close_kind=none_of("closed"))),
    lambda: Where(USAGE, status="closed"),
    lambda: Where(Events("nothing")),
]


@pytest.mark.parametrize("made", NEVER, ids=range(len(NEVER)))
def test_a_value_that_a_column_never_has_is_refused(made: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"closed|nothing"):
        made()


def test_a_row_class_stands_for_its_table() -> None:
    assert Where(Client, kind="consumer").source is CLIENTS


def test_what_a_calculation_leaves_its_type_by_is_an_error() -> None:
    rows = pa.table({"n": pa.array([2**62], pa.int64())})
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        (column("n") + column("n") > 5).value(rows)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        (all_of(a=above(1), b=above(1)), [None, False, True, None]),
        (any_of(a=above(1), b=above(1)), [None, None, True, None]),
        (all_of(a=none_of(1)), [None, False, True, None]),
        (all_of(a=(1, 3)), [None, True, False, None]),
        (all_of(a=NOT_NULL), [False, True, True, False]),
        (column("a") * 2.5 >= 5, [None, False, True, None]),
        (first_known("b", "a") >= 2, [None, False, True, None]),
    ],
)
def test_null_is_as_in_sql(condition: Expression, values: list[bool | None]) -> None:
    rows = pa.table({"a": pa.array([None, 1, 2, None], pa.int32()), "b": pa.array([None, None, 3, None], pa.int64())})
    assert condition.value(rows).to_pylist() == values


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        (all_of(name="it's \\ here"), r"(name = 'it\'s \\ here')"),
        (all_of(flag=True, n=Decimal("0.01")), "(flag = true and n = 0.01)"),
        (column("n") * 1e9 < 5, "(n * 1000000000.0D) < 5"),
        (count_if(all_of(n=None)) < 1, "sum(if((n is null), 1, 0)) < 1"),
    ],
)
def test_a_condition_is_spark_sql(condition: Expression, sql: str) -> None:
    assert str(condition) == sql


@pytest.mark.parametrize(
    ("resource", "asked"),
    [("10.0.0.1:9092", True), ("10.0.0.2:9092", False), ("10.0.0.3:9092", False), ("10.0.0.1:9093", False)],
)
def test_a_request_without_an_answer_needs_both_directions_of_its_server(
    resource: str, asked: bool, tmp_path: pathlib.Path, as_dataset: Any
) -> None:
    """Of 10.0.0.2 only the clients' packets were captured, of 10.0.0.3 nothing but a SYN."""
    episode = {"resource_kind": "connection", "first_error_name": "REQUEST_UNANSWERED", "cause_id": "cause-1"}
    episode |= {"client_instance_id": "ci-1", "error_names": ["CONNECTION_REFUSED"], "resource": resource}
    connections = [
        {"server_ip": f"10.0.0.{n}", "server_port": 9092, "client_bytes": client, "server_bytes": server}
        for n, client, server in ((1, 100, 200), (2, 100, 0), (3, 0, 0))
    ]
    for name, rows in (("connections", connections), ("stories/recoveries", [episode])):
        (tmp_path / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name / "part-0.parquet")
    (detector_of_rule,) = next(each.detectors for each in RULES if each.name == "request_timeout")
    assert Preconditions(as_dataset(tmp_path, (0, 1))).satisfied([detector_of_rule]) == [asked]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_queries_select_from_what_there_is(rule: Any) -> None:
    tables = {table.name for table in (*INGEST_TABLES, *STORY_TABLES, *MESSAGES)} | {"usage"}
    tables |= SHARED_QUERIES.keys()
    for each in rule.detectors:
        own = {name for name in each.reads if name not in SHARED_QUERIES}
        assert not own & tables, "a read hides a table"
        local = set(_common_tables(each.query))
        assert set(selected_names(each.query)) <= tables | own | local


def _common_tables(query: str) -> list[str]:
    import re

    return re.findall(r"(\w+) as \(\s*select", query)


@pytest.mark.spark
@pytest.mark.parametrize(
    "capture", ["limits", *(pytest.param(name, marks=pytest.mark.lab) for name in ("leader_move", "shared_vip"))]
)
def test_spark_selects_rows_where_a_precondition_holds(dataset_of: Any, spark: Any, capture: str) -> None:
    """The oracle is Spark: it counts the rows of the same read, on a real capture. Spark plans a query for each read,
    whatever the capture: one shows reads that have rows and reads that have none; `make lab` has further ones."""
    from kafkascope_spark.tables import Tables as SparkTables

    dataset = Dataset.open(dataset_of(capture))
    tables = SparkTables(spark, dataset)
    reads = list(dict.fromkeys(read for _, read in ALL_READS))
    rows: dict[Source, dict[int, Where]] = defaultdict(dict)
    for number, read in enumerate(reads):
        if isinstance(read, Where):
            rows[read.source][number] = read
    groups = {number: read for number, read in enumerate(reads) if isinstance(read, Groups)}
    counts = [f"select inline(array({_counts(of_source)})) from SOURCE" for of_source in rows.values()]
    counts += [f"select {number} as number, count(*) as n from ({_query(read)})" for number, read in groups.items()]
    sources = [*rows, *(read.source for read in groups.values())]
    query = " union all ".join(
        count.replace("{", "{{").replace("}", "}}").replace("SOURCE", f"{{t_{name_of(source)}}}")
        for count, source in zip(counts, sources, strict=True)
    )
    found = spark.sql(query, **{f"t_{name_of(source)}": _frame(tables, source) for source in sources})
    n_rows = {row["number"]: row["n"] for row in found.toArrow().to_pylist()}
    by_spark = [n_rows[number] > 0 for number in range(len(reads))]
    assert Preconditions(dataset).satisfied([detector(read) for read in reads]) == by_spark
    assert {True, False} == set(by_spark)


def _counts(reads: dict[int, Where]) -> str:
    """The number of rows of each read of one source, so that Spark reads the source once for all of them."""
    return ", ".join(f"named_struct('number', {number}, 'n', count_if({read}))" for number, read in reads.items())


def _query(read: Groups) -> str:
    """The groups of a read: where all rows are one group, that group."""
    if not read.per:
        return f"select 1 as one from SOURCE where {read.rows} having {read.having}"
    return read.query("SOURCE")


def _frame(tables: Any, source: Source) -> Any:
    if isinstance(source, Events):
        return tables.events(source.kind, source_columns(source))
    return tables[source]
