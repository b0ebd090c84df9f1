"""Values outside of their ranges in messages that the second pass reads again, in parts of arrays too."""

import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.tables.checked_messages import checked_batch

TOPICS = [
    [{"name": "t", "partitions": [0, -9, 3]}, {"name": "u", "partitions": None}],
    None,
    [],
    [{"name": "v", "partitions": [-(2**31)]}],
    [{"name": "w", "partitions": [2**31 - 1]}],
]
WITHIN = [
    [{"name": "t", "partitions": [0, 3]}, {"name": "u", "partitions": None}],
    None,
    [],
    [{"name": "v", "partitions": []}],
    [{"name": "w", "partitions": [2**31 - 1]}],
]
PARTITIONS = pa.list_(pa.struct([("name", pa.string()), ("partitions", pa.list_(pa.int32()))]))


@pytest.mark.parametrize(("first", "n"), [(0, 5), (1, 4), (3, 2), (0, 1), (2, 1), (5, 0)])
def test_an_array_has_no_numbers_that_are_outside(first, n):
    """A null in its place would be a partition without a number: `t-None`, or an error where names are sorted."""
    batch = pa.record_batch([pa.array(TOPICS, PARTITIONS)], ["topics"]).slice(first, n)
    checked = checked_batch(batch)
    checked.validate(full=True)
    assert checked["topics"].to_pylist() == WITHIN[first : first + n]


def test_a_field_becomes_null():
    batch = pa.record_batch({"throttle_time_ms": pa.array([5, -1, None], pa.int32()), "correlation": [1, -1, 2]})
    assert checked_batch(batch).to_pydict() == {"throttle_time_ms": [5, None, None], "correlation": [1, -1, 2]}
