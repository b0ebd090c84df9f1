"""Rows that are kept on disk between the two passes over a bucket: Arrow IPC streams, written and read batch by batch.
They are compressed to a tenth or less, because most columns of a row are null. Each batch may have dictionaries of its
own. A table has a file for each part: the rows that one run over captures has spilled. Rows that a scan spills when it
ends, and those that are spilled between the passes, are a part of their own, the last one, which is made again when
further captures are appended.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

END = 999_999
"""The number of the part that each run spills again: at the end of a scan, and between the passes."""
GATHERED_ROWS = 1 << 16
GATHERED_BYTES = 16 << 20
"""Most bytes of a table that `gather` holds before they are written: reading many small batches costs more than their
rows."""
_BUFFER_BYTES = 1 << 14
"""Bytes of a file that are written at a time. Arrow writes the columns of a batch one by one."""


class Spill:
    """The files of one bucket, by table name. A table's columns are those of its first rows. part: the part that is
    written; the first is given where the directory holds earlier ones."""

    def __init__(self, directory: Path, part: int = 0) -> None:
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.part = part
        self._writers: dict[str, pa.ipc.RecordBatchStreamWriter] = {}
        self._open = ExitStack()
        self._gathered: dict[str, list[pa.Table]] = {}
        self._gathered_rows: Counter[str] = Counter()
        self._gathered_bytes: Counter[str] = Counter()
        self.n_rows: Counter[str] = Counter()
        """Number of written rows by table."""

    def gather(self, name: str, table: pa.Table) -> None:
        """Adds a few rows to a table, which are written when there are many, or at the end."""
        if not table.num_rows:
            return
        self._gathered.setdefault(name, []).append(table)
        self._gathered_rows[name] += table.num_rows
        self._gathered_bytes[name] += table.get_total_buffer_size()
        if self._gathered_rows[name] >= GATHERED_ROWS or self._gathered_bytes[name] >= GATHERED_BYTES:
            self._write_gathered(name)

    def _write_gathered(self, name: str) -> None:
        del self._gathered_rows[name], self._gathered_bytes[name]
        self.write(name, pa.concat_tables(self._gathered.pop(name)).combine_chunks())

    def write(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table."""
        if not table.num_rows:
            return
        if name not in self._writers:
            raw = pa.OSFile(str(_file(self.directory, name, self.part)), "wb")
            file = self._open.enter_context(pa.BufferedOutputStream(raw, _BUFFER_BYTES))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writers[name] = self._open.enter_context(pa.ipc.new_stream(file, table.schema, options=options))
        self._writers[name].write_table(table)
        self.n_rows[name] += table.num_rows

    def close(self) -> None:
        """Ends all files."""
        for name in list(self._gathered):
            self._write_gathered(name)
        self._open.close()
        self._writers = {}

    def begin_end(self) -> None:
        """Ends all files; further rows belong to the part of the scan's end."""
        self.begin_part(END)

    def begin_part(self, part: int) -> None:
        """Ends all files; further rows belong to that part."""
        self.close()
        self.part = part


def _file(directory: Path, name: str, part: int) -> Path:
    return directory / f"{name}.{part:06}.arrow"


def read_spill(
    directory: Path, name: str, columns: list[str] | None = None, part: int | None = None
) -> Iterator[pa.Table]:
    """Yields the rows of a spilled table, in the order written; none when nothing was spilled. columns: the columns to
    read, all by default. part: only this part, all by default. Small consecutive batches are joined.
    """
    return joined_batches(spilled_batches(directory, name, columns, part))


def spilled_batches(
    directory: Path, name: str, columns: list[str] | None = None, part: int | None = None
) -> Iterator[pa.Table]:
    """Yields the rows like `read_spill`, but in the batches in which they were written."""
    for path in _files(directory, name) if part is None else _file_if_there(directory, name, part):
        with (
            pa.OSFile(str(path)) as source,  # mapped pages would count as resident memory
            pa.ipc.open_stream(source, options=_options(source, columns)) as reader,
        ):
            for batch in reader:
                yield pa.Table.from_batches([batch])


def joined_batches(batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yields the rows of consecutive batches in larger ones, of at most GATHERED_ROWS rows unless a batch has more by
    itself: when captures are appended hour by hour, each has its own batches, and many small batches cost more than
    their rows."""
    waiting, n_rows = list[pa.Table](), 0
    for batch in batches:
        if waiting and n_rows + batch.num_rows > GATHERED_ROWS:
            yield _one_table(waiting)
            waiting, n_rows = [], 0
        waiting.append(batch)
        n_rows += batch.num_rows
    if waiting:
        yield _one_table(waiting)


def _one_table(batches: list[pa.Table]) -> pa.Table:
    """Returns the rows of some batches as one table."""
    return batches[0] if len(batches) == 1 else pa.concat_tables(batches).combine_chunks()


def _files(directory: Path, name: str) -> list[Path]:
    """Returns the files of a table, in the order written. (There are some thousand files in all, and this is called
    more than once for each table.)"""
    begin, end = len(name) + 1, len(_file(directory, name, END).name)
    files = os.listdir(directory) if directory.exists() else ()
    named = (each for each in files if len(each) == end and each.startswith(name))
    return [directory / each for each in sorted(named) if each[begin:].removesuffix(".arrow").isdecimal()]


def _file_if_there(directory: Path, name: str, part: int) -> list[Path]:
    path = _file(directory, name, part)
    return [path] if path.exists() else []


def _options(source: pa.OSFile, columns: list[str] | None) -> pa.ipc.IpcReadOptions:
    """Returns options that read those columns, in the file's order. Arrow's threads would take more time than the
    columns of a batch take."""
    if columns is None:
        return pa.ipc.IpcReadOptions(use_threads=False)
    with pa.ipc.open_stream(source) as reader:
        fields = [reader.schema.get_field_index(name) for name in columns]
    source.seek(0)
    return pa.ipc.IpcReadOptions(use_threads=False, included_fields=fields)


def spilled_columns(directory: Path, name: str, part: int) -> list[str]:
    """Returns the columns of a spilled table in one part; none where it has no rows there."""
    for path in _file_if_there(directory, name, part):
        with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
            return list(reader.schema.names)
    return []


def is_spilled(directory: Path, name: str) -> bool:
    """Whether there are rows of a table."""
    return bool(_files(directory, name))


def spilled_parts(directory: Path, names: Collection[str]) -> list[int]:
    """Returns the parts of some spilled tables, in the order written."""
    return sorted({_part_of(path) for name in names for path in _files(directory, name)})


def spilled_tables(directory: Path) -> list[str]:
    """Returns the names of the tables of a bucket."""
    return sorted({path.name.rsplit(".", 2)[0] for path in directory.glob("*.arrow")})


def settled_files(directory: Path) -> list[Path]:
    """Returns the files of all parts but the one of the scan's end."""
    return sorted(path for path in directory.glob("*.arrow") if _part_of(path) != END)


def is_of_end(file: str) -> bool:
    """Whether a file, of this name or path, is of the part of the scan's end."""
    return _part_of(Path(file)) == END


def remove_spilled(directory: Path, names: Collection[str]) -> None:
    """Removes the files of some tables."""
    for path in [path for name in names for path in _files(directory, name)]:
        path.unlink()


def move_table(directory: Path, name: str, other: Path) -> None:
    """Moves the files of a table to another directory."""
    for path in _files(directory, name):
        path.rename(other / path.name)


def next_part(directory: Path) -> int:
    """Returns the number of the part after the existing ones."""
    return max(map(_part_of, directory.glob("*.arrow")), default=-1) + 1


def _part_of(path: Path) -> int:
    return int(path.name.rsplit(".", 2)[1])
