"""When a fault was, in words of the first screen; and the grid of brokers and hosts."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.incidents.impact import fault_end, fault_start
from kafkascope_analyzer.report.model.incidents.state_grid import CALM, state_grid, words_of_state
from kafkascope_analyzer.report.model.moments import from_to_text, moment_of
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.incidents.table import IncidentRow
from kafkascope_spark.stories.servers.table import STATES

S = 1_000_000_000


def test_a_moment_lies_between_two_packets_or_is_one() -> None:
    between = moment_of(11 * S, 13 * S, 10 * S)
    assert (between.at, between.is_between) == ("00:01.000 - 00:03.000", True)
    assert between.of_day == "00:00:11.000 - 00:00:13.000"
    at_once = moment_of(13 * S - 10, 13 * S - 5, 10 * S)
    assert (at_once.at, at_once.is_between) == ("00:02.999", False)
    lasted = from_to_text(11 * S, 12 * S, 10 * S, lasted=True)
    assert lasted == "00:01.000 to 00:02.000 (00:00:11.000 to 00:00:12.000 UTC, 1.00 s)"


def incident(dataset: Path) -> IncidentRow:
    return next(row for row in read(Dataset.open(dataset), IncidentRow) if row.kind == "broker_down")


def test_the_fault_of_an_incident_is_told_apart_from_who_suffered(leader_move: Path) -> None:
    row = incident(leader_move)
    start, end = fault_start(row, 0), fault_end(row, 0)
    assert (start.after_ns, start.by_ns) == (row.fault_start_after_ns, row.fault_start_ns)
    assert end is not None
    assert (end.after_ns, end.by_ns) == (row.fault_end_after_ns, row.fault_end_ns)
    open_end = replace(row, fault_end_ns=None)
    assert fault_end(open_end, 0) is None
    unknown = replace(row, fault_start_ns=None, end_ns=7)
    assert (fault_start(unknown, 0).by_ns, fault_end(unknown, 0)) == (row.start_ns, moment_of(None, 7, 0))


def test_the_grid_has_each_state_of_each_broker_to_each_host(leader_move: Path) -> None:
    rows = pq.read_table(leader_move / "stories" / "broker_states").to_pylist()
    begins = [row["from_ns"] for row in rows]
    grid = state_grid(Dataset.open(leader_move), min(begins), max(begins))
    stretches = [s for server in grid.servers for host in server.hosts for s in host.stretches]
    assert len(stretches) == len(rows)
    assert grid.n_failing == sum(row["state"] not in CALM for row in rows)
    assert all(words_of_state(state) for state in STATES)
