import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.report.model.latency import N_BUCKETS, Histogram, bucket_of, lower_edge

LATENCIES = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=200)


@given(LATENCIES, st.sampled_from([0.5, 0.99, 1.0]))
def test_percentile_is_within_a_step_of_the_sorted_list(latencies: list[int], share: float) -> None:
    histogram = Histogram()
    histogram.add(np.array(latencies, dtype=np.int64))
    rank = next(r for r in range(1, len(latencies) + 1) if share * len(latencies) - r <= 0)
    true = sorted(latencies)[rank - 1]
    told = histogram.percentile(share)
    assert told is not None
    assert true - true // 128 - 1 <= told <= true


@given(LATENCIES, st.randoms())
def test_order_and_batches_do_not_matter(latencies: list[int], random) -> None:  # type: ignore[no-untyped-def]
    one, two = Histogram(), Histogram()
    one.add(np.array(latencies, dtype=np.int64))
    mixed = random.sample(latencies, len(latencies))
    for part in (mixed[:7], mixed[7:]):
        two.add(np.array(part, dtype=np.int64))
    assert [one.percentile(q) for q in (0, 0.1, 0.5, 0.99, 1)] == [two.percentile(q) for q in (0, 0.1, 0.5, 0.99, 1)]
    assert one.max_us == two.max_us == max(latencies)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 255, 256, 257, 2**32, 2**53 + 1, 2**62, 2**63 - 1])
def test_a_bucket_holds_its_own_lower_edge(value: int) -> None:
    bucket = int(bucket_of(np.array([value]))[0])
    assert 0 <= bucket < N_BUCKETS
    assert lower_edge(bucket) <= value < lower_edge(bucket + 1)


def test_without_latencies_there_is_no_percentile() -> None:
    empty = Histogram()
    empty.add(np.array([], dtype=np.int64))
    assert empty.percentile(0.5) is None
    assert empty.max_us is None
