"""Tiny datasets of hand-made rows, one a case, and what the rules find in all of them in one job."""

import pathlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.dataset.tables.events import KIND_FOLDER, file_schema
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.stories.tables import STORY_TABLES

S = 1_000_000_000
TABLES = {table.name: table for table in (*INGEST_TABLES, *STORY_TABLES)}
STORIES = {table.name for table in STORY_TABLES}
SERVER = {"server_ip": "10.0.0.1", "server_port": 9092}
DEFAULTS: dict[str, dict[str, Any]] = {
    "connections": {
        **SERVER,
        "client_ip": "10.0.0.9",
        "protocol": "kafka",
        "close_kind": "fin_client",
        "first_ns": S,
        "last_ns": 60 * S,
        "synack_ns": S,
        "node_id": 1,
        "client_bytes": 1_000,
        "server_bytes": 1_000,
        "client_segments": 10,
        "server_segments": 10,
        "n_requests": 5,
        "n_responses": 5,
        "missing_bytes": 0,
        "roles": [],
    },
    "requests": {
        "status": "ok",
        "api_name": "Metadata",
        "api_key": 3,
        "api_version": 12,
        "error_code": 0,
        "n_errors": 0,
    },
    "clients": {"client_ip": "10.0.0.9", "kind": "consumer", "conn_ids": ["c1"]},
    "recoveries": {
        "client_instance_id": "ci-1",
        "cause_id": "cause-1",
        "resource_kind": "connection",
        "resource": "10.0.0.1:9092",
        "old_node_id": 1,
        "n_errors": 1,
        "storm": False,
        "outcome": "recovered",
    },
    "startups": {"claimed": False},
    "incidents": {"severity": "warning", "family_severity": "warning"},
    "captures": {"n_packets": 1_000, "n_truncated": 0, "path": "a.pcap", "first_ns": S, "last_ns": 60 * S},
}
BROKERS = pa.list_(pa.struct([("node_id", pa.int32()), ("host", pa.string()), ("port", pa.int32())]))
KEYS = [("request_id", pa.string()), ("conn_id", pa.string()), ("ts_ns", pa.int64())]
USAGE = f"events/{KIND_FOLDER}usage"
UNLISTED = {
    "messages/Metadata/response": pa.schema([*KEYS, ("brokers", BROKERS)]),
    USAGE: pa.schema([(field.name, field.type) for field in file_schema("usage")]),
}
"""The columns of files that are not a whole table of the contract."""
PLAIN = frozenset({"step", "expected_sequence", "n_requests", "message", "name"})
"""Columns in which nothing is an address or an id."""
Rows = Mapping[str, Iterable[Mapping[str, Any]]]
MOST_RULES = 25
"""Rules of one statement (parts_of)."""


def usage_events(requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events of kind usage of a dataset with these requests: one of each request is as good as one of many."""
    events = []
    for request in requests:
        row = {**DEFAULTS["requests"], **request}
        if row["status"] == "orphan_response":
            continue
        failed = bool(row["error_code"] or row["n_errors"] or row["status"] in ("unanswered", "undecoded"))
        generation = row.get("generation_or_epoch") or 0
        usage = {
            **{name: row.get(name) for name in ("client_id", "api_key", "api_name", "api_version", "group_id")},
            **{name: row.get(name) for name in ("status", "node_id", "ts_ns")},
            "is_replica": row.get("replica_id", -1) >= 0,
            "failed": failed,
            "has_records": (row.get("n_records") or 0) > 0 or (row.get("record_bytes") or 0) > 0,
            "is_unacknowledged": row.get("acks") == 0,
            "n": 1,
            "first_number": int(row["request_id"].rpartition("-")[2]),
            "last_ns": row.get("ts_ns"),
            "total_records": row.get("n_records") or 0,
            "total_record_bytes": row.get("record_bytes") or 0,
            "total_partitions": row.get("n_partitions") or 0,
            "n_new_fetch_sessions": int(row.get("fetch_session_epoch") == 0),
            "n_leaves": int(row["api_key"] == api_keys.LEAVE_GROUP or generation < 0),
            "least_wait_ms": row.get("max_wait_ms"),
            "least_min_bytes": row.get("min_bytes"),
            "lowest_generation": generation if generation > 0 else None,
            "highest_generation": generation if generation > 0 else None,
        }
        events.append({"conn_id": row["conn_id"], "usage": usage})
    return events


def write_rows(place: pathlib.Path, tables: Rows, n_files: int = 1) -> None:
    """A dataset of these rows: a column that a row lacks is of DEFAULTS, else null. `messages/…` come as they are. Its
    events are those of kind usage."""
    tables = {**tables, USAGE: usage_events(tables.get("requests", ()))}
    for name, rows in tables.items():
        folder = place / ("stories" if name in STORIES else "") / name / ("kind=usage" if name == "events" else "")
        folder.mkdir(parents=True)
        whole = [{**DEFAULTS.get(name, {}), **row} for row in rows]
        schema = UNLISTED.get(name)
        if name in TABLES:
            unknown = {key for row in whole for key in row} - set(TABLES[name].schema.names)
            assert not unknown, f"{name} has no {unknown}"
            schema = pa.schema([pa.field(f.name, f.type) for f in TABLES[name].schema])
        for number in range(n_files):
            some = whole[number::n_files]
            if some or number == 0:
                pq.write_table(pa.Table.from_pylist(some, schema), folder / f"part-{number}.parquet")


@pytest.fixture(scope="session")
def write_dataset() -> Callable[..., None]:
    """`write_rows`, for tests of other modules."""
    return write_rows


def apart(rows: Any, number: int) -> Any:
    """The rows with addresses, ports and ids of their own, so that many cases can share a dataset."""
    if isinstance(rows, Mapping):
        return {key: value if key in PLAIN else apart(value, number) for key, value in rows.items()}
    if isinstance(rows, list | tuple):
        return [apart(row, number) for row in rows]
    if isinstance(rows, int) and not isinstance(rows, bool) and rows == 9092:
        return 9000 + number
    if not isinstance(rows, str):
        return rows
    text = re.sub(r"^(10\.0|203\.0|198\.51)\.\d+\.", rf"\g<1>.{number}.", rows)
    text = re.sub(r":9092$", f":{9000 + number}", text)
    return re.sub(r"^(ci|c|r|s|cause)-?(\d+)", rf"\g<1>{number}x\2", text)


def parts_of(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules in parts, each for one statement: no capture has findings of all rules, and one statement of them takes
    half as long again and half as much memory again, as it keeps what each query has broadcast. A rule is in one part
    with those that explain its findings (Rule.unless)."""
    together = {name for rule in rules if rule.unless for name in (rule.name, *rule.unless)}
    first = [rule for rule in rules if rule.name in together]
    others = [rule for rule in rules if rule.name not in together]
    parts = [first, *(others[n : n + MOST_RULES] for n in range(0, len(others), MOST_RULES))]
    return [part for part in parts if part]


@pytest.fixture(scope="session")
def found_in(
    spark: Any, as_dataset: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[dict[str, Any]]]:
    """Rows of tables, to the findings in a dataset of them: of the rules with these names, or of all rules. A test that
    reads the findings of few rules names them, since Spark takes about as long for each rule that it is asked."""
    from kafkascope_spark.queries.transform import findings
    from kafkascope_spark.stories.findings.registry import RULES
    from kafkascope_spark.tables import Tables

    def find(rows: Rows, rules: Collection[str] = ()) -> list[dict[str, Any]]:
        place = tmp_path_factory.mktemp("tiny") / "case.kscope"
        write_rows(place, rows)
        asked = [rule for rule in RULES if not rules or rule.name in rules]
        tables = Tables(spark, as_dataset(place, (S, 100 * S)))
        found: list[dict[str, Any]] = []
        for part in parts_of(asked):
            found += findings(tables, part).toArrow().to_pylist()
        return found

    return find


@pytest.fixture(scope="session")
def found_in_all(found_in: Callable[[Rows], list[dict[str, Any]]]) -> Callable[[Mapping[str, Rows]], Any]:
    """Case name -> its rows, to case name -> the findings in it: all cases in one dataset, and one job."""

    def find(cases: Mapping[str, Rows]) -> dict[str, list[dict[str, Any]]]:
        whole: dict[str, list[Any]] = {}
        for number, rows in enumerate(cases.values()):
            for table, listed in rows.items():
                defaults = DEFAULTS.get(table, {})
                whole.setdefault(table, []).extend(apart([{**defaults, **row} for row in listed], number))
        names = list(cases)
        by_case: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for row in found_in(whole):
            owner = re.match(r"ci(\d+)x", row["client_instance_id"] or "") or re.match(r"c(\d+)x", row["conn_ids"][0])
            assert owner is not None
            by_case[names[int(owner[1])]].append(row)
        return by_case

    return find
