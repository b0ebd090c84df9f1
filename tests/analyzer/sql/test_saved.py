"""Saved questions and views, compared with what plain counting over the rows of the tables gives."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import CHECKSUM, MANIFEST
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import macros, question, questions, views
from kafkascope_parsers.errors import UsageError

Write = Callable[..., Path]


def asked(dataset: Path, statement: str) -> list[dict]:
    with Database(Dataset.open(dataset)) as database:
        names, rows = database.query(statement)
        return [dict(zip(names, row, strict=True)) for row in rows]


def table(dataset: Path, name: str) -> list[dict]:
    return ds.dataset(dataset / name).to_table().to_pylist()


def test_each_begins_with_a_sentence_that_describes_it() -> None:
    for saved in (*questions(), *views(), *macros()):
        assert saved.text.startswith(f"-- {saved.description}\n")
        assert saved.description.endswith(".")
        assert len(saved.description) <= 118
    assert {"who-stalled", "slow-producers", "lag-by-partition"} <= {saved.name for saved in questions()}


@pytest.mark.parametrize("name", [saved.name for saved in questions()])
def test_every_question_can_be_asked_of_a_dataset_with_stories(leader_move: Path, name: str) -> None:
    asked(leader_move, question(name).text)


def test_a_name_that_is_not_known_gets_the_closest(dataset: Write) -> None:
    with pytest.raises(
        UsageError, match=r"no saved question is called slow-producer \(did you mean slow-producers\?\)"
    ):
        question("slow-producer")


def test_slow_producers_are_those_of_the_requests(real: Path) -> None:
    latencies = defaultdict(list)
    for row in table(real, "requests"):
        if row["api_name"] == "Produce" and row["broker_us"] is not None:
            latencies[row["client_id"], row["client_ip"]].append(row["broker_us"])
    wanted = {who: (len(found), max(found)) for who, found in latencies.items()}
    answered = {
        (row["client_id"], row["client_ip"]): (row["n_requests"] - row["n_unanswered"], row["max_us"])
        for row in asked(real, question("slow-producers").text)
    }
    assert answered == wanted


def test_a_topic_counts_a_request_once_though_its_response_names_it_too(real: Path) -> None:
    replicas = {row["request_id"] for row in table(real, "requests") if (row["replica_id"] or -1) >= 0}
    written: Counter[str] = Counter()
    read: Counter[str] = Counter()
    produced: dict[str, set[str]] = defaultdict(set)
    doubled = 0
    for row in table(real, "partitions"):
        if row["api_key"] == 0:
            written[row["topic"]] += row["n_records"] or 0
            produced[row["topic"]].add(row["request_id"])
            doubled += row["direction"] == "response"
        elif row["api_key"] == 1 and row["request_id"] not in replicas:
            read[row["topic"]] += row["n_records"] or 0
    assert doubled, "the fixture must have responses that name the partitions again"
    topics = {row["topic"]: row for row in asked(real, "select * from topics")}
    assert {topic: topics[topic]["records_written"] for topic in written} == written
    assert {topic: topics[topic]["records_read"] for topic in read if topic} == {t: n for t, n in read.items() if t}
    assert {topic: topics[topic]["n_produce"] for topic in produced} == {t: len(r) for t, r in produced.items()}


def test_lag_is_the_high_watermark_minus_the_offset_that_was_committed_last(real: Path) -> None:
    groups = {row["request_id"]: row["group_id"] for row in table(real, "requests")}
    rows = sorted(table(real, "partitions"), key=lambda row: row["ts_ns"])
    good = {(r["request_id"], r["partition"]) for r in rows if r["api_key"] == 8 and r["error_code"] == 0}
    committed, marks = {}, {}
    for row in rows:
        if row["api_key"] == 8 and row["direction"] == "request" and (row["request_id"], row["partition"]) in good:
            committed[groups[row["request_id"]], row["topic"], row["partition"]] = row["partition_offset"]
        if row["api_key"] == 1 and (row["high_watermark"] or -1) >= 0:
            marks[row["topic"], row["partition"]] = row["high_watermark"]
    wanted = {key: marks.get(key[1:], 0) - offset for key, offset in committed.items() if key[1:] in marks}
    lags = {
        (row["group_id"], row["topic"], row["partition"]): row["lag"]
        for row in asked(real, question("lag-by-partition").text)
        if row["lag"] is not None
    }
    assert wanted
    assert lags == wanted


def test_brokers_are_no_application_clients(dataset: Write) -> None:
    place = dataset()
    assert [row["client_id"] for row in asked(place, "select client_id from clients order by 1")] == [
        "broker-1",
        "reader",
        "svc",
    ]
    assert [row["client_id"] for row in asked(place, "select client_id from application_clients order by 1")] == [
        "reader",
        "svc",
    ]


def test_a_view_whose_tables_are_not_there_does_not_stop_other_queries(dataset: Write) -> None:
    place = dataset()
    manifest = json.loads((place / MANIFEST).read_text())
    del manifest["files"]["requests"], manifest[CHECKSUM]
    (place / MANIFEST).write_text(json.dumps(manifest))
    assert asked(place, "select count(*) as n from errors") == [{"n": 1}]
    with pytest.raises(UsageError, match="topics"):
        asked(place, "from topics")


def test_views_of_stories_that_are_not_there_do_not_stop_other_queries(dataset: Write) -> None:
    assert asked(dataset(stories=False), "select count(*) as n from topics") == [{"n": 0}]


def test_the_list_has_every_format_of_rows() -> None:
    def listed(*options: str) -> str:
        result = CliRunner().invoke(app, ["sql", "--list", *options])
        assert result.exit_code == 0, result.output
        return result.stdout

    names = [saved.name for saved in questions()]
    assert [row["name"] for row in json.loads(listed("--format", "json"))] == names
    assert [json.loads(line)["name"] for line in listed("--format", "jsonl").splitlines()] == names
    assert listed("--format", "csv").splitlines()[0] == "name,answers"
    assert listed().split()[0] == names[0]
    shown = CliRunner().invoke(app, ["sql", "--show", names[0], "--format", "json"]).stdout
    assert json.loads(shown) == {"name": names[0], "sql": question(names[0]).text}
