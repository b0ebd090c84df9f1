"""The files that a bucket has written, in this run and in earlier ones, and the messages in them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.manifest import MESSAGES, DatasetFile, Files, joined_files
from kafkascope_analyzer.dataset.parquet_files import batches_of, open_parquet
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.table_place import TablePlace, without_day
from kafkascope_analyzer.resolve.tables.checked_messages import checked_batch

OPEN_PART = "part-open-"
"""The prefix of the names of files that `open_part` returns."""


def open_part(part: str) -> str:
    """Returns the name of the file of the messages that the end of the scan has read, beside the bucket's other file:
    later captures may continue incomplete messages, and then the file is written again."""
    return part.replace("part-", OPEN_PART, 1)


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of the second pass: rows per table, and the files that are in the dataset already, written by earlier
    runs or by other machines; all other files are in the folder of the new dataset."""

    rows: dict[str, int]
    put_files: Files = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: "Iterable[Finished]") -> Self:
        """Returns the sum of several results."""
        rows, files = Counter[str](), list[Files]()
        for part in parts:
            rows.update(part.rows)
            files.append(part.put_files)
        return cls(dict(rows), joined_files(files))


@dataclass(frozen=True, slots=True)
class EarlierFiles:
    """Files that earlier runs have written into a dataset, by table, and that may stay in it."""

    storage: Storage
    files: Files

    @property
    def messages(self) -> Files:
        """The files of messages."""
        return {table: listed for table, listed in self.files.items() if table.startswith(f"{MESSAGES}/")}

    def kept(self, table: str, made_of: Collection[str]) -> tuple[DatasetFile, ...]:
        """Returns the files of a table that stay: those that are made only of these parts (DatasetFile.made_of), and
        that share none with a file that does not stay."""
        files = self.files.get(table, ())
        changed, n_known = {key for file in files for key in file.made_of} - set(made_of), -1
        while len(changed) > n_known:
            n_known = len(changed)
            changed |= {key for file in files if not changed.isdisjoint(file.made_of) for key in file.made_of}
        return tuple(file for file in files if changed.isdisjoint(file.made_of))

    def batches(self, table: str, part: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of earlier files of the bucket whose file of this run is `part`. Raises DamagedDatasetError,
        UsageError."""
        beginning = f"{table}/{part.rpartition('-')[0]}-"
        for file in self.files.get(table, ()):
            if without_day(file.path).startswith(beginning):
                with open_parquet(self.storage, file) as opened:
                    yield from batches_of(opened, columns)


class FinishedMessages:
    """Reads the messages that the bucket has written, in this run and, where captures are appended, in earlier ones.

    part: path of the bucket's file below a table's folder; earlier: files of earlier runs; conn_ids: ids of the
    connections whose messages are read, where the bucket is divided.
    """

    def __init__(
        self, dataset: Path, part: str, earlier: EarlierFiles | None = None, conn_ids: pa.ChunkedArray | None = None
    ) -> None:
        self._dataset, self._part, self._earlier, self._conn_ids = dataset, part, earlier, conn_ids

    def __call__(self, name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yields the bucket's rows of a message (`JoinGroup/request`), batch by batch; none where there are no rows.
        Numbers that are out of range are null."""
        for batch in self._batches(f"{MESSAGES}/{name}", list(dict.fromkeys([*columns, "conn_id"]))):
            mine = batch
            if self._conn_ids is not None:
                mine = batch.filter(pc.is_in(batch.column("conn_id"), self._conn_ids))
            yield checked_batch(mine.select(columns))

    def _batches(self, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if self._earlier is not None:
            yield from self._earlier.batches(table, self._part, columns)
        for part in (self._part, open_part(self._part)):
            for path in TablePlace(self._dataset / table, part).files():
                with pq.ParquetFile(path) as file:
                    yield from batches_of(file, columns)
