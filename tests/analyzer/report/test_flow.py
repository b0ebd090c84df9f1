"""The part of the report about topics, from hand-made rows of partition_flow."""

from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import PARTITION_FLOW
from kafkascope_analyzer.report.markdown.flow import markdown_flow
from kafkascope_analyzer.report.model.flow import flow
from kafkascope_analyzer.report.terminal.flow import render_flow
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.sql.database import Database

S = 1_000_000_000


def flow_of(place):
    with Database(Dataset.open(place)) as database:
        return flow(database)


@pytest.fixture
def report(dataset, small):
    def make(rows):
        place = dataset()
        small.write_table(place, PARTITION_FLOW, [row | {"ts_ns": small.T0 + row["ts_ns"]} for row in rows])
        return flow_of(place)

    return make


def row(second, partition, n, group="g", fetched=None, lag=None, slow=None, topic="orders"):
    fetched = n if fetched is None else fetched
    created = [{"from_us": 4096, "n": n}] if n else None
    waited = [{"from_us": slow or 1024, "n": fetched}] if fetched else None
    lags = {} if lag is None else {"lag_last": lag, "lag_max": lag}
    return {
        "topic": topic,
        "partition": partition,
        "group_id": group,
        "ts_ns": second * S,
        "slice_ms": 1000,
        "n_records": n,
        "record_bytes": 100 * n,
        "created_to_acked": created,
        "n_fetched": fetched,
        "acked_to_fetched": waited,
        "leader_id": 1,
    } | lags


BEHIND = [
    row(0, 0, 10, lag=0),
    row(0, 1, 10, lag=0),
    row(1, 0, 10, fetched=0, lag=10),
    row(2, 0, 30, fetched=0, lag=40),
    row(2, 1, 10, fetched=5, lag=5),
    row(3, 0, 0, fetched=40, lag=0, slow=2_097_152),
]


def test_figures_are_those_of_all_partitions_and_slices(report):
    found = report(BEHIND)
    (topic,) = found.listed
    assert (found.n, found.slice_ms, found.slice_length) == (1, 1000, "1 second")
    assert (topic.reader, topic.n_partitions, topic.n_records, topic.n_fetched) == ("g", 2, 70, 65)
    assert (topic.created_to_acked_p50_us, topic.created_to_acked_p99_us) == (4096 + 256, 4096 + 256)
    assert (topic.acked_to_fetched_p50_us, topic.acked_to_fetched_p99_us) == (2_097_152 + 131_072,) * 2
    assert (topic.lag_max, topic.lag_last) == (45, 5)
    assert [(each.n_records, each.n_fetched, each.lag) for each in topic.over_time] == [
        (20, 20, 0),
        (10, 0, 10),
        (40, 5, 45),
        (0, 40, 5),
    ]
    assert [(each.partition, each.lag_max, each.lag_max_at, each.lag_last) for each in topic.partitions] == [
        (0, 40, "00:02.000", 0),
        (1, 5, "00:02.000", 5),
    ]


def test_who_fell_behind_is_said(report):
    (topic,) = report(BEHIND).listed
    assert (
        topic.note
        == "45 records behind at 00:03.000; 5 records behind at the end; partition 0 up to 40, partition 1 up to 5"
    )
    (topic,) = report(BEHIND[:4]).listed
    assert topic.note == "40 records behind when the capture ended, which is the most; partition 0 up to 40"


def test_who_did_not_fall_behind_has_no_note(report):
    """A lag of what comes in less than a slice is none."""
    (topic,) = report([row(0, 0, 10, lag=2), row(1, 0, 10, lag=0)]).listed
    assert (topic.lag_max, topic.note) == (2, None)


def test_nobody_is_listed_where_nobody_reads(report):
    unread = [row(0, 0, 4, group=None, fetched=0, topic="lonely"), row(0, 0, 4, group=None, fetched=0)]
    found = report([*unread, row(1, 0, 4)])
    assert [(each.topic, each.reader) for each in found.listed] == [("lonely", "nobody"), ("orders", "g")]


def test_forms_have_the_same_figures(report):
    found = report(BEHIND)
    page = page_of(render_flow(found), 100, ascii_only=True)
    text = "\n".join(markdown_flow(found))
    for said in ("45 records behind at 00:03.000", "2.23 s", "4.35 ms"):
        assert said in page
        assert said in text
    assert "| `orders` | `g` | 70 | 4.35 ms | 4.35 ms | 2.23 s | 2.23 s | 45 | 5 |" in text


def test_without_rows_there_is_no_section(report):
    found = report([])
    assert [*render_flow(found), *markdown_flow(found)] == []


def test_a_dataset_without_the_table_says_so(dataset, small):
    place = dataset()
    for path in Path(place / "stories" / "partition_flow").glob("*"):
        path.unlink()
    small.relist(place)
    assert not flow_of(place).present
