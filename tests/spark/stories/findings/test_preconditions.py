"""Preconditions: on tables of a few rows, and the same predicates as Spark evaluates them."""

import pathlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import RECOVERIES, STORY_TABLES
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, ERRORS, INGEST_TABLES, REQUESTS
from kafkascope_spark.queries.statement import selected_names
from kafkascope_spark.stories.findings.preconditions import Preconditions, columns_of
from kafkascope_spark.stories.findings.read import Events, Messages, Read, Source, source_columns
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.stories.findings.rule import Detector, fact
from kafkascope_spark.stories.findings.shared_queries import MESSAGES, SHARED_QUERIES, USAGE

LEAVES = Messages("LeaveGroup/request", "conn_id string, ts_ns bigint")
ROWS: dict[str, list[dict[str, Any]]] = {
    "errors": [{"error_name": "NONE"}, {"error_name": "NOT_COORDINATOR"}, {"error_name": None}],
    "captures": [{"n_dropped": 3}, {"n_dropped": None}],
    "connections": [{"roles": ["bootstrap", "partition_leader"]}, {"roles": None}],
    "requests": [
        {"conn_id": "c1", "record_bytes": 400, "fetch_session_epoch": 0},
        {"conn_id": "c1", "record_bytes": None, "fetch_session_epoch": 0},
        {"conn_id": "c2", "record_bytes": 600, "fetch_session_epoch": 0},
    ],
    "messages/LeaveGroup/request": [{"conn_id": "c1", "ts_ns": 7}],
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


@pytest.mark.parametrize(
    ("read", "there"),
    [
        (Read(ERRORS, "error_name in ('NOT_COORDINATOR', 'OTHER')"), True),
        (Read(ERRORS, "error_name = 'OTHER'"), False),
        (Read(ERRORS, "not regexp_like(error_name, '^N')"), False),
        (Read(ERRORS, "regexp_like(error_name, 'COORD')"), True),
        (Read(ERRORS, "topic is not null"), False),
        (Read(CAPTURES, "n_dropped > 2"), True),
        (Read(CAPTURES, "n_dropped > 3"), False),
        (Read(CONNECTIONS, "size(roles) > 1"), True),
        (Read(CONNECTIONS, "size(roles) > 2"), False),
        (Read(CONNECTIONS), True),
        (Read(RECOVERIES), False),
        (Read(RECOVERIES, "storm"), False),
        (Read(LEAVES), True),
        (Read(LEAVES, "ts_ns > 7"), False),
        (Read(Messages("JoinGroup/request", "conn_id string")), False),
        (Read(REQUESTS, having="sum(record_bytes) >= 1000"), True),
        (Read(REQUESTS, having="sum(record_bytes) > 1000"), False),
        (Read(REQUESTS, "fetch_session_epoch = 0", per="conn_id", having="count(*) >= 2"), True),
        (Read(REQUESTS, "fetch_session_epoch = 0", per="conn_id", having="count(*) >= 3"), False),
        (Read(REQUESTS, "conn_id = 'c2'", per="conn_id", having="count(*) >= 2"), False),
        (Read(RECOVERIES, per="cause_id", having="count(*) >= 1"), False),
        (Read(USAGE, "n > 3"), True),
        (Read(USAGE, "status is null"), False),
        (Read(USAGE, "n > 3 and status = 'ok'"), False),
        (Read(USAGE, per="conn_id", having="sum(n) > 4"), True),
        (Read(USAGE, per="conn_id", having="sum(n) > 5"), False),
        (Read(USAGE, "status = 'unanswered'", per="conn_id", having="sum(n) > 3"), True),
        (Read(USAGE, "status = 'unanswered'", per="conn_id", having="sum(n) > 4"), False),
        (Read(USAGE, "status is null", per="conn_id", having="count(*) > 0"), False),
        (Read(USAGE, having="sum(n) > 8"), True),
        (Read(USAGE, having="sum(n) > 9"), False),
    ],
)
def test_a_read_has_rows_or_not(dataset: Dataset, read: Read, there: bool) -> None:
    assert Preconditions(dataset).satisfied([detector(read)]) == [there]


def test_a_detector_needs_all_of_its_reads(dataset: Dataset) -> None:
    present, missing = Read(CAPTURES, "n_dropped > 2"), Read(ERRORS, "error_name = 'OTHER'")
    grouped = Read(REQUESTS, having="sum(record_bytes) > 1000")
    detectors = [detector(), detector(present), detector(present, missing), detector(grouped, present)]
    assert Preconditions(dataset).satisfied(detectors) == [True, True, False, False]


@pytest.mark.parametrize(
    ("candidates", "there"),
    [
        ("select 1 from rows_0 join rows_1 using (conn_id) where n = 3", True),
        ("select 1 from rows_0 join rows_1 using (conn_id) where n = 4", False),
        ("select 1 from rows_0 join rows_1 using (conn_id) group by conn_id having sum(record_bytes) = 800", True),
        ("select 1 from rows_1 where n = 4", True),
    ],
)
def test_the_reads_of_a_detector_need_candidates_in_common(dataset: Dataset, candidates: str, there: bool) -> None:
    """Only c1 has a request of 400 record bytes; its answered requests are in two rows."""
    needed = replace(detector(Read(REQUESTS, "record_bytes < 500"), Read(USAGE)), candidates=candidates)
    assert Preconditions(dataset).satisfied([needed]) == [there]


@pytest.mark.parametrize(("most", "there"), [(5, True), (6, False)])
def test_candidates_select_from_the_events_of_groups(dataset: Dataset, most: int, there: bool) -> None:
    """The rows of events that a read of groups selects are kept, with the column that only the candidates name."""
    needed = detector(Read(USAGE, "status = 'ok'", having="count(*) = 2"))
    candidates = f"select 1 from rows_0 having sum(n) >= {most}"
    assert Preconditions(dataset).satisfied([replace(needed, candidates=candidates)]) == [there]


def test_candidates_of_a_group_have_its_columns(dataset: Dataset) -> None:
    groups = Read(REQUESTS, per="conn_id", having="count(*) > 1")
    needed = [
        replace(detector(groups), candidates=f"select 1 from rows_0 where conn_id = '{conn}'") for conn in ("c1", "c2")
    ]
    assert Preconditions(dataset).satisfied(needed) == [True, False]


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


def test_columns_of_reads_all_columns_that_predicates_name_and_no_string() -> None:
    reads = [
        Read(REQUESTS, "acks = 0 and status = 'throttle_ms'"),
        Read(REQUESTS, per="conn_id", having="max(n_records) > 1"),
    ]
    assert set(columns_of(REQUESTS, reads)) == {"acks", "status", "conn_id", "n_records"}
    assert len(columns_of(REQUESTS, [Read(REQUESTS)])) == 1


@pytest.mark.parametrize(("name", "read"), ALL_READS, ids=[name for name, _ in ALL_READS])
def test_predicates_name_columns_and_values_that_there_are(name: str, read: Read) -> None:
    assert read.where == "true" or columns_of(read.source, [Read(read.source, read.where)])
    for column, value in re_values(read.where):
        known = known_values(read.source, column)
        assert not known or value in known, f"{name}: {column} is never {value}"


def known_values(source: Source, column: str) -> Sequence[str]:
    """The values that a column may have; empty where it may have any."""
    if isinstance(source, Messages):
        return ()
    return (REQUESTS if isinstance(source, Events) else source).column(column).values


def re_values(where: str) -> list[tuple[str, str]]:
    import re

    pairs = [(column, value) for column, value in re.findall(r"(\w+) = '([^']*)'", where)]
    for column, values in re.findall(r"(\w+) (?:not )?in \(('[^)]*')\)", where):
        pairs += [(column, value) for value in re.findall(r"'([^']*)'", values)]
    return pairs


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_queries_select_from_what_there_is(rule: Any) -> None:
    tables = {table.name for table in (*INGEST_TABLES, *STORY_TABLES)} | {"usage"}
    tables |= MESSAGES.keys() | SHARED_QUERIES.keys()
    for each in rule.detectors:
        own = {name for name in each.reads if name not in SHARED_QUERIES}
        assert not own & tables, "a read hides a table"
        assert set(selected_names(each.candidates)) <= each.reads.keys()
        local = set(_common_tables(each.query))
        assert set(selected_names(each.query)) <= tables | own | local


def _common_tables(query: str) -> list[str]:
    import re

    return re.findall(r"(\w+) as \(\s*select", query)


@pytest.mark.spark
@pytest.mark.parametrize("capture", ["leader_move", "shared_vip", "limits"])
def test_spark_selects_rows_where_a_precondition_holds(dataset_of: Any, spark: Any, capture: str) -> None:
    """The oracle is Spark: it counts the rows of the same read, on a real capture."""
    from kafkascope_spark.tables import Tables

    dataset = Dataset.open(dataset_of(capture))
    tables = Tables(spark, dataset)
    reads = list({read: None for _, read in ALL_READS if not isinstance(read.source, Messages)})
    counts = []
    for read in reads:
        grouped = f"select 1 as one from {{rows}} where {read.where}"
        grouped += f" group by {read.per}" if read.per else ""
        grouped += f" having {read.having}" if read.having else ""
        text = grouped.replace("{", "{{").replace("}", "}}").replace("{{rows}}", "{rows}")
        counts.append(
            f"select {len(counts)} as number, count(*) as n from ({text})".replace("{rows}", f"{{t_{_name(read)}}}")
        )
    frames = {f"t_{_name(read)}": _frame(tables, read) for read in reads}
    found = spark.sql(" union all ".join(counts), **frames).toArrow().to_pylist()
    by_spark = [row["n"] > 0 for row in sorted(found, key=lambda row: row["number"])]
    assert Preconditions(dataset).satisfied([detector(read) for read in reads]) == by_spark
    assert True in by_spark


def _name(read: Read) -> str:
    """The name of the read's source among the tables of a query."""
    assert not isinstance(read.source, Messages)
    return read.source.name if isinstance(read.source, Table) else read.source.kind


def _frame(tables: Any, read: Read) -> Any:
    if isinstance(read.source, Events):
        return tables.events(read.source.kind, source_columns(read.source))
    return tables[read.source]
