"""Rows of findings: what is made of facts in Python, and the order of evidence whatever the order of the files."""

import hashlib
import json
import pathlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.queries.finding_rows import SCHEMA, finding_row, finding_writer
from kafkascope_spark.stories.findings.causes import Cause, Causes, CauseStall
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.table import FindingRow

S = 1_000_000_000
DETECTOR = Detector(reads={}, query="", subject=fact("topic"), sentence=lambda f: f"{f.n} of {f.topic}")
TEXTS = {"name": "a_rule", "title": "T", "severity": "warning", "meaning": "M", "looks_at": "L", "advice": "A."}
RULE = Rule(**TEXTS, sources=("KIP-1",), detectors=(DETECTOR,))
FACTS: dict[str, Any] = {"client_instance_id": "ci-1", "conn_ids": ["c2", None, "c1", "c2"], "topic": "t", "n": 3}
FACTS |= {"first_ns": 5, "last_ns": 7, "evidence": ["c1-2", "c1-1", "c1-2"]}


def row(detector: Detector = DETECTOR, **changes: Any) -> FindingRow:
    return finding_row(RULE, detector, Facts({**FACTS, **changes}, 5), Causes())


def test_a_row_has_the_rules_texts_and_the_facts() -> None:
    made = row()
    assert made.sentence == "3 of t"
    assert (made.rule, made.severity, made.advice, made.subject) == ("a_rule", "warning", "A.", "t")
    assert made.conn_ids == ("c1", "c2")
    assert made.evidence == ("c1-2", "c1-1"), "in the query's order, each once"
    digest = hashlib.sha256(b"a_rule|t|ci-1|5").hexdigest()[:16]
    assert made.finding_id == f"finding-{digest}"


def test_a_fact_may_change_the_severity_and_the_advice() -> None:
    detector = Detector(reads={}, query="", subject=fact("topic"), sentence=str, advice=lambda f: f"Ask for {f.n}.")
    assert row(severity="info").severity == "info"
    assert row(severity=None).severity == "warning"
    assert row(detector).advice == "Ask for 3."


def test_connections_are_those_of_the_evidence_where_the_query_names_none() -> None:
    assert row(conn_ids=None, evidence=["c9-1", "c3", "c9-2"]).conn_ids == ("c3", "c9")
    assert row(conn_ids=[], evidence=["c9-1"]).conn_ids == ()


def test_a_finding_names_at_most_100_connections_and_requests() -> None:
    many = [f"c{n:03}-1" for n in range(150)]
    made = row(conn_ids=None, evidence=many)
    assert made.evidence == tuple(many[:100])
    assert made.conn_ids == tuple(f"c{n:03}" for n in range(100))


def test_a_column_that_the_query_does_not_have_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no column partition"):
        row(Detector(reads={}, query="", subject=fact("partition"), sentence=str))


def found(*rows: dict[str, Any]) -> pa.RecordBatch:
    """Facts as Spark gives them."""
    columns = {"detector": "a_rule/0", "software_name": "kafkajs"}
    of = {name: [value] * len(rows) for name, value in columns.items()}
    return pa.record_batch({**of, "facts": [json.dumps(values) for values in rows]})


def test_batches_of_facts_become_batches_of_findings() -> None:
    (made,) = finding_writer({"a_rule/0": (RULE, DETECTOR)}, 5, Causes)([found(FACTS)])
    assert made.schema == SCHEMA
    assert made == batch_of_rows(FindingRow, [row()])


@pytest.mark.parametrize(("keeps", "advice"), [(True, "A."), (False, None)])
def test_advice_to_look_for_the_cause_is_left_out_if_the_incident_is_the_cause(keeps: bool, advice: str | None) -> None:
    incident = Cause("i", None, "path", 1, 1, 2, "warning", ())

    def causes() -> Causes:
        known = Causes()
        known.take_incident(incident)
        known.take_stall(CauseStall("i", "g", 6))
        return known

    following = replace(RULE, follows=Follows(kinds=frozenset({"path"}), keeps_advice=keeps))
    write = finding_writer({"a_rule/0": (following, DETECTOR)}, 5, causes)
    (made,) = write([found(FACTS | {"group_id": "g"}, FACTS)])
    assert made == batch_of_rows(FindingRow, [replace(row(), incident_id="i", advice=advice), row()])


@pytest.fixture(scope="module")
def shuffled_rows() -> dict[str, list[dict[str, Any]]]:
    """Requests and errors of one client on many connections, with equal times among them, and incidents of it and of
    another client."""
    draw = random.Random(1)
    connections = [f"c{n}" for n in range(1, 30)]
    client = {
        "client_instance_id": "ci-1",
        "client_id": "app",
        "conn_ids": connections,
        "first_ns": S,
        "last_ns": 60 * S,
    }
    denied = {"error_name": "GROUP_AUTHORIZATION_FAILED", "api_name": "JoinGroup", "client_id": "app"}
    errors = [
        {**denied, "client_ip": "10.0.0.9", "resource": "g", "conn_id": conn, "request_id": f"{conn}-{n}", "ts_ns": at}
        for conn in connections
        for n, at in enumerate((3 * S, 3 * S, 4 * S))
    ]
    batches = {"api_key": 0, "direction": "request", "codec": "none", "bytes": 5_000}
    records = [
        {**batches, "topic": f"t{conn}", "conn_id": conn, "request_id": f"{conn}-9", "ts_ns": 5 * S}
        for conn in connections
    ]
    calls = [
        {"request_id": f"{conn}-{n}", "conn_id": conn, "ts_ns": 6 * S, "api_name": "Produce", "api_key": 0}
        | {"throttle_ms": 100, "acks": 0, "n_records": 1}
        for conn in connections
        for n in (20, 21)
    ]
    for rows in (errors, records, calls):
        draw.shuffle(rows)
    lives = [{"conn_id": conn} for conn in connections]
    incident = {"start_ns": 1 * S, "end_ns": 9 * S, "severity": "error", "family_severity": "error"}
    incidents = [
        {**incident, "incident_id": f"{kind}-{client}", "kind": kind, "clients": [client]}
        for kind in ("quota", "permission", "missing_topic")
        for client in ("ci-1", "ci-2")
    ]
    stalls = [{"stall_id": f"s{n}", "incident_id": row["incident_id"]} for n, row in enumerate(incidents * 5)]
    found = {"clients": [client], "connections": lives, "incidents": incidents, "stalls": stalls}
    return {**found, "errors": errors, "record_batches": records, "requests": calls}


@pytest.mark.spark
def test_evidence_is_in_order_and_the_incident_known_whatever_the_order_and_number_of_files(
    spark: Any,
    tmp_path: pathlib.Path,
    shuffled_rows: dict[str, list[dict[str, Any]]],
    write_dataset: Callable[..., None],
    as_dataset: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kafkascope_spark.queries.transform import findings
    from kafkascope_spark.stories.findings.registry import RULES
    from kafkascope_spark.tables import Tables

    causes = {"access_denied": "permission-ci-1", "throttled": "quota-ci-1"}
    causes |= dict.fromkeys(("acks_zero", "no_compression"))
    asked = [rule for rule in RULES if rule.name in causes]
    made = []
    for n_files in (1, 2, 7):
        place = tmp_path / f"{n_files}.kscope"
        write_dataset(
            place, {name: rows[::-1] if n_files == 2 else rows for name, rows in shuffled_rows.items()}, n_files
        )
        monkeypatch.setattr("kafkascope_spark.tables.SMALL_REQUESTS", 1_000 if n_files == 1 else 0)
        rows = findings(Tables(spark, as_dataset(place, (S, 100 * S))), asked).toArrow().to_pylist()
        made.append(sorted(rows, key=lambda row: row["finding_id"]))
    assert {row["rule"]: row["incident_id"] for row in made[0]} == causes
    assert made[0] == made[1] == made[2]
    times = {
        row["request_id"]: row["ts_ns"]
        for name in ("errors", "record_batches", "requests")
        for row in shuffled_rows[name]
    }
    for row in made[0]:
        assert row["evidence"] == sorted(row["evidence"], key=lambda each: (times[each], each)), row["rule"]
