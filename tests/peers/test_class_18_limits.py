"""Class 18. Every number of every message at the limits of its type: what cannot be is null, and counted; the rest of
the message stays, and nothing that is computed leaves its type.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.ranges import APART_NS, EPOCH, OFFSET, TIME_NS, column_range
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.report.model.data_quality import doubts
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import questions, views
from kafkascope_spark.stories.tables import STORY_TABLES


@pytest.fixture(scope="module")
def x(load_module):
    """The builders of extreme_messages.py."""
    return load_module(Path(__file__).with_name("extreme_messages.py"))


@pytest.fixture(scope="module")
def extreme(w, x, tmp_path_factory):
    """A capture of one connection for each limit, with and without errors, and its dataset."""
    conversations = x.talks(w, x.LIMITS.values(), ((b"t", False), (b"9" * 40, True), (b"", False)))
    folder = tmp_path_factory.mktemp("extreme")
    return w.read(folder, *conversations)


def numbers(name, values):
    """The integers in a column, with the name of the column or of the field of its struct."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_struct(values.type):
        for field in values.type:
            yield from numbers(field.name, values.field(field.name))
    elif pa.types.is_list(values.type):
        yield from numbers(name, values.flatten())
    elif pa.types.is_integer(values.type):
        yield name, values.drop_null()


def test_all_apis_were_read(extreme):
    statuses = [row["status"] for row in extreme.table("requests")]
    assert statuses.count("ok") > 0.9 * len(statuses) > 1500


@pytest.mark.parametrize("table", INGEST_TABLES, ids=lambda table: table.name)
def test_numbers_of_tables_are_within_their_ranges(extreme, table):
    rows = pq.read_table(extreme.place / table.name, partitioning=None)
    for column in table.columns:
        if column.name in rows.column_names:
            for name, values in numbers(column.name, rows[column.name]):
                if len(values):
                    allowed = column_range(name, values.type)
                    found = values.to_numpy().astype(np.int64)
                    assert allowed.least <= found.min() <= found.max() <= allowed.greatest, (column.name, name)


def test_what_was_outside_is_counted_with_its_field(extreme):
    rows = extreme.table("out_of_range")
    fields = {(row["api_name"], row["direction"], row["field"]) for row in rows}
    assert ("Fetch", "response", "responses[].partitions[].high_watermark") in fields
    assert ("Produce", "request", "topic_data[].partition_data[].index") in fields
    assert ("Produce", "request", "records.first_timestamp_ms") in fields
    assert all(row["request_id"] and row["packet_no"] and row["n"] > 0 for row in rows)
    assert {row["least"] for row in rows} >= {str(-(2**63)), str(-(2**31)), "-1"}


def test_messages_keep_what_kafka_wrote(extreme, x):
    rows = extreme.messages("Fetch", "response")
    found = {p["high_watermark"] for row in rows for r in row["responses"] for p in r["partitions"]}
    assert found == {limit(64) for limit in x.LIMITS.values()}


@pytest.mark.slow
def test_reports_and_saved_questions_take_them(extreme):
    dataset = Dataset.open(extreme.place)
    assert report_model(dataset).unread.out_of_range
    with Database(dataset) as database:
        unknown = {view.name for view in views()}.difference(database.names) | {table.name for table in STORY_TABLES}
        asked = [q for q in questions() if not any(map(q.names, unknown))]
        assert len(asked) > 3
        for question in asked:
            database.query(question.text)


def test_times_durations_and_epochs_can_be_added_and_subtracted():
    for one in (TIME_NS, APART_NS):
        for other in (TIME_NS, APART_NS):
            assert one.greatest + other.greatest < 2**63
            assert one.least - other.greatest >= -(2**63)
    assert EPOCH.greatest - EPOCH.least < 2**31
    assert OFFSET.greatest - OFFSET.least < 2**63


def test_a_clock_that_is_set_is_reported_and_nothing_goes_on_over_it(w, tmp_path):
    """Two connections; the first packets are from 1970, as of a computer whose clock has no battery."""
    talks = [w.Conversation(client_port=40001 + n) for n in range(2)]
    for talk in talks:
        for number in range(1, 7):
            talk.from_client(w.metadata(number)).from_server(w.metadata_answer(number))
    half = len(talks[0].packets)

    def shown(packets):
        return [(ts_ns % 10**9 if at < half else ts_ns, raw) for at, (ts_ns, raw) in enumerate(packets)]

    dataset = w.read(tmp_path, *talks, shown=shown)
    (capture,) = dataset.table("captures")
    assert (capture["n_leaps"], capture["n_wrong_times"]) == (1, 0)
    model = report_model(Dataset.open(dataset.place))
    ((begin, end),) = [(time.from_ns, time.to_ns) for time in model.capture.uncovered]
    assert begin < 10**9 * 2 < w.START_NS <= end
    assert any("the clock was set" in sentence for sentence in doubts(model.unread, model.capture))


def test_times_that_cannot_be_are_counted(w, tmp_path):
    talk = w.Conversation()
    talk.from_client(w.metadata(1)).from_server(w.metadata_answer(1))
    late = TIME_NS.greatest + 10**9
    shown = lambda packets: [(late if at == 2 else ts_ns, raw) for at, (ts_ns, raw) in enumerate(packets)]  # noqa: E731
    dataset = w.read(tmp_path, talk, shown=shown)
    (capture,) = dataset.table("captures")
    assert (capture["n_leaps"], capture["n_wrong_times"]) == (0, 1)
    assert capture["last_ns"] < late
    model = report_model(Dataset.open(dataset.place))
    assert any("have a time that cannot be" in sentence for sentence in doubts(model.unread, model.capture))
