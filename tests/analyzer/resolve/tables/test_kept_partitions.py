"""With --append, rows of `partitions` of earlier runs are those that were saved, or are read again if more is known."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.failure_times import failure_times, with_codes
from kafkascope_analyzer.resolve.tables import kept_partitions
from kafkascope_analyzer.resolve.tables.kept_partitions import SAVED_PARTITIONS, KeptPartitions
from kafkascope_analyzer.scan.spill import END

NAME, MESSAGE = "partitions.0.response", (0, "response")
CLIENTS = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
ROWS = pa.table({"conn": [0, 1, 2, 0, 1, 2], "ts_ns": pa.array([10, 20, 30, 40, 50, 60], pa.int64())})
KEPT = np.array([1, 1, 0, 0, 0, 1], np.bool_)


def failures(*rows: tuple[str, int]) -> Any:
    """Failures of clients, each with its time."""
    clients, times = ([row[place] for row in rows] for place in (0, 1))
    return failure_times(
        [with_codes(pa.table([pa.array(clients, pa.string()), pa.array(times, pa.int64())], ["client_ip", "ts_ns"]))]
    )


def kept_of(
    folder: Path, failed: list[tuple[str, int]], *, counted: int | None = None, uncovered: Uncovered | None = None
) -> KeptPartitions:
    """counted: the connection of which a source counts all rows."""
    every = np.ones(3, np.bool_)
    events = SimpleNamespace(wants_partitions=lambda *_: every, wants_all_partitions=lambda *_: np.arange(3) == counted)
    known = SimpleNamespace(partitions=failures(*failed), topics=failures())
    context = SimpleNamespace(
        connections=pa.table({"client_ip": pa.chunked_array([CLIENTS])}),
        runs=ErrorRuns(*[np.empty(0, np.int64)] * 5),
        shared=SimpleNamespace(partition_failures=known, uncovered=uncovered or Uncovered()),
    )
    bucket = SimpleNamespace(spill=folder, earlier={}, whole=None)
    return KeptPartitions(cast("Any", bucket), cast("Any", events), cast("Any", context))


def parted(is_kept: set[int], key: str = "a") -> Any:
    """A table with one settled part, which is kept or not."""

    def batches(_: str, wanted: Any) -> Iterator[tuple[int, pa.Table]]:
        yield 0, ROWS.filter(pa.array(wanted[ROWS["conn"].to_numpy()])) if is_kept else ROWS

    return SimpleNamespace(keys={0: key}, is_kept=frozenset(is_kept), batches=batches)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The folder with what a first run has kept."""
    first = kept_of(tmp_path, [("10.0.0.1", 5)])
    table = parted(set())
    first.resume(table)
    assert [rows.num_rows for _, rows in first.batches(table, NAME, MESSAGE)] == [6]
    first.keep(0, NAME, ROWS, KEPT)
    first.keep(END, NAME, ROWS, ~KEPT)
    first.save(table)
    return tmp_path


def read(kept: KeptPartitions, table: Any) -> list[int]:
    """The times of the rows that the next run reads."""
    kept.resume(table)
    return [time for _, rows in kept.batches(table, NAME, MESSAGE) for time in rows["ts_ns"].to_pylist()]


def test_the_next_run_gets_what_was_kept(saved: Path) -> None:
    assert read(kept_of(saved, [("10.0.0.1", 5), ("10.0.0.2", 61)]), parted({0})) == [10, 20, 60]


def test_all_rows_of_a_client_come_again_whose_failure_was_not_known(saved: Path) -> None:
    assert read(kept_of(saved, [("10.0.0.1", 5), ("10.0.0.2", 15)]), parted({0})) == [10, 60, 20, 50]


def test_all_rows_of_a_connection_come_again_that_a_source_counts(saved: Path) -> None:
    assert read(kept_of(saved, [("10.0.0.1", 5)], counted=2), parted({0})) == [10, 20, 30, 60]


@pytest.mark.parametrize(
    ("table", "uncovered"), [(parted({0}, "b"), None), (parted(set()), None), (parted({0}), Uncovered(((1, 2),)))]
)
def test_where_the_rows_of_a_part_have_changed_all_are_read(saved: Path, table: Any, uncovered: Any) -> None:
    assert read(kept_of(saved, [], uncovered=uncovered), table) == ROWS["ts_ns"].to_pylist()


def test_what_is_too_much_is_not_saved(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_partitions, "MOST_KEPT", 2)
    again = kept_of(saved, [])
    again.keep(0, NAME, ROWS, KEPT)
    again.save(parted({0}))
    assert not (saved / SAVED_PARTITIONS).exists()
