"""Which counts of flow stay where captures are appended."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.flow.checkpoint import FlowBasis, load_flow, save_flow
from kafkascope_analyzer.resolve.flow.counts import PRODUCE_SLICES, fetch_slice_table
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.named_in_parts import NAMED
from kafkascope_analyzer.scan.spill import Spill, spilled_tables

CONNECTIONS = np.array([[0, 1, 500, 1], [1, 0, 0, 0], [0, 1, 700, 0]])
"""Reader, whether it sent batches, the clock, and whether that is of use."""


@pytest.fixture
def basis(tmp_path: Path) -> FlowBasis:
    """The basis of a bucket whose first part names the topic `id-1`, and the second `id-2`."""
    for part, topic_id in enumerate(("id-1", "id-2")):
        spill = Spill(tmp_path / "0", part)
        spill.gather(NAMED, pa.table({"conn": [0], "topic_id": [topic_id], "table": [BATCHES]}))
        for name in (PRODUCE_SLICES, fetch_slice_table(0), fetch_slice_table(11)):
            spill.gather(name, pa.table({"conn": [0]}))
        spill.close()
    basis = FlowBasis(1_000_000_000, {tmp_path / "0": CONNECTIONS}, {"id-1": "orders"})
    save_flow(tmp_path / "flow.state", basis, 0, {"counts": 7})
    return basis


def with_connection(basis: FlowBasis, conn: int, column: int, value: int) -> FlowBasis:
    ((spill, rows),) = basis.connections.items()
    rows = np.concatenate([rows, [[9, 1, 1, 1]]])
    rows[conn, column] = value
    return replace(basis, connections={spill: rows})


def test_counts_stay_where_connections_and_names_are_added(basis: FlowBasis, tmp_path: Path) -> None:
    more = replace(with_connection(basis, 0, 0, 0), topics=basis.topics | {"id-2": "sales"})
    state = load_flow(tmp_path / "flow.state", more)
    assert state is not None
    assert (state["counts"], state["part"]) == (7, 0)
    assert [each.tolist() for each in more.changed_clocks(state["basis"])] == [[False] * 4]


@pytest.mark.parametrize(("column", "value"), [(2, 400), (3, 0)])
def test_what_a_producer_sent_is_counted_anew_when_its_clock_is_known_better(
    basis: FlowBasis, tmp_path: Path, column: int, value: int
) -> None:
    better = with_connection(basis, 0, column, value)
    state = load_flow(tmp_path / "flow.state", better)
    assert state is not None
    assert [each.tolist() for each in better.changed_clocks(state["basis"])] == [[True, False, False, False]]


def test_a_connection_without_batches_had_no_clock(basis: FlowBasis, tmp_path: Path) -> None:
    better = with_connection(basis, 1, 2, 400)
    state = load_flow(tmp_path / "flow.state", better)
    assert state is not None
    assert not better.changed_clocks(state["basis"])[0].any()


def test_counts_of_another_basis_are_removed(basis: FlowBasis, tmp_path: Path) -> None:
    ((spill, rows),) = basis.connections.items()
    others = [
        replace(basis, slice_ns=2_000_000_000),
        replace(basis, connections={spill.with_name("1"): rows}),
        with_connection(basis, 1, 0, 0),
        replace(basis, topics={"id-1": "sales"}),
        replace(basis, topics={}),
    ]
    kept = (tmp_path / "flow.state").read_bytes()
    for other in others:
        (tmp_path / "flow.state").write_bytes(kept)
        assert load_flow(tmp_path / "flow.state", other) is None
        assert not (tmp_path / "flow.state").exists()
    assert spilled_tables(spill) == [NAMED]
