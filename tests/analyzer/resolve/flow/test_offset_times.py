"""When offsets were there, against a search through all responses."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.flow.offset_times import NEVER, OffsetTimes
from kafkascope_analyzer.resolve.flow.part_ends import PART_ENDS, named_rows

TOPIC = st.sampled_from(["a", "b", "c"])
PLACE = st.tuples(TOPIC, st.integers(0, 2))
POINT = st.tuples(PLACE, st.integers(0, 20))
SEEN = st.tuples(PLACE, st.one_of(st.none(), st.integers(-1, 25)), st.integers(1, 1000))


def columns(times, seen):
    """The places, offsets (-1 for an unknown one) and times of what was seen."""
    topics = pa.array([topic for (topic, _), _, _ in seen], pa.string()).dictionary_encode()
    places = times.find(topics, pa.chunked_array([[p for (_, p), _, _ in seen]], pa.int32()))
    offsets = [-1 if offset is None else offset for _, offset, _ in seen]
    return places, np.array(offsets, np.int64), np.array([t for _, _, t in seen], np.int64)


@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20), st.lists(SEEN, max_size=20))
def test_a_point_is_there_with_the_first_record_at_or_after_it(points, accepted, ends):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    for part in (accepted[:7], accepted[7:]):
        times.take_accepted(*columns(times, part))
    times.take_ends(*columns(times, ends))
    for (place, offset), found in zip(points, times.first_ns().tolist(), strict=True):
        known = [t for where, base, t in accepted if where == place and base is not None and base >= max(offset, 0)]
        known += [t for where, end, t in ends if where == place and end is not None and end > offset]
        assert found == min(known, default=NEVER)


@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20))
def test_a_point_is_blocked_until_the_last_stable_offset_is_beyond_it(points, stable):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    for part in (stable[:7], stable[7:]):
        times.take_stable(*columns(times, part))
    for (place, offset), found in zip(points, times.blocked_ns().tolist(), strict=True):
        known = [t for where, end, t in stable if where == place and end is not None and 0 <= end <= offset]
        assert found == max(known, default=0)


@given(st.lists(POINT, min_size=1, max_size=12), st.lists(SEEN, max_size=20), st.lists(SEEN, max_size=20))
def test_creation_counts_where_the_capture_shows_no_producer(points, accepted, created):
    topics = pa.array([topic for (topic, _), _ in points])
    partitions = np.array([p for (_, p), _ in points], np.int64)
    times = OffsetTimes(topics, partitions, np.array([o for _, o in points], np.int64))
    times.take_accepted(*columns(times, accepted))
    times.take_created(*columns(times, created))
    written = {where for where, base, _ in accepted if base is not None and base >= 0}
    for (place, offset), found in zip(points, times.first_ns().tolist(), strict=True):
        seen = accepted if place in written else created
        known = [t for where, base, t in seen if where == place and base is not None and base >= max(offset, 0)]
        assert found == min(known, default=NEVER)


def offset_times(points):
    topics, partitions = pa.array([topic for (topic, _), _ in points]), [p for (_, p), _ in points]
    return OffsetTimes(topics, np.array(partitions, np.int64), np.array([o for _, o in points], np.int64))


def show(times, accepted, stable):
    times.take_accepted(*columns(times, accepted))
    times.take_ends(*columns(times, stable))
    times.take_stable(*columns(times, stable))


def ends_of(parts):
    """PART_ENDS of parts (accepted, stable); the last stable offset is the high watermark."""
    found = []
    for part, (accepted, stable) in enumerate(parts):
        for place in {place for place, _, _ in accepted + stable}:
            written = [o + 1 for where, o, _ in accepted if where == place and o is not None and o >= 0]
            seen = [(o, t) for where, o, t in stable if where == place and o is not None and o >= 0]
            if written or seen:
                row = {"part": part, "topic": place[0], "partition": place[1], "is_written": int(bool(written))}
                row |= {"end_offset": max(written + [o for o, _ in seen])}
                row |= {"last_stable_offset": max((o for o, _ in seen), default=None)}
                found.append(row | {"stable_ns": max((t for _, t in seen), default=None)})
    return named_rows(pa.Table.from_pylist(found, PART_ENDS))


@given(
    st.lists(POINT, min_size=1, max_size=8),
    st.lists(POINT, min_size=1, max_size=8),
    st.lists(st.tuples(st.lists(SEEN, max_size=6), st.lists(SEEN, max_size=6)), min_size=1, max_size=4),
)
def test_only_parts_that_say_something_about_a_new_point_are_read_again(before, points, parts):
    first = offset_times(before)
    for part in parts[:-1]:
        show(first, *part)
    found = pa.table(
        {
            "topic": [topic for (topic, _), _ in before],
            "partition": pa.array([p for (_, p), _ in before], pa.int32()),
            "offset": [o for _, o in before],
            "first_ns": first.first_ns(),
            "blocked_ns": first.blocked_ns(),
        }
    )
    times = offset_times(points)
    needed = times.resume(named_rows(found), ends_of(parts[:-1]))
    for part in [*sorted(needed), len(parts) - 1]:
        show(times, *parts[part])
    accepted, stable = ([row for part in parts for row in part[side]] for side in (0, 1))
    for (place, offset), first_ns, blocked_ns in zip(points, times.first_ns(), times.blocked_ns(), strict=True):
        known = [t for where, base, t in accepted if where == place and base is not None and base >= max(offset, 0)]
        known += [t for where, end, t in stable if where == place and end is not None and end > offset]
        assert first_ns == min(known, default=NEVER)
        blocked = [t for where, end, t in stable if where == place and end is not None and 0 <= end <= offset]
        assert blocked_ns == max(blocked, default=0)
    if not set(points) - set(before):
        assert not needed
