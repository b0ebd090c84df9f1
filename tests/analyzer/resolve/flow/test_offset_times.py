"""When offsets were there, against a search through all responses."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.flow.offset_times import NEVER, OffsetTimes

TOPIC = st.sampled_from(["a", "b", "c"])
PLACE = st.tuples(TOPIC, st.integers(0, 2))
POINT = st.tuples(PLACE, st.integers(0, 20))
SEEN = st.tuples(PLACE, st.one_of(st.none(), st.integers(-1, 25)), st.integers(1, 1000))


def table(seen):
    rows = pa.table(
        {
            "partition": pa.array([p for (_, p), _, _ in seen], pa.int32()),
            "partition_offset": pa.array([o for _, o, _ in seen], pa.int64()),
            "ts_ns": pa.array([t for _, _, t in seen], pa.int64()),
        }
    )
    return pa.array([topic for (topic, _), _, _ in seen], pa.string()).dictionary_encode(), rows


@settings(deadline=None)
@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20), st.lists(SEEN, max_size=20))
def test_a_point_is_there_with_the_first_record_at_or_after_it(points, accepted, ends):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    for part in (accepted[:7], accepted[7:]):
        times.take_accepted(*table(part))
    times.take_ends(*table(ends), "partition_offset")
    for (place, offset), found in zip(points, times.first_ns().tolist(), strict=True):
        known = [t for where, base, t in accepted if where == place and base is not None and base >= max(offset, 0)]
        known += [t for where, end, t in ends if where == place and end is not None and end > offset]
        assert found == min(known, default=NEVER)


@settings(deadline=None)
@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20))
def test_a_point_is_blocked_until_the_last_stable_offset_is_beyond_it(points, stable):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    for part in (stable[:7], stable[7:]):
        names, rows = table(part)
        times.take_stable(names, rows.rename_columns(["partition", "last_stable_offset", "ts_ns"]))
    for (place, offset), found in zip(points, times.blocked_ns().tolist(), strict=True):
        known = [t for where, end, t in stable if where == place and end is not None and 0 <= end <= offset]
        assert found == max(known, default=0)


@settings(deadline=None)
@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20), st.lists(SEEN, max_size=20))
def test_creation_counts_where_the_capture_shows_no_producer(points, accepted, created):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    times.take_accepted(*table(accepted))
    times.take_created(*table(created))
    written = {where for where, base, _ in accepted if base is not None and base >= 0}
    for (place, offset), found in zip(points, times.first_ns().tolist(), strict=True):
        seen = accepted if place in written else created
        known = [t for where, base, t in seen if where == place and base is not None and base >= max(offset, 0)]
        assert found == min(known, default=NEVER)
