"""Rows that wait on disk between the scan and the finish of a bucket: Arrow IPC files, one a table, written and
read batch by batch.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


class Spill:
    """The files of one bucket, by table name. A table's columns are those of its first rows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True)
        self._writers: dict[str, pa.ipc.RecordBatchFileWriter] = {}

    def write(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table."""
        if not table.num_rows:
            return
        if name not in self._writers:
            self._writers[name] = pa.ipc.new_file(str(self._directory / f"{name}.arrow"), table.schema)
        self._writers[name].write_table(table)

    def close(self) -> None:
        """Ends all files."""
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
        pa.ipc.open_file(source, options=options) as reader,
    ):  # mapped pages would count as resident
        for i in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(i)])


def _only(source: pa.OSFile, columns: list[str] | None) -> pa.ipc.IpcReadOptions:
    """Options that read those columns, in the file's order."""
    if columns is None:
        return pa.ipc.IpcReadOptions()
    with pa.ipc.open_file(source) as reader:
        return pa.ipc.IpcReadOptions(included_fields=[reader.schema.get_field_index(name) for name in columns])
