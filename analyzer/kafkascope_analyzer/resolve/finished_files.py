"""Reads the Parquet files that a bucket has written: messages of the first pass, and tables of the second."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.manifest import MESSAGES, Files
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.resolve.checked_messages import checked_batch

_BATCH_ROWS = 1 << 16
OPEN_PART = "part-open-"
"""The beginning of the name of a file of `open_part`."""


def open_part(part: str) -> str:
    """The file of the messages that a scan's end has read, beside the bucket's other file: later captures may continue
    what was given up there, and then it is made anew."""
    return part.replace("part-", OPEN_PART, 1)


@dataclass(frozen=True, slots=True)
class EarlierFiles:
    """Files that earlier runs have written into a dataset, by table."""

    storage: Storage
    files: Files

    def opened(self, table: str, part: str) -> Iterator[Any]:
        """The files of the bucket whose file of this run is `part`, opened one after the other."""
        beginning = f"{table}/{part.rpartition('-')[0]}-"
        for file in self.files.get(table, ()):
            if file.path.startswith(beginning):
                with self.storage.open_file(file.path) as source:
                    yield source


class FinishedFiles:
    """Reads what the bucket has written, in this run and, where captures are appended, in earlier ones.

    part: place of the bucket's file below a table's folder; earlier: files of earlier runs.
    """

    def __init__(self, dataset: Path, part: str, earlier: EarlierFiles | None = None) -> None:
        self._dataset, self._part, self._earlier = dataset, part, earlier

    def __call__(self, name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The bucket's rows of a message (`JoinGroup/request`) or of a table that ingest writes before `connections`,
        batch by batch; none where there are no rows. Numbers of messages that are out of range are null."""
        table = f"{MESSAGES}/{name}" if "/" in name else name
        for source in chain(self._earlier_files(table), self._own_files(table)):
            with pq.ParquetFile(source) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                    yield batch if table == name else checked_batch(batch)

    def _earlier_files(self, table: str) -> Iterator[Any]:
        if self._earlier is not None:
            yield from self._earlier.opened(table, self._part)

    def _own_files(self, table: str) -> list[Path]:
        parts = (self._part, open_part(self._part))
        return [path for part in parts if (path := self._dataset / table / part).exists()]
