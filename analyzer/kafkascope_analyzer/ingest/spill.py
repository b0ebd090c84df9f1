"""Rows that wait on disk between the scan and the finish of a bucket: Arrow IPC streams, one a table, written and
read batch by batch. Each batch may have dictionaries of its own.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

GATHERED_ROWS = 1 << 14
"""What `gather` holds of a table before it is written: reading many small batches costs more than their rows."""


class Spill:
    """The files of one bucket, by table name. A table's columns are those of its first rows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True)
        self._writers: dict[str, pa.ipc.RecordBatchStreamWriter] = {}
        self._gathered: dict[str, list[pa.Table]] = {}

    def gather(self, name: str, table: pa.Table) -> None:
        """Adds a few rows to a table, which are written when there are many, or at the end."""
        waiting = self._gathered.setdefault(name, [])
        if table.num_rows:
            waiting.append(table)
        if sum(each.num_rows for each in waiting) >= GATHERED_ROWS:
            self._write_gathered(name)

    def _write_gathered(self, name: str) -> None:
        waiting = self._gathered.pop(name)
        if waiting:
            self.write(name, pa.concat_tables(waiting).combine_chunks())

    def write(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table."""
        if not table.num_rows:
            return
        if name not in self._writers:
            self._writers[name] = pa.ipc.new_stream(str(self._directory / f"{name}.arrow"), table.schema)
        self._writers[name].write_table(table)

    def close(self) -> None:
        """Ends all files."""
        for name in list(self._gathered):
            self._write_gathered(name)
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


def read_spill(directory: Path, name: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """The rows of a spilled table, batch by batch, in the order written; none when nothing was spilled. columns: all
    where not given; others are not read.
    """
    path = directory / f"{name}.arrow"
    if not path.exists():
        return
    with pa.OSFile(str(path)) as source:
        options = _only(source, columns)
    with (
        pa.OSFile(str(path)) as source,
        pa.ipc.open_stream(source, options=options) as reader,
    ):  # mapped pages would count as resident
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _only(source: pa.OSFile, columns: list[str] | None) -> pa.ipc.IpcReadOptions:
    """Options that read those columns, in the file's order."""
    if columns is None:
        return pa.ipc.IpcReadOptions()
    with pa.ipc.open_stream(source) as reader:
        return pa.ipc.IpcReadOptions(included_fields=[reader.schema.get_field_index(name) for name in columns])


def spilled_tables(directory: Path) -> list[str]:
    """Names of the tables of a bucket."""
    return sorted(path.name.removesuffix(".arrow") for path in directory.glob("*.arrow"))
