"""Reads the Parquet files that a bucket has written: messages of the first pass, and tables of the second."""

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
"""The beginning of the name of a file of `open_part`."""


def open_part(part: str) -> str:
    """The file of the messages that a scan's end has read, beside the bucket's other file: later captures may continue
    what was given up there, and then it is made anew."""
    return part.replace("part-", OPEN_PART, 1)


@dataclass(frozen=True, slots=True)
class Finished:
    """What the second pass wrote: rows per table, and the files that are at the dataset's place already, which earlier
    runs or other machines have put there; other files lie in the folder of the new dataset."""

    rows: dict[str, int]
    put_files: Files = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: "Iterable[Finished]") -> Self:
        """All of them as one."""
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
        """The files of a table that stay: those that are made of these parts alone (DatasetFile.made_of), and that
        share none with a file that does not stay."""
        files = self.files.get(table, ())
        changed, n_known = {key for file in files for key in file.made_of} - set(made_of), -1
        while len(changed) > n_known:
            n_known = len(changed)
            changed |= {key for file in files if not changed.isdisjoint(file.made_of) for key in file.made_of}
        return tuple(file for file in files if changed.isdisjoint(file.made_of))

    def batches(self, table: str, part: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows of the files of the bucket whose file of this run is `part`. Raises DamagedDatasetError,
        UsageError."""
        beginning = f"{table}/{part.rpartition('-')[0]}-"
        files = (file for file in self.files.get(table, ()) if without_day(file.path).startswith(beginning))
        yield from _of_earlier(self.storage, files, columns)


class FinishedFiles:
    """Reads what the bucket has written, in this run and, where captures are appended, in earlier ones.

    part: place of the bucket's file below a table's folder; earlier: files of earlier runs; of_cluster: the part of the
    bucket whose rows are read, where it is divided by cluster.
    """

    def __init__(
        self, dataset: Path, part: str, earlier: EarlierFiles | None = None, of_cluster: "ClusterPart | None" = None
    ) -> None:
        self._dataset, self._part, self._earlier, self._of_cluster = dataset, part, earlier, of_cluster

        self.kept: dict[str, tuple[DatasetFile, ...]] = {}
        """The files of earlier runs that stay, by table."""

    def __call__(self, name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The bucket's rows of a message (`JoinGroup/request`) or of a table that ingest writes before `connections`,
        batch by batch; none where there are no rows. Numbers of messages that are out of range are null."""
        if "/" not in name:
            part = self._part if self._of_cluster is None else self._of_cluster.part
            if self._earlier is not None:
                yield from _of_earlier(self._earlier.storage, self.kept.get(name, ()), columns)
            yield from self._batches_of(name, part, columns)
            return
        messages = self._messages(f"{MESSAGES}/{name}", list(dict.fromkeys([*columns, "conn_id"])))
        for batch in messages:
            mine = batch
            if self._of_cluster is not None:
                mine = batch.filter(pc.is_in(batch.column("conn_id"), self._of_cluster.conn_ids))
            yield checked_batch(mine.select(columns))

    def _messages(self, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if self._earlier is not None:
            yield from self._earlier.batches(table, self._part, columns)
        yield from self._batches_of(table, self._part, columns)

    def _batches_of(self, table: str, part: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows of the files of this run."""
        for each in (part, open_part(part)):
            for path in TablePlace(self._dataset / table, each).files():
                with pq.ParquetFile(path) as file:
                    yield from batches_of(file, columns)


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """The part of a bucket that is of one cluster. part: as of FinishedFiles, where the tables of the second pass are;
    the messages of all clusters are in the bucket's own files. conn_ids: of its connections."""

    part: str
    conn_ids: pa.ChunkedArray


def _of_earlier(storage: Storage, files: Iterable[DatasetFile], columns: list[str]) -> Iterator[pa.RecordBatch]:
    for file in files:
        with open_parquet(storage, file) as opened:
            yield from batches_of(opened, columns)
