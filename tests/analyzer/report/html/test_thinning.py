"""Too many requests: what stays, and that the weights add up."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.report.page_model.thinning import Kept

SECOND = 1_000_000_000


def batch(seed: int, n: int) -> dict[str, np.ndarray]:
    """Random requests of a minute: mostly Fetch and Produce, some Metadata, some errors."""
    random = np.random.default_rng(seed)
    return {
        "conn": random.integers(0, 9, n),
        "api_key": random.choice([0, 1, 1, 1, 3], n),
        "error_code": random.choice([0] * 30 + [6], n),
        "status": random.choice([0] * 50 + [2], n),
        "ts": random.integers(0, 60 * SECOND, n),
        "number": np.arange(n) + seed * 1_000_000,
        "latency_us": random.integers(0, 10_000, n),
    }


def fed(seeds: range, n: int, budget: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    kept, parts = Kept(0, 60 * SECOND, budget), [batch(seed, n) for seed in seeds]
    for part in parts:
        kept.add(part)
    return kept.columns(), {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_nothing_is_merged_within_the_budget():
    rows, given_rows = fed(range(3), 400, 1200)
    assert sorted(rows["number"]) == sorted(given_rows["number"])
    assert set(rows["weight"]) == {1}


def test_errors_and_the_control_plane_stay_while_they_fit():
    rows, given_rows = fed(range(5), 2000, 3000)
    assert len(rows["ts"]) <= 3000
    special = (given_rows["error_code"] != 0) | (given_rows["api_key"] == 3) | (given_rows["status"] != 0)
    assert set(given_rows["number"][special]) <= set(rows["number"])


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(0, 1500), st.integers(60, 2500))
def test_weights_add_up_for_each_connection_and_api(n_batches, n, budget):
    rows, given_rows = fed(range(n_batches), n, budget)
    if not n:
        return
    apart = 2 * 9 * 3 * 2 * 2 + 9 * 3 * 2 * 2  # edges, and one of each connection, API, error and status
    assert len(rows["ts"]) <= max(budget, apart)
    for key in np.unique(given_rows["conn"]):
        for api in (0, 1, 3):
            mine = (rows["conn"] == key) & (rows["api_key"] == api)
            all_of_them = (given_rows["conn"] == key) & (given_rows["api_key"] == api)
            assert rows["weight"][mine].sum() == np.count_nonzero(all_of_them)


def test_the_slowest_and_the_first_and_last_of_each_connection_stay():
    rows, given_rows = fed(range(4), 3000, 1500)
    for key in range(9):
        mine = (given_rows["conn"] == key) & (given_rows["api_key"] == 1)
        kept = set(rows["number"][rows["conn"] == key])
        number, ts, latency = (given_rows[name][mine] for name in ("number", "ts", "latency_us"))
        assert {number[ts.argmin()], number[ts.argmax()]} <= kept
        ordinary = latency * ((given_rows["error_code"][mine] == 0) & (given_rows["status"][mine] == 0))
        assert (
            ordinary.max()
            == rows["latency_us"][
                (rows["conn"] == key) & (rows["api_key"] == 1) & (rows["error_code"] == 0) & (rows["status"] == 0)
            ].max()
        )


def test_time_order_within_a_connection():
    rows, _ = fed(range(4), 3000, 1500)
    for key in range(9):
        assert (np.diff(rows["ts"][rows["conn"] == key]) >= 0).all()
