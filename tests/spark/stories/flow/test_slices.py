"""What several connections did in a slice adds up to what one connection would have done that did all of it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.latency_histogram import LatencyClass, lowest_us, percentile_us
from kafkascope_analyzer.dataset.tables.event_kinds.flow import CommitSlice, FetchSlice, ProduceSlice
from kafkascope_spark.stories.flow.slices import Place, Produced, Read, Reader, flow_row, highest, unread_row

PLACE = Place("t", 3, 7, 1000)
HISTOGRAMS = st.dictionaries(st.integers(0, 40).map(lowest_us), st.integers(1, 9), max_size=5)
RECORDS = st.lists(st.tuples(HISTOGRAMS, st.integers(0, 100)), min_size=1, max_size=6)


def plain(histogram: dict[int, int]) -> tuple[LatencyClass, ...] | None:
    return tuple(LatencyClass(us, n) for us, n in sorted(histogram.items())) or None


def produced(histogram: dict[int, int], end: int, at_ns: int, node: int | None = 1) -> ProduceSlice:
    n = sum(histogram.values())
    return ProduceSlice("t", 3, node, 1000, at_ns, n, 10 * n, plain(histogram), end)


def fetched(histogram: dict[int, int], end: int, at_ns: int, lag: int = 0, again: int = 0) -> FetchSlice:
    n = sum(histogram.values())
    return FetchSlice("t", 3, 2, 1000, at_ns, n, 10 * n, plain(histogram), end, at_ns, end - lag, lag, lag, lag, again)


@given(RECORDS, RECORDS)
def test_connections_add_up(written: list[tuple[dict[int, int], int]], read: list[tuple[dict[int, int], int]]) -> None:
    accepted, reader = Produced(), Read()
    for at_ns, (histogram, end) in enumerate(written):
        accepted.add(produced(histogram, end, at_ns, node=at_ns))
    for at_ns, (histogram, end) in enumerate(read):
        reader.add(fetched(histogram, end, at_ns))
    row = flow_row(PLACE, accepted.accepted(), Reader("g", None), reader, 99)
    for parts, n, p50_us, found in (
        (written, row.n_records, row.created_to_acked_p50_us, row.created_to_acked),
        (read, row.n_fetched, row.acked_to_fetched_p50_us, row.acked_to_fetched),
    ):
        counts = sum((Counter(histogram) for histogram, _ in parts), Counter())
        assert n == counts.total()
        assert p50_us == percentile_us(counts, 0.5)
        assert found == (tuple(LatencyClass(us, counts[us]) for us in sorted(counts)) or None)
    assert row.leader_id == len(written) - 1, "who accepted last"
    assert row.high_watermark == max(end for _, end in read)
    assert (row.topic, row.partition, row.ts_ns, row.slice_ms, row.group_id, row.end_offset) == (*PLACE, "g", 99)


def test_records_that_come_again_are_no_records_that_come_first() -> None:
    reader = Read()
    for at_ns, again in ((1, 4), (2, 0), (3, 5)):
        reader.add(fetched({1024: 2}, 5, at_ns, again=again))
    row = flow_row(PLACE, Produced().accepted(), Reader("g", None), reader, 5)
    assert (row.n_fetched, row.n_fetched_again) == (6, 9)
    reader.begin_slice()
    assert flow_row(PLACE, Produced().accepted(), Reader("g", None), reader, 5).n_fetched_again == 0


def test_a_node_that_is_not_known_is_no_leader_and_readers_know_one_where_nobody_wrote() -> None:
    accepted, reader = Produced(), Read()
    accepted.add(produced({1024: 2}, 5, at_ns=9, node=None))
    reader.add(fetched({1024: 2}, 5, at_ns=3))
    assert flow_row(PLACE, accepted.accepted(), Reader("g", None), reader, 5).leader_id == 2
    row = unread_row(PLACE, accepted.accepted(), 5)
    assert (row.leader_id, row.n_records, row.n_fetched, row.fetched_bytes, row.lag_max) == (None, 2, None, None, None)


def test_a_reader_without_responses_falls_behind_by_what_was_written() -> None:
    reader = Read()
    reader.add(fetched({1024: 10}, 10, at_ns=1, lag=4))
    reader.end_slice(10)
    assert (reader.lag, reader.next_offset) == (4, 6)
    reader.begin_slice()
    assert not reader.has_news
    reader.end_slice(25)
    assert (reader.lag_first, reader.lag_last, reader.lag_max) == ((0, 4), (0, 19), 19)


def test_the_last_commit_of_a_slice_counts() -> None:
    reader = Read()
    for at_ns, offset in ((5, 50), (9, 20), (7, 70)):
        reader.commit(CommitSlice("t", 3, 2, 1000, at_ns, "g", offset))
    assert reader.committed == (9, 20)
    assert reader.has_news


def test_the_higher_of_what_is_known() -> None:
    assert (highest(None, None), highest(3, None), highest(None, 0), highest(3, 5)) == (None, 3, 0, 5)
