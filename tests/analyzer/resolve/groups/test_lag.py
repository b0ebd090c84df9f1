"""High watermarks at the times of commits, against a search through all responses."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.flow.part_ends import PART_ENDS, named_rows
from kafkascope_analyzer.resolve.groups.lag import SECOND_NS, HighWatermarks

PLACE = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 1))
TIME = st.integers(0, 8 * SECOND_NS)
POINT = st.tuples(PLACE, TIME)
SEEN = st.tuples(PLACE, TIME, st.one_of(st.none(), st.integers(-1, 20)))


def rows_of(seen):
    columns = {"topic": pa.array([topic for (topic, _), _, _ in seen], pa.string())}
    columns["partition"] = pa.array([p for (_, p), _, _ in seen], pa.int32())
    columns["ts_ns"] = pa.array([t for _, t, _ in seen], pa.int64())
    return pa.table(columns | {"high_watermark": pa.array([high for _, _, high in seen], pa.int64())})


def watermarks_of(points):
    return HighWatermarks(rows_of([(place, t, None) for place, t in points]))


def show(watermarks, seen):
    named = named_rows(rows_of(seen))
    high_watermark = named.rows["high_watermark"].fill_null(-1).to_numpy()
    places = watermarks.find(named.topics, named.rows["partition"])
    watermarks.take(places, named.rows["ts_ns"].to_numpy(), high_watermark)


def ends_of(parts):
    found = []
    for part, seen in enumerate(parts):
        for place in {place for place, _, _ in seen}:
            mine = [(t, high) for where, t, high in seen if where == place and high is not None and high >= 0]
            if mine:
                times, highs = zip(*mine, strict=True)
                row = {"part": part, "topic": place[0], "partition": place[1], "high_watermark": max(highs)}
                found.append(row | {"first_ns": min(times), "last_ns": max(times)})
    return named_rows(pa.Table.from_pylist(found, PART_ENDS))


@given(
    st.lists(POINT, min_size=1, max_size=8),
    st.lists(POINT, min_size=1, max_size=8),
    st.lists(st.lists(SEEN, max_size=6), min_size=1, max_size=4),
)
def test_only_parts_in_whose_time_a_new_point_lies_are_read_again(before, points, parts):
    first = watermarks_of(before)
    for seen in parts[:-1]:
        show(first, seen)
    found = rows_of([(place, t, None) for place, t in before]).drop_columns("high_watermark")
    found = found.append_column("high_watermark", first.of_points().fill_null(-1))
    watermarks = watermarks_of(points)
    needed = watermarks.resume(named_rows(found), ends_of(parts[:-1]))
    for part in [*sorted(needed), len(parts) - 1]:
        show(watermarks, parts[part])
    for (place, at), high in zip(points, watermarks.of_points().to_pylist(), strict=True):
        until = at // SECOND_NS
        known = [
            h for seen in parts for where, t, h in seen if where == place and h is not None and t // SECOND_NS <= until
        ]
        assert high == max((h for h in known if h >= 0), default=None)
    if not {(p, t // SECOND_NS) for p, t in points} - {(p, t // SECOND_NS) for p, t in before}:
        assert not needed
