"""A dataset, opened by URI: its tables and their files, read once from its manifest.

Nothing here looks into folders to find tables: a file that the manifest does not list is not part of the dataset. A
Dataset can be pickled, and Spark's workers get one; each process opens the storage with its own credentials (see
storage).

Stories are replaced as a whole: workers write files under new names, and one atomic write of the manifest lists them. A
run that fails before that leaves the former stories unchanged (new_dataset).
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from operator import and_
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import CLUSTER, Table
from kafkascope_analyzer.dataset.failed_parts import FailedPart
from kafkascope_analyzer.dataset.manifest import MESSAGES, STORIES, Manifest
from kafkascope_analyzer.dataset.parquet_files import (
    BATCH_ROWS,
    RESTORE,
    DatasetFile,
    arrow_dataset,
    batches_of,
    check_file,
    check_pages,
    footer_crc32,
    is_damage,
    open_parquet,
    write_parquet,
)
from kafkascope_analyzer.dataset.place_lock import exclusive
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.dataset.selection import Selection
from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_analyzer.dataset.stored_manifest import stored_manifest
from kafkascope_analyzer.dataset.story_files import new_run_id
from kafkascope_analyzer.dataset.tables import CLUSTERS, INGEST_TABLES
from kafkascope_analyzer.dataset.tables.events import constants_in, is_of_this_version
from kafkascope_parsers.errors import DamagedDatasetError, UsageError

_GLOB = re.compile(r"([\\*?\[\]{}])")
_READ_AHEAD = {"batch_readahead": 1, "fragment_readahead": 1}
"""Limits of Arrow's read-ahead. By default it holds 16 batches of 4 files in memory before they are used."""
_INGEST_TABLES = {table.name: table for table in INGEST_TABLES}


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A dataset with the manifest that it had when it was opened.

    Tables are named as in the manifest: `requests`, `messages/Metadata/response`, `stories/clients`. `str(dataset)` is
    the place as the user wrote it. unfinished_run: the run that is writing it; None for an opened dataset. only: the
    rows that are read (see `of_cluster` and `concerning`).
    """

    storage: Storage
    manifest: Manifest
    unfinished_run: str | None = None
    only: Selection = field(default_factory=Selection)
    _checked: set[str] = field(default_factory=set, repr=False)
    """The files that were already compared with their entries in the manifest."""

    @classmethod
    def open(cls, uri: str | Path) -> "Dataset":
        """Opens the dataset at a local path or URI. Raises UsageError: no dataset, made by another version, damaged
        manifest, unknown scheme, unreachable storage, no access.
        """
        storage = Storage.of(uri)
        return cls(storage, stored_manifest(storage))

    def __str__(self) -> str:
        return self.storage.given

    @property
    def uri(self) -> str:
        """The canonical URI, with a scheme."""
        return self.storage.uri

    @property
    def name(self) -> str:
        """The last part of the dataset's path: `leader_move.kscope`."""
        return self.uri.rstrip("/").rpartition("/")[2] if self.local_folder is None else self.local_folder.name

    @property
    def local_folder(self) -> Path | None:
        """The absolute path of the dataset on this machine; None where it is stored elsewhere."""
        return Path(self.storage.path) if self.storage.is_local else None

    @property
    def filesystem(self) -> Any:
        """The pyarrow file system that holds the dataset. Raises UsageError."""
        return self.storage.filesystem

    @property
    def path(self) -> str:
        """The dataset's folder inside `filesystem`. Raises UsageError."""
        return self.storage.root

    def uri_of(self, name: str) -> str:
        """Returns a table's place for messages, in the form in which the user named the dataset."""
        return self.storage.uri_of(name)

    def spark_uri(self, relative: str = "") -> str:
        """Returns the URI by which Spark opens the dataset, or a file of it (with the scheme s3a for s3)."""
        return self.storage.spark_uri(relative)

    def spark_uris(self, name: str, folder: str | None = None) -> tuple[str, ...]:
        """Returns the URIs of a table's files for Spark's readers, with glob characters escaped; empty where the
        dataset lacks the table or it has no files. folder: only files in a folder of that name. Raises
        DamagedDatasetError, UsageError.
        """
        self.check(name)
        paths = (path for path in self.files(name) if folder is None or folder in path.split("/"))
        return tuple(_GLOB.sub(r"\\\1", self.spark_uri(path)) for path in paths)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables, in order."""
        return tuple(self.manifest.files)

    @property
    def messages(self) -> tuple[str, ...]:
        """The names of the message tables: `messages/Metadata/response`, in order."""
        return tuple(name for name in self.manifest.files if name.startswith(f"{MESSAGES}/"))

    def has(self, name: str) -> bool:
        """Whether the dataset has the table, which may be without rows."""
        return name in self.manifest.files

    def files(self, name: str) -> tuple[str, ...]:
        """Returns the files of a table, relative to the dataset, in order; none where the dataset lacks the table."""
        return tuple(file.path for file in self.manifest.files.get(name, ()))

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of the dataset's clusters, in order. Raises UsageError."""
        batches = self.batches(CLUSTERS.name, [CLUSTER.name])
        return tuple(sorted({name for batch in batches for name in batch.column(0).to_pylist()}))

    @property
    def cluster(self) -> str | None:
        """The only cluster whose rows are read; None where all are read."""
        return self.only.cluster

    @property
    def restriction(self) -> Restriction | None:
        """The restriction to clients, nodes, groups, topics and a time; None where all rows are read."""
        return self.only.restriction

    @property
    def whole(self) -> "Dataset":
        """The dataset with all of its rows."""
        return replace(self, only=Selection())

    @property
    def unrestricted(self) -> "Dataset":
        """The dataset with all rows of its cluster."""
        return self if self.restriction is None else replace(self, only=self.only.unrestricted)

    def of_cluster(self, cluster: str) -> "Dataset":
        """Returns the dataset with only the rows of that cluster. Rows that belong to no cluster, such as captures and
        DNS look-ups, stay. Tables without a cluster column are filtered by connection: the ids of the cluster's
        connections are held in memory."""
        return replace(self, only=Selection(cluster))

    def concerning(self, restriction: Restriction) -> "Dataset":
        """Returns the dataset with only the rows that concern the restriction (see `concerned`)."""
        return replace(self, only=self.only.concerning(restriction))

    @property
    def has_whole_connections(self) -> bool:
        """Whether all rows of each connection are read, so that counts by connection are complete."""
        return self.restriction is None or not self.restriction.divides_connections

    @property
    def has_whole_clients(self) -> bool:
        """Whether all rows of each client are read, so that counts by client are complete."""
        return self.restriction is None or not self.restriction.divides_clients

    def selection(self, name: str) -> Any:
        """Returns the pyarrow expression for the rows of a table that are read; None for all. Raises UsageError."""
        return self.only.condition(self, name)

    def rows(self, name: str) -> int:
        """Returns the number of rows of a table; 0 where the dataset lacks it."""
        if self.has(name) and self.selection(name) is not None:
            return sum(batch.num_rows for batch in self.batches(name, []))
        return self.listed_rows(name)

    def listed_rows(self, name: str) -> int:
        """Returns the number of rows of a table in all clusters; 0 where the dataset lacks it."""
        return sum(file.rows for file in self.manifest.files.get(name, ()))

    @property
    def n_rows(self) -> int:
        """The number of rows of all tables that ingest wrote."""
        return sum(self.rows(name) for name in self.tables if not name.startswith(f"{STORIES}/"))

    @property
    def capture_span(self) -> tuple[int, int] | None:
        """Times of the first and the last packet of all captures, in nanoseconds since the epoch; None without any."""
        return self.manifest.capture_span

    def arrow(self, table: str | Table, *, checked: bool = True) -> Any:
        """Returns the table as a pyarrow.dataset.Dataset, in the contract's schema (for messages, and for a story table
        given by name: the schema of the first file).

        checked: False where the caller calls `check` before it reads. Raises UsageError where the dataset lacks the
        table, or a file cannot be read.
        """
        name = _name_of(table)
        found = self._of_all_clusters(table)
        if checked:
            self.check(name)
        only = self.selection(name)
        return found if only is None else found.filter(only)

    def _of_all_clusters(self, table: str | Table) -> Any:
        """Returns the table like `arrow` without checks, with the rows of all clusters: pyarrow can only tell for such
        a dataset which files a filter opens."""
        import pyarrow.dataset as ds

        known = _INGEST_TABLES.get(table) if isinstance(table, str) else table
        name, schema = _name_of(table), None if known is None else known.schema
        if not self.has(name):
            raise UsageError(f"{self} has no table {name}")
        if not self.files(name):
            return ds.dataset((schema or pa.schema([])).empty_table())
        if schema is None:  # the schema of the first file, which is opened; a named pipe in its place would block
            self._check(self.manifest.files[name][:1])
        with self._reading(name):
            return arrow_dataset(self.storage, self.manifest.files[name], schema, constants_in)

    def batches(
        self,
        table: str | Table,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,  # noqa: A002 - as in pyarrow
    ) -> Iterator[pa.RecordBatch]:
        """Yields the batches of a table in file order, read on one thread. columns: names, or names with pyarrow
        expressions of their values; None for all. filter: a pyarrow expression that the rows match. Files whose times
        the filter excludes are not opened. A table that the dataset lacks has no batches; a column that a file lacks is
        null. Raises UsageError where a file cannot be read.
        """
        name = _name_of(table)
        if not self.has(name):
            return
        source = self._of_all_clusters(table)
        conditions = [condition for condition in (self.selection(name), filter) if condition is not None]
        chosen = reduce(and_, conditions) if conditions else None
        with self._reading(name):
            self._check(self._opened(name, source, chosen))
            wanted = columns if columns is None or isinstance(columns, Mapping) else list(columns)
            options = {"batch_size": BATCH_ROWS, "use_threads": False, **_READ_AHEAD}
            yield from source.to_batches(columns=wanted, filter=chosen, **options)

    def _opened(self, name: str, source: Any, chosen: Any) -> list[DatasetFile]:
        """Returns the files of a table that a filter opens, unless all files of the table are checked already. source:
        the result of _of_all_clusters."""
        files = self.manifest.files[name]
        if self._checked.issuperset(file.path for file in files):
            return []
        paths = {fragment.path for fragment in source.get_fragments(chosen)}
        return [file for file in files if self.storage.inside(file.path) in paths]

    def read(
        self,
        table: str | Table,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 - as in pyarrow
    ) -> pa.Table:
        """Returns a whole table, read like `batches`. Raises UsageError, also where the dataset lacks the table."""
        source = self._of_all_clusters(table)
        schema = source.schema if columns is None else pa.schema([source.schema.field(column) for column in columns])
        return pa.Table.from_batches(self.batches(table, columns, filter), schema)

    def row_groups(self, name: str, file: str, rows: range) -> Iterator[pa.RecordBatch]:
        """Yields the batches of those row groups of a table's file whose first row is in `rows`, so that consecutive
        ranges together cover each row of the file once. Columns are those of the file, and those that follow from its
        folder. Raises DamagedDatasetError if another version of kafkascope wrote events with other columns, and
        UsageError where the file cannot be read."""
        entry = next(entry for entry in self.manifest.files[name] if entry.path == file)
        with open_parquet(self.storage, entry) as opened:
            if not is_of_this_version(file, opened.schema_arrow):
                raise DamagedDatasetError(
                    f"{self.storage.uri_of(file)} has other columns than those that this version of kafkascope writes: "
                    "another one made the dataset; run kafkascope ingest again"
                )
            sizes = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
            firsts = accumulate(sizes[:-1], initial=0)
            chosen = [number for number, first in enumerate(firsts) if first in rows]
            for batch in batches_of(opened, row_groups=chosen):
                for column, value in constants_in(file).items():
                    batch = batch.append_column(column, pa.repeat(value, batch.num_rows))
                yield batch

    def write_beside(self, relative: str, content: bytes) -> None:
        """Writes a file beside the tables, such as report.json, whole or not at all. Raises UsageError, also where
        another run has replaced the dataset since it was opened."""
        with exclusive(self.storage, new_run_id()):
            if stored_manifest(self.storage).checksum != self.manifest.checksum:
                raise UsageError(f"{self} was changed by another run meanwhile: {relative} was not written")
            self.storage.write_bytes(relative, content)

    def write_file(self, relative: str, table: pa.Table) -> DatasetFile:
        """Writes a table as one Parquet file, whole or not at all, and returns its entry for `with_stories`.

        relative: see `story_file`. The file is not part of the dataset before it is committed. Raises UsageError.
        """
        sink = io.BytesIO()
        write_parquet(table, sink)
        data = sink.getvalue()
        self.storage.write_bytes(relative, data)
        return DatasetFile(relative, table.num_rows, len(data), footer_crc32(data))

    @property
    def stall_ms(self) -> int:
        """The shortest wait that is a stall in the stories, in milliseconds."""
        return DEFAULT_STALL_MS if self.manifest.stall_ms is None else self.manifest.stall_ms

    def with_stories(
        self,
        files: Mapping[str, Sequence[DatasetFile]],
        stall_ms: int = DEFAULT_STALL_MS,
        failed_parts: Sequence[FailedPart] = (),
        saved_reads: tuple[DatasetFile, ...] = (),
    ) -> "Dataset":
        """Returns the dataset with these files instead of all its stories; nothing is written. files: `stories/<table>`
        -> its files; a table without rows may have none. stall_ms: the shortest wait that is a stall in them;
        failed_parts: parts that are missing from them; saved_reads: see Manifest.
        """
        others = [name for name in files if not name.startswith(f"{STORIES}/")]
        if others:
            raise ValueError(f"not a story table: {others[0]}")
        kept = {name: listed for name, listed in self.manifest.files.items() if not name.startswith(f"{STORIES}/")}
        manifest = self.manifest.with_files(kept | {name: tuple(listed) for name, listed in files.items()})
        failed = tuple(failed_parts)
        return replace(
            self, manifest=replace(manifest, stall_ms=stall_ms, failed_parts=failed, saved_reads=saved_reads)
        )

    def check_files(self, name: str) -> None:
        """Reads all files of a table. Raises DamagedDatasetError, which names the first that is damaged or missing;
        UsageError where another run has replaced the dataset, and removed them."""
        with self._unless_replaced():
            for file in self.manifest.files.get(name, ()):
                check_pages(self.storage, file)

    def check(self, name: str) -> None:
        """Compares the files of a table with their entries in the manifest, each only once. Raises DamagedDatasetError,
        UsageError."""
        self._check(self.manifest.files.get(name, ()))

    def _check(self, files: Iterable[DatasetFile]) -> None:
        with self._unless_replaced():
            for file in files:
                if file.path not in self._checked:
                    check_file(self.storage, file)
                    self._checked.add(file.path)

    @contextmanager
    def _unless_replaced(self) -> Iterator[None]:
        """Raises UsageError where files are missing because another run has replaced the dataset: that is
        not damage."""
        try:
            yield
        except DamagedDatasetError as error:
            if self.unfinished_run is None and stored_manifest(self.storage).checksum != self.manifest.checksum:
                raise UsageError(f"{self} was replaced by another run while it was read: read it again") from error
            raise

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Turns exceptions of pyarrow and the storage into a UsageError, which names a file that is damaged
        or missing."""
        with self.storage.failures(name):
            try:
                yield
            except (OSError, pa.ArrowException) as error:
                if not is_damage(self.storage, error):
                    raise
                self.check_files(name)
                raise DamagedDatasetError(f"{self.uri_of(name)}: a file of this table is damaged; {RESTORE}") from error


def _name_of(table: str | Table) -> str:
    return table if isinstance(table, str) else table.stored_as
