"""The part of the report about topics, from hand-made rows of partition_flow."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.markdown.flow import markdown_flow
from kafkascope_analyzer.report.model.flow import flow
from kafkascope_analyzer.report.terminal.flow import render_flow
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.sql.database import Database
from kafkascope_spark.stories.tables import PARTITION_FLOW

MS, S = 1_000_000, 1_000_000_000


def flow_of(place):
    with Database(Dataset.open(place)) as database:
        return flow(database)


@pytest.fixture
def report(dataset, small):
    def make(slices):
        place = dataset()
        small.write_table(place, PARTITION_FLOW, [one.row(small.T0) for one in slices])
        return flow_of(place)

    return make


@dataclass(frozen=True)
class Slice:
    """A partition in the slice of that second. n: records that were accepted; fetched: what its reader got, where that
    is not the same; lag: what was left to fetch; committed: the offset that its group committed last; end: that of the
    partition.
    """

    second: int
    partition: int
    n: int
    _: KW_ONLY
    group: str | None = "g"
    topic: str = "orders"
    fetched: int | None = None
    lag: int | None = None
    slowest_us: int = 1024
    committed: int | None = None
    end: int | None = None

    def row(self, begin_ns):
        """The row of partition_flow. begin_ns: of the capture."""
        fetched = self.n if self.fetched is None else self.fetched
        return {
            "topic": self.topic,
            "partition": self.partition,
            "group_id": self.group,
            "ts_ns": begin_ns + self.second * S,
            "slice_ms": 1000,
            "leader_id": 1,
            "n_records": self.n,
            "record_bytes": 100 * self.n,
            "created_to_acked": [{"from_us": 4096, "n": self.n}] if self.n else None,
            "n_fetched": fetched,
            "acked_to_fetched": [{"from_us": self.slowest_us, "n": fetched}] if fetched else None,
            "lag_last": self.lag,
            "lag_max": self.lag,
            "committed_offset": self.committed,
            "end_offset": self.end,
        }


BEHIND = [
    Slice(0, 0, 10, lag=0),
    Slice(0, 1, 10, lag=0),
    Slice(1, 0, 10, fetched=0, lag=10),
    Slice(2, 0, 30, fetched=0, lag=40),
    Slice(2, 1, 10, fetched=5, lag=5),
    Slice(3, 0, 0, fetched=40, lag=0, slowest_us=2_097_152),
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


COMMITS = [
    Slice(0, 0, 10, lag=0, end=10),
    Slice(0, 1, 20, lag=0, end=20),
    Slice(1, 0, 0, committed=4, end=10),
    Slice(2, 0, 5, lag=0, end=15),
    Slice(2, 1, 0, committed=20, end=20),
    Slice(3, 0, 0, committed=15, end=15),
]
"""A group that fetches at once, and commits partition 0 behind that."""


def test_the_commit_lag_is_what_was_accepted_and_not_committed(report):
    """An offset that was committed holds until the next; before the first nothing is known of the partition."""
    (topic,) = report(COMMITS).listed
    assert [(each.lag, each.commit_lag) for each in topic.over_time] == [(0, None), (0, 6), (0, 11), (0, 0)]
    assert (topic.lag_max, topic.commit_lag_max, topic.commit_lag_last) == (0, 11, 0)
    assert [(each.partition, each.commit_lag_max, each.commit_lag_last) for each in topic.partitions] == [
        (0, 11, 0),
        (1, 0, 0),
    ]
    assert topic.note is None, "records that wait in the consumer are not behind in the broker"


COMMIT_LAG = """
with committed as (
    select p.ts_ns, group_id, topic, partition, partition_offset from partitions p join requests r using (request_id)
    where p.api_key = 8 and p.direction = 'request' and r.status = 'ok' and r.n_errors = 0
), ends as (
    select ts_ns, topic, partition, high_watermark as up_to from partitions
    where api_key = 1 and direction = 'response' and high_watermark >= 0
    union all
    select a.ts_ns, topic, partition, a.partition_offset + q.n_records
    from partitions a join partitions q using (request_id, topic, partition)
    where a.api_key = 0 and a.direction = 'response' and a.error_code = 0 and q.direction = 'request'
), times as (select unnest({ends}) as until), commits as (
    select until, partition, max_by(partition_offset, ts_ns) as committed from committed join times on ts_ns < until
    where group_id = '{group}' and topic = '{topic}' group by all
), up_to as (
    select until, partition, max(up_to) as up_to from ends join times on ts_ns < until
    where topic = '{topic}' group by all
)
select until, sum(greatest(up_to - committed, 0))::bigint from commits join up_to using (until, partition) group by all
"""
"""Times, and the commit lag at each, from single requests and responses: the end that they had shown by then, less the
offset that was committed last. A time before the first commit has no row."""


def test_the_commit_lag_of_a_real_capture_is_that_of_its_requests(told_leader_move):
    """In each slice of each of three groups, one of which is rebalanced while a leader moves."""
    with Database(Dataset.open(told_leader_move)) as database:
        found = flow(database)
        for topic in found.listed:
            ends = [each.ts_ns + found.slice_ms * MS for each in topic.over_time]
            query = COMMIT_LAG.format(group=topic.group_id, topic=topic.topic, ends=ends)
            lags = dict(database.query(query)[1])
            assert [lags.get(end) for end in ends] == [each.commit_lag for each in topic.over_time], topic.reader
    assert [topic.commit_lag_max for topic in found.listed] == [143, 143, 172]
    assert [topic.commit_lag_last for topic in found.listed] == [0, 0, 0], "consumers commit when they close"


def test_a_commit_beyond_the_end_that_the_capture_shows_leaves_nothing(report):
    (topic,) = report([Slice(0, 0, 10, lag=0, end=10, committed=12)]).listed
    assert (topic.commit_lag_max, topic.commit_lag_last) == (0, 0)


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
    (topic,) = report([Slice(0, 0, 10, lag=2), Slice(1, 0, 10, lag=0)]).listed
    assert (topic.lag_max, topic.note) == (2, None)


def test_nobody_is_listed_where_nobody_reads(report):
    unread = [Slice(0, 0, 4, group=None, fetched=0, topic="lonely"), Slice(0, 0, 4, group=None, fetched=0)]
    found = report([*unread, Slice(1, 0, 4)])
    assert [(each.topic, each.reader) for each in found.listed] == [("lonely", "nobody"), ("orders", "g")]


def test_forms_have_the_same_figures(report):
    found = report([*BEHIND, Slice(4, 0, 0, committed=38, end=50)])
    page = page_of(render_flow(found), 80, ascii_only=True)
    text = "\n".join(markdown_flow(found))
    for said in ("45 records behind at 00:03.000", "2.23 s", "4.35 ms"):
        assert said in page
        assert said in text
    assert "| `orders` | `g` | 70 | 4.35 ms | 4.35 ms | 2.23 s | 2.23 s | 45 | 5 | 12 | 12 |" in text
    above, below = (line.split() for line in page.splitlines()[5:7])
    assert above == ["orders", "70", "4.35", "ms", "2.23", "s", "45", "12"]
    assert below == ["g", "4.35", "ms", "2.23", "s", "5", "12"]


def test_without_rows_there_is_no_section(report):
    found = report([])
    assert [*render_flow(found), *markdown_flow(found)] == []


def test_a_dataset_without_the_table_says_so(dataset, small):
    place = dataset()
    for path in Path(place / "stories" / "partition_flow").glob("*"):
        path.unlink()
    small.relist(place)
    assert not flow_of(place).present
