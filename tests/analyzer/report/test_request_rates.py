"""Requests a second and p99 by family and slot, against the rows of the table requests counted one by one."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import ROLES
from kafkascope_analyzer.report import html
from kafkascope_analyzer.report.api_families import FAMILIES, family_number, role_family_number
from kafkascope_analyzer.report.model.request_rates import RequestRates, request_rates
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_parsers.schema.catalogue import FAMILIES as CATALOGUE_FAMILIES

Write = Callable[..., Path]
STEP = 1 / 128
"""A percentile is at most one step of the latency scale below the true one."""


def rates_of(place: Path) -> RequestRates:
    with report_tables(Dataset.open(place)) as database:
        return request_rates(database)


@pytest.fixture(scope="session")
def leader_move(told_leader_move: Path) -> Path:
    return told_leader_move


def requests_of(place: Path) -> list[dict[str, Any]]:
    columns = ["api_name", "ts_ns", "broker_us", "error_code", "status"]
    rows = ds.dataset(place / "requests", format="parquet").to_table(columns=columns).to_pylist()
    return [row for row in rows if row["status"] != "orphan_response"]


def by_slot(rates: RequestRates) -> dict[tuple[str, int], Any]:
    return {(family.family, slot.from_ns): slot for family in rates.families for slot in family.slots}


def test_each_slot_has_the_requests_that_were_sent_in_it(leader_move: Path) -> None:
    rates = rates_of(leader_move)
    slots = by_slot(rates)
    begins = sorted({begin for _, begin in slots})
    expected: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in requests_of(leader_move):
        begin = begins[bisect_right(begins, row["ts_ns"]) - 1]
        expected[FAMILIES[family_number(row["api_name"])].name, begin].append(row)
    assert slots.keys() == expected.keys()
    for key, rows in expected.items():
        slot = slots[key]
        assert slot.from_ns <= min(row["ts_ns"] for row in rows)
        assert max(row["ts_ns"] for row in rows) < slot.to_ns
        assert slot.n == len(rows)
        assert slot.n_failed == sum(bool(row["error_code"]) or row["status"] == "unanswered" for row in rows)
        assert slot.per_second == pytest.approx(len(rows) * 1e9 / (slot.to_ns - slot.from_ns), rel=1e-3)
        latencies = sorted(row["broker_us"] for row in rows if row["broker_us"] is not None)
        if not latencies:
            assert slot.p99_ms is None
            continue
        true_us = latencies[-(-99 * len(latencies) // 100) - 1]
        assert slot.p99_ms is not None
        assert true_us * (1 - STEP) - 1 <= 1000 * slot.p99_ms <= true_us


def test_slots_are_equal_and_cover_the_capture(leader_move: Path) -> None:
    """34.7 s are 108 slots of 320 ms."""
    rates = rates_of(leader_move)
    slots = by_slot(rates).values()
    end_ns = max(slot.to_ns for slot in slots)
    assert {slot.to_ns - slot.from_ns for slot in slots if slot.to_ns < end_ns} == {320_000_000}
    assert rates.n_slots == 108
    assert rates.slot_text == "320 ms"
    rows = requests_of(leader_move)
    assert sum(family.n for family in rates.families) == len(rows) == 5700
    assert "admin" not in {family.family for family in rates.families}, "8 responses have no request"


def test_a_broker_that_goes_down_shows_in_its_slots(leader_move: Path) -> None:
    """Node 3 is down from 12.68 s on: requests sent then fail, or wait for seconds."""
    records = next(f for f in rates_of(leader_move).families if f.family == "records")
    start_ns = min(row["ts_ns"] for row in requests_of(leader_move))
    down = [s for s in records.slots if 12.3e9 < s.from_ns - start_ns < 14e9]
    calm = [s for s in records.slots if 8e9 < s.from_ns - start_ns < 11e9]
    assert sum(s.n_failed for s in down) > sum(s.n_failed for s in calm) == 0
    assert max(s.p99_ms or 0 for s in down) > 3 * max(s.p99_ms or 0 for s in calm)


def test_words_and_peaks_of_a_small_dataset(dataset: Write, small: ModuleType) -> None:
    rates = rates_of(dataset())
    counts = [(f.family, f.n, f.n_failed) for f in rates.families]
    assert counts == [("records", 5, 1), ("discovery", 1, 0), ("group", 1, 1)]
    assert rates.slot_text == "160 ms"
    data, _, group = rates.families
    assert group.most_p99_ms is None
    assert group.text == "up to 6.25/s, none answered, 1 of 1 request failed"
    assert group.slots[0].text == "6.25 requests/s, none answered, 1 of 1 request failed"
    assert data.most_p99_ms == pytest.approx(10.0, rel=STEP)
    assert data.most_per_second == max(slot.per_second for slot in data.slots)
    assert data.slots[0].from_ns >= small.T0


def test_a_dataset_without_requests_has_no_families(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for file in (place / "requests").rglob("*.parquet"):
        empty = ds.dataset(file, format="parquet").to_table().slice(0, 0)
        pq.write_table(empty, file)
    small.relist(place)
    assert rates_of(place).families == ()


def test_families_are_those_of_the_catalogue_and_each_has_a_colour() -> None:
    assert tuple(family.name for family in FAMILIES) == CATALOGUE_FAMILIES
    apis = {"Fetch": "records", "Metadata": "discovery", "SaslHandshake": "connection", "SyncGroup": "group"}
    apis |= {"EndTxn": "transaction", "Vote": "broker", "PushTelemetry": "admin", "": "admin"}
    assert {api: FAMILIES[family_number(api)].name for api in apis} == apis
    assert FAMILIES[role_family_number("transaction_coordinator")].name == "transaction"
    assert FAMILIES[role_family_number(None)].name == "admin"
    assert {FAMILIES[role_family_number(role)].name for role in ROLES} == {*CATALOGUE_FAMILIES} - {"connection"}
    styles = "".join(page.read_text("utf-8") for page in Path(html.__file__).parent.glob("*.css"))
    for family in FAMILIES:
        assert styles.count(f"--{family.name}: #") == 3, "light, dark, and dark by the reader's preference"
        assert f".family-{family.name} {{" in styles
        assert f".link-{family.name} {{" in styles
