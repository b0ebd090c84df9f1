"""`WriterSet`: writers of several tables, or of parts of a table, that are open at the same time."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Generic, Self, TypeVar

import pyarrow as pa

from kafkascope_analyzer.dataset.writer import TableWriter

K = TypeVar("K")


class WriterSet(Generic[K]):
    """A writer for each key, which is created with the first rows of the key. Together they collect at most
    pending_bytes; beyond that the largest is written. begin: creates the writer of a key for rows of that schema."""

    def __init__(self, begin: Callable[[K, pa.Schema], TableWriter], pending_bytes: int) -> None:
        self._begin, self._pending_bytes = begin, pending_bytes
        self._writers: dict[K, TableWriter] = {}

    def write(self, key: K, rows: pa.Table) -> None:
        """Takes rows of a key, like TableWriter.write."""
        if key not in self._writers:
            self._writers[key] = self._begin(key, rows.schema)
        self._writers[key].write(rows)
        if sum(writer.pending_bytes for writer in self._writers.values()) > self._pending_bytes:
            max(self._writers.values(), key=lambda writer: writer.pending_bytes).flush()

    @property
    def n_rows(self) -> Mapping[K, int]:
        """The number of rows that were given, by key."""
        return {key: writer.n_rows for key, writer in self._writers.items()}

    def close(self) -> None:
        """Ends all files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            writer.__exit__(kind, error, trace)
