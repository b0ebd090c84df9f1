"""Slow hosts: pauses and quickest clients against plain Python, and a recorded host that seldom ran."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.resolve.servers.slow_hosts import _least_of_hosts, _longest_pauses

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
NEAR_NS = 500_000_000


@pytest.mark.parametrize("seed", range(10))
def test_the_longest_pause_of_each_slice(seed):
    rng = np.random.default_rng(seed)
    bits = rng.random(5 * 64) < rng.choice([0.02, 0.3, 0.9])
    text = "".join("x" if bit else " " for bit in bits)
    slices = [text[at : at + 64] for at in range(0, len(text), 64)]
    assert _longest_pauses(bits, 5).tolist() == [max(map(len, part.split("x"))) for part in slices]


def test_a_host_is_as_slow_as_its_quickest_client():
    nan = float("nan")
    doublings = np.array([[4.0, 4.0, nan], [3.0, 0.5, nan], [1.0, nan, 2.0]])
    least, n_known = _least_of_hosts(doublings, np.array([0, 0, 1]), 3)
    assert least[0, :2].tolist() == [3.0, 0.5]
    assert np.isnan(least[0, 2])
    assert least[1, [0, 2]].tolist() == [1.0, 2.0]
    assert np.isnan(least[2]).all()
    assert n_known.tolist() == [[2, 2, 0], [1, 0, 1], [0, 0, 0]]


def test_a_host_that_seldom_ran_is_slow_from_then_to_then(ingested: Callable[..., Path]):
    """Recorded: a producer and a consumer of one host ran for 100 of every 2000 ms, a consumer elsewhere always."""
    begin, end = json.loads((PIECES / "starved_host.truth.json").read_text())["events"]
    rows = Dataset.open(ingested(PIECES / "starved_host.pcap.zst")).read("events").to_pylist()
    (slow,) = (row["slow_host"] for row in rows if row["kind"] == "slow_host")
    assert (slow["host"], slow["n_clients"]) == (begin["detail"]["ip"], 1)
    assert begin["ts_ns"] - NEAR_NS < slow["first_ns"] < begin["ts_ns"] + 2 * NEAR_NS
    assert end["ts_ns"] - 2 * NEAR_NS < slow["last_ns"] < end["ts_ns"] + NEAR_NS
