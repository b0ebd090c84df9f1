"""Counts of producers that were spilled apart, against sums in plain Python."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM
from kafkascope_analyzer.resolve.flow.added_slices import produce_slices
from kafkascope_analyzer.resolve.flow.counts import PRODUCE_SLICES, RECOUNTED
from kafkascope_analyzer.scan.spill import END, Spill

ROW = st.fixed_dictionaries(
    {
        "part": st.sampled_from([0, 1, END]),
        "conn": st.integers(0, 1),
        "topic": st.sampled_from(["orders", "sales"]),
        "partition": st.integers(0, 1),
        "ts_ns": st.sampled_from([0, 1_000_000_000]),
        "first_ns": st.integers(0, 99),
        "last_ns": st.integers(0, 99),
        "n_records": st.integers(1, 9),
        "n_again": st.just(0),
        "record_bytes": st.integers(1, 99),
        "end_offset": st.one_of(st.none(), st.integers(0, 9)),
        "latencies": st.dictionaries(st.integers(0, 3), st.integers(1, 5), max_size=3),
    }
)


NUMBERS = ("conn", "partition", "ts_ns", "first_ns", "last_ns", "n_records", "n_again", "record_bytes", "end_offset")


def spill_rows(directory: Path, rows: list[dict[str, Any]]) -> None:
    for part in {row["part"] for row in rows}:
        mine = [row for row in rows if row["part"] == part]
        columns = {name: pa.array([row[name] for row in mine], pa.int64()) for name in NUMBERS}
        columns["topic"] = pa.array([row["topic"] for row in mine])
        classes = [[{"from_us": us, "n": n} for us, n in sorted(row["latencies"].items())] for row in mine]
        spill = Spill(directory, part)
        spill.gather(PRODUCE_SLICES, pa.table(columns | {"latencies": pa.array(classes, HISTOGRAM)}))
        spill.close()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(ROW, max_size=12), recounted=st.dictionaries(st.integers(0, 1), st.sampled_from([1, END]), max_size=1)
)
def test_a_slice_has_one_row(tmp_path_factory, rows, recounted):
    directory = tmp_path_factory.mktemp("spill")
    spill_rows(directory, rows)
    spill = Spill(directory, END - 1)
    spill.gather(
        RECOUNTED,
        pa.table(
            {"conn": pa.array(list(recounted), pa.int64()), "part": pa.array(list(recounted.values()), pa.int64())}
        ),
    )
    spill.close()
    expected = defaultdict(list)
    for row in rows:
        if row["part"] >= recounted.get(row["conn"], 0):
            expected[row["conn"], row["topic"], row["partition"], row["ts_ns"]].append(row)
    found = [row for table in produce_slices(directory) for row in table.to_pylist()]
    assert len(found) == len(expected)
    for row in found:
        mine = expected[row["conn"], row["topic"], row["partition"], row["ts_ns"]]
        for name in ("n_records", "record_bytes"):
            assert row[name] == sum(each[name] for each in mine)
        assert (row["first_ns"], row["last_ns"]) == (min(e["first_ns"] for e in mine), max(e["last_ns"] for e in mine))
        assert row["end_offset"] == max((e["end_offset"] for e in mine if e["end_offset"] is not None), default=None)
        latencies = defaultdict(int)
        for each in mine:
            for us, n in each["latencies"].items():
                latencies[us] += n
        assert row["latencies"] == [{"from_us": us, "n": n} for us, n in sorted(latencies.items())]
