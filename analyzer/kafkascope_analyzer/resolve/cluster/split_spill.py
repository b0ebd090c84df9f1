"""Divides a bucket's spill: by cluster, so that everything that is learned and written belongs to one cluster, and into
groups of connections where a bucket has many, so that the second pass over it does not hold facts about all of them.

A capture of one cluster with few connections is not divided. Connections are renumbered in each part, in their order.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.scan.block_ends import BLOCK_ENDS, SERVED
from kafkascope_analyzer.scan.offsets_in_parts import OFFSETS
from kafkascope_analyzer.scan.record_batches import RECORD_SETS, read_record_sets, spill_record_sets
from kafkascope_analyzer.scan.spill import (
    Spill,
    move_table,
    read_spill,
    remove_spilled,
    spilled_batches,
    spilled_parts,
    spilled_tables,
)

Ints = NDArray[np.int64]
_NOT_DIVIDED = frozenset({DNS.name, BLOCK_ENDS, OFFSETS, *RECORD_SETS})
"""Tables without a connection, a table that is not needed where spills are divided, and tables that are divided
differently."""


def cluster_spill(directory: Path, number: int) -> Path:
    """Returns the directory of the spill of one cluster, below the bucket's own."""
    return directory.with_name(f"{directory.name}.cluster-{number}")


def group_spill(directory: Path, number: int) -> Path:
    """Returns the directory of the spill of one group of connections, beside the bucket's own."""
    return directory.with_name(f"{directory.name}.group-{number}")


def split_spill(directory: Path, of_connection: Ints) -> dict[int, Path]:
    """Writes the spill of each cluster that has connections of the bucket beside the bucket's own. of_connection: the
    number of the cluster of each connection. Returns the directories by the number of the cluster."""
    numbers = np.unique(of_connection).tolist()
    return _Split(directory, of_connection, {number: cluster_spill(directory, number) for number in numbers}).write()


def divide_spill(directory: Path, of_connection: Ints) -> None:
    """Writes the spill of each group of connections beside the bucket's own, and removes that. of_connection: the
    number of the group of each connection, from 0. DNS look-ups, which belong to no connection, go to the first."""
    numbers = range(int(of_connection.max()) + 1)
    spills = _Split(directory, of_connection, {number: group_spill(directory, number) for number in numbers}).write()
    move_table(directory, DNS.name, spills[0])
    remove_spilled(directory, spilled_tables(directory))


class _Split:
    """The spills of the clusters or groups, which have the same parts as the bucket's own spill."""

    def __init__(self, directory: Path, of_connection: Ints, places: Mapping[int, Path]) -> None:
        """places: the directory of each cluster or group, by its number."""
        self._directory, self._of_connection = directory, of_connection
        self._spills = {number: Spill(place) for number, place in places.items()}
        self._n_read = Counter[str]()
        self._new_number = np.zeros(len(of_connection), np.int64)
        for number in self._spills:
            mine = np.flatnonzero(of_connection == number)
            self._new_number[mine] = np.arange(len(mine))
        self._ends: dict[str, dict[int, dict[int, int]]] = {
            name: {0: dict.fromkeys(self._spills, 0)} for name in SERVED
        }
        """For each table of SERVED the number of rows of each part, by the number of rows of the undivided table at the
        ends of batches."""

    def write(self) -> dict[int, Path]:
        """Writes all tables."""
        first = 0
        for rows in read_spill(self._directory, "connections"):
            numbers = self._of_connection[first : first + rows.num_rows]
            first += rows.num_rows
            for number, spill in self._spills.items():
                spill.gather("connections", rows.filter(pa.array(numbers == number)))
        names = spilled_tables(self._directory)
        for part in spilled_parts(self._directory, names):
            for spill in self._spills.values():
                spill.begin_part(part)
            for name in names:
                if name != "connections" and name not in _NOT_DIVIDED:
                    self._divide(name, part)
                    self._close()  # of each table, all spills hold rows that are not written yet
            self._divide_record_sets(part)
            self._divide_block_ends(part)
        self._close()
        return {number: spill.directory for number, spill in self._spills.items()}

    def _close(self) -> None:
        for spill in self._spills.values():
            spill.close()

    def _divide(self, name: str, part: int) -> None:
        for rows in spilled_batches(self._directory, name, part=part):
            self._n_read[name] += rows.num_rows
            for number, chosen in self._chosen(rows):
                # rows that are read along with the ends of blocks are in no batch that crosses one
                write = self._spills[number].write if name in SERVED else self._spills[number].gather
                write(name, self._numbered_anew(rows.filter(pa.array(chosen))))
            if name in SERVED:
                self._ends[name][self._n_read[name]] = {
                    number: spill.n_rows[name] for number, spill in self._spills.items()
                }

    def _chosen(self, rows: pa.Table) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yields each cluster or group with the mask of its rows."""
        numbers = self._of_connection[rows["conn"].to_numpy()]
        for number in np.unique(numbers).tolist():
            yield number, numbers == number

    def _numbered_anew(self, rows: pa.Table) -> pa.Table:
        at = rows.column_names.index("conn")
        conn = pa.array(self._new_number[rows["conn"].to_numpy()])
        return rows.set_column(at, "conn", conn.cast(rows.schema.field("conn").type)).combine_chunks()

    def _divide_record_sets(self, part: int) -> None:
        for sets, batches in read_record_sets(self._directory, part):
            of_set = np.repeat(np.arange(sets.num_rows), sets["n_batches"].to_numpy())
            for number, chosen in self._chosen(sets):
                mine = self._numbered_anew(sets.filter(pa.array(chosen)))
                spill_record_sets(self._spills[number], mine, np.ascontiguousarray(batches[chosen[of_set]]))

    def _divide_block_ends(self, part: int) -> None:
        for ends in read_spill(self._directory, BLOCK_ENDS, part=part):
            for number, spill in self._spills.items():
                columns = {
                    name: pa.array([self._ends[name][end][number] for end in ends[name].to_pylist()], pa.int64())
                    for name in SERVED
                }
                spill.gather(BLOCK_ENDS, pa.table(columns))
