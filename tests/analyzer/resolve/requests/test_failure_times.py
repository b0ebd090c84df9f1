"""When subjects failed, and what follows, against plain Python."""

from bisect import bisect_left, bisect_right
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.requests.failure_times import NO_SUBJECT, FollowCounter, failure_times, with_codes

SUBJECTS = st.tuples(
    st.sampled_from(["10.0.0.1", "10.0.0.2", ""]), st.sampled_from([None, "a", "b"]), st.integers(0, 2)
)
ROWS = st.lists(st.tuples(SUBJECTS, st.integers(0, 20)), max_size=30)
SCHEMA = pa.schema([("client_ip", pa.string()), ("topic", pa.string()), ("partition", pa.int32())])


def columns(subjects):
    return [pa.array([subject[i] for subject in subjects], field.type) for i, field in enumerate(SCHEMA)]


@settings(max_examples=60)
@given(ROWS)
def test_the_times_of_each_subject_are_told_by_name(failed):
    table = pa.table(columns([s for s, _ in failed]), schema=SCHEMA)
    times = failure_times([with_codes(table.append_column("ts_ns", pa.array([t for _, t in failed], pa.int64())))])
    names = {"\0".join("\1" if value is None else str(value) for value in s): [] for s, _ in failed}
    for subject, time in failed:
        names["\0".join("\1" if value is None else str(value) for value in subject)].append(time)
    assert {name: found.tolist() for name, found in times.by_subject().items()} == {
        name: sorted(each) for name, each in names.items()
    }


@settings(max_examples=60)
@given(ROWS, ROWS, st.booleans())
def test_the_last_failure_is_found_as_in_a_sorted_list(failed, asked, strictly):
    table = pa.table(columns([s for s, _ in failed]), schema=SCHEMA)
    times = failure_times([with_codes(table.append_column("ts_ns", pa.array([t for _, t in failed], pa.int64())))])
    by_subject = {s: sorted(t for other, t in failed if other == s) for s, _ in failed}
    client_ip, *rest = columns([s for s, _ in asked])
    subjects = times.subjects(times.clients(pa.chunked_array([client_ip])), rest)
    assert [s in by_subject for s, _ in asked] == (subjects != NO_SUBJECT).tolist()
    known = np.flatnonzero(subjects != NO_SUBJECT)
    ts_ns = np.array([t for _, t in asked], np.int64)
    found = times.last(subjects[known], ts_ns[known], strictly=strictly)
    bisect = bisect_left if strictly else bisect_right
    for row, index in zip(known.tolist(), found.tolist(), strict=True):
        subject, now = asked[row]
        place = bisect(by_subject[subject], now)
        assert (index == NO_SUBJECT) == (place == 0)
        assert place == 0 or times.times[index] == by_subject[subject][place - 1]


@pytest.mark.parametrize("most", [1, 3])
@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), max_size=60), st.data())
def test_the_first_rows_after_each_failure_are_found_in_batches_of_any_size(most, rows, data):
    """rows: connection, subject, and whether the subject has failed once more."""
    failures, so_far = [], Counter()
    for _, subject, again in rows:
        so_far[subject] += again
        failures.append(so_far[subject])
    seen, expected = Counter(), []
    for (conn, subject, _), failure in zip(rows, failures, strict=True):
        seen[conn, subject, failure] += 1
        expected.append(seen[conn, subject, failure] <= most)
    counter, found, at = FollowCounter(4, most), [], 0
    while at < len(rows):
        end = data.draw(st.integers(at + 1, len(rows)))
        batch = np.array(rows[at:end], np.int64)
        found += counter.take(batch[:, 0], batch[:, 1], np.array(failures[at:end], np.int64)).tolist()
        at = end
    assert found == expected
