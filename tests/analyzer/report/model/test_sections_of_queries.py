"""Sections that are queries over tables, against the same counted in plain Python."""

from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import rows
from kafkascope_analyzer.dataset.tables import ERRORS, OUT_OF_RANGE, REQUESTS
from kafkascope_analyzer.report.missing_stories import NO_STORIES, OLD_STORIES
from kafkascope_analyzer.report.model.apis import ErrorKind, apis, errors
from kafkascope_analyzer.report.model.flow import TopicFlow
from kafkascope_analyzer.report.model.flow_figures import FLOW_FIGURES, flow_figures, records
from kafkascope_analyzer.report.model.incidents.preconditions import missing_sentence, missing_tables, why_no_kafka
from kafkascope_analyzer.report.model.out_of_range import MOST_FIELDS, fields_out_of_range, out_of_range_sentences
from kafkascope_analyzer.report.model.presence import presence
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.report.rows import grouped, select, select_each
from kafkascope_spark.stories.tables import CLIENTS, FINDINGS


def test_apis_and_errors_are_those_of_the_requests(dataset) -> None:
    found = Dataset.open(dataset())
    columns = ["api_name", "api_version", "status", "error_code", "request_bytes"]
    requests = [row for row in rows(found, REQUESTS, columns) if row["api_name"]]
    with report_tables(found) as database:
        listed, errors_found = apis(database), errors(database)
    counts = Counter(row["api_name"] for row in requests)
    assert {api.api_name: api.n for api in listed} == counts
    assert [api.n for api in listed] == sorted(counts.values(), reverse=True)
    for api in listed:
        mine = [row for row in requests if row["api_name"] == api.api_name]
        assert api.versions == tuple(sorted({row["api_version"] for row in mine}))
        assert api.statuses == Counter(row["status"] for row in mine)
        assert api.n_with_errors == sum(bool(row["error_code"]) for row in mine)
        assert api.request_bytes == sum(row["request_bytes"] for row in mine)
    assert errors_found.n == sum(1 for _ in rows(found, ERRORS, ["conn_id"])) == 1
    assert [(kind.error_name, kind.api_name) for kind in errors_found.kinds] == [("NOT_LEADER_OR_FOLLOWER", "Produce")]


def test_the_report_takes_the_memory_that_it_may_and_leaves_no_folder(dataset) -> None:
    with report_tables(Dataset.open(dataset())) as database:
        ((limit, scratch),) = database.query(
            "select current_setting('memory_limit'), current_setting('temp_directory')"
        )[1]
        assert Path(scratch).is_dir()
    assert (limit, Path(scratch).exists()) == ("953.6 MiB", False)


def out_of_range_row(n: int, **more: Any) -> dict[str, Any]:
    row = {"request_id": f"c0:{n}", "conn_id": "c0", "ts_ns": n, "api_name": "Fetch", "direction": "request"}
    row |= {"field": "topics.partition", "kind": "partition", "allowed": "0 to 2147483647", "n": n}
    return {**row, "least": str(-n), "greatest": str(n), **more}


def test_fields_out_of_range_are_summed_and_named(dataset, small) -> None:
    place = dataset()
    many = [out_of_range_row(1, field=f"f{n}") for n in range(MOST_FIELDS + 1)]
    small.write_table(place, OUT_OF_RANGE, [out_of_range_row(2), out_of_range_row(3), *many])
    with report_tables(Dataset.open(place)) as database:
        found = fields_out_of_range(database)
    assert (found[0].n, found[0].least, found[0].greatest, found[0].request_id) == (5, "-3", "3", "c0:2")
    said = out_of_range_sentences(found)
    assert said[0] == ("Fetch request topics.partition: 5 values that no partition has, taken as null: -3 to 3")
    assert said[-1] == "2 more fields with such values: table out_of_range"
    assert len(said) == MOST_FIELDS + 1


@pytest.mark.parametrize(("stories", "why"), [(True, None), (False, NO_STORIES)])
def test_whether_stories_are_there(dataset, stories: bool, why: str | None) -> None:
    found = Dataset.open(dataset(stories=stories))
    assert (presence(found, CLIENTS).present, presence(found, CLIENTS).why_not) == (stories, why)
    without = found.with_stories({"stories/clients": []} if stories else {})
    assert presence(without, FINDINGS).why_not == (OLD_STORIES if stories else NO_STORIES)


def test_a_dataset_without_a_needed_table_says_which(dataset) -> None:
    found = Dataset.open(dataset())
    assert why_no_kafka(found) is None
    assert missing_tables(found) == ()
    assert "requests" in missing_sentence(("requests", "roles"))


def test_figures_of_a_topic_have_a_column_each() -> None:
    empty = {f.name: None for f in fields(TopicFlow)} | {"n_records": 1204, "lag_max": 0}
    figures = flow_figures(TopicFlow(**empty))
    assert len(figures) == len(FLOW_FIGURES)
    assert (figures[0], figures[5], figures[6], records(None), records(1_000_000)) == (
        "1,204",
        "0",
        "",
        "",
        "1,000,000",
    )


def test_rows_of_a_query_come_one_by_one(dataset) -> None:
    query = "select 7 as n, 'x' as error_name, null as api_name, 1 as last_ns, null as first_ns"
    with report_tables(Dataset.open(dataset())) as database:
        assert select(database, query, ErrorKind) == [ErrorKind("x", "", 7, 0, 1)]
        assert next(select_each(database, query, ErrorKind)).n == 7
    assert grouped([3, 1, 2, 5], lambda n: n % 2) == {1: [3, 1, 5], 0: [2]}
