"""Facts about transactional ids of all buckets: by hand, and spans against counting bounds one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import spilled

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts, gather_transaction_facts
from kafkascope_analyzer.scan.transaction_picks import COORDINATOR_REQUESTS, LEADERS_REQUESTS, MARKERS

NAMES = TopicNames.of({})
INT64, TEXT = pa.int64(), pa.string()


def table(types: dict[str, pa.DataType], *rows: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(types, row, strict=True)) for row in rows], pa.schema(list(types.items())))


def asked(*rows: tuple[str | None, int | None, int, bool]) -> pa.Table:
    """Requests to coordinators: transactional id, producer id, time, whether it begins or ends a transaction."""
    return table({"transactional_id": TEXT, "producer_id": INT64, "ts_ns": INT64, "is_bound": pa.bool_()}, *rows)


def of_leaders(*rows: tuple[str | None, int | None]) -> pa.Table:
    return table({"transactional_id": TEXT, "producer_id": INT64}, *rows)


def markers(*rows: tuple[int, int]) -> pa.Table:
    return table({"producer_id": INT64, "ts_ns": INT64}, *rows)


def gathered(folder: Path, *buckets: dict[str, pa.Table]) -> TransactionFacts:
    spills = [
        spilled(folder / str(n), **{name.replace(".", "__"): rows for name, rows in tables.items()})
        for n, tables in enumerate(buckets)
    ]
    return gather_transaction_facts(spills, NAMES)


def test_facts_are_those_of_all_buckets(tmp_path: Path) -> None:
    """A marker has only the producer id, and bounds the transactional id to which another bucket says it belongs."""
    first = {COORDINATOR_REQUESTS: asked(("a", 1, 50, True), ("a", 1, 60, False), ("b", None, 10, True))}
    second = {MARKERS: markers((1, 40), (2, 70), (9, 80)), LEADERS_REQUESTS: of_leaders(("b", 2))}
    facts = gathered(tmp_path, first, second)
    assert {name: times.tolist() for name, times in facts.bounds.items()} == {"a": [40, 50], "b": [10, 70]}
    wanted = pa.array([2, 1, 9, None, -(2**63), 2**63 - 1], INT64)
    assert facts.transactional_ids(wanted).to_pylist() == ["b", "a", None, None, None, None]
    assert facts.blocked.num_rows == 0


def test_a_producer_id_of_several_transactional_ids_belongs_to_the_last_one(tmp_path: Path) -> None:
    rows = of_leaders(("b", 7), ("c", 7), ("a", 7), (None, 7), ("d", None))
    facts = gathered(tmp_path, {LEADERS_REQUESTS: rows}, {COORDINATOR_REQUESTS: asked(("b", 7, 5, False))})
    assert facts.producers.to_pydict() == {"transactional_id": ["c"], "producer_id": [7]}


def test_a_capture_without_transactions_has_no_facts(tmp_path: Path) -> None:
    facts = gathered(tmp_path, {}, {})
    assert (facts.producers.num_rows, dict(facts.bounds), facts.blocked.num_rows) == (0, {}, 0)
    assert facts.transactional_ids(pa.array([1, None], INT64)).to_pylist() == [None, None]
    assert facts.stretches(pa.array(["a"]), np.array([5])).tolist() == [0]


def test_a_bound_at_the_very_time_is_before_the_request() -> None:
    facts = TransactionFacts(of_leaders(), {"a": np.array([10, 20])}, pa.table({}))
    ids = pa.array(["a", "a", "a", "a", "other"])
    assert facts.stretches(ids, np.array([9, 10, 19, 20, 30])).tolist() == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("seed", range(4))
def test_spans_between_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = {name: np.sort(rng.integers(0, 99, int(rng.integers(0, 9)))) for name in ("a", "b", "c")}
    names, times = rng.choice(["a", "b", "c", "d"], 80), rng.integers(-5, 105, 80)
    found = TransactionFacts(of_leaders(), bounds, pa.table({})).stretches(pa.array(names), times)
    counts = [sum(at <= ts_ns for at in bounds.get(name, ())) for name, ts_ns in zip(names, times, strict=True)]
    assert found.tolist() == counts
