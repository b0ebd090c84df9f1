"""`kafkascope tables`: the tables of a dataset, their columns, and which of them have some words."""

import json

from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app


def tables(*words: str) -> str:
    done = CliRunner().invoke(app, ["tables", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_search_finds_columns_fields_tables_and_views() -> None:
    found = {row["column"]: row for row in json.loads(tables("--search", "THROTTLE", "--format", "json"))}
    assert found["requests.throttle_ms"]["type"] == "int32"
    assert any(name.startswith("events.") and name.count(".") == 2 for name in found)
    everything = json.loads(tables("--search", "connection", "--format", "json"))
    assert {"connections", "roles.conn_id"} <= {row["column"] for row in everything}
    (view,) = (row for row in json.loads(tables("--search", "per topic that was", "--format", "json")))
    assert (view["column"], view["type"]) == ("topics", "view")


def test_all_words_have_to_be_there_and_a_value_counts() -> None:
    names = [row["column"] for row in json.loads(tables("recoveries", "--search", "gave_up", "--format", "json"))]
    assert names == ["recoveries.outcome"]


def test_nothing_is_found() -> None:
    done = CliRunner().invoke(app, ["tables", "--search", "no such words"])
    assert done.exit_code == 2
    assert done.stderr.strip() == (
        "kafkascope: nothing in the tables has 'no such words' in its name or sentence; kafkascope tables lists them"
    )
