"""Opens the Parquet files of a dataset, and checks that they are unchanged.

The manifest has each file's size and a checksum of its footer (the schema, and where each column is), which are
compared before a file is read for the first time: that detects a file that is cut, missing, swapped, a folder or a
pipe. Each page of a column has a checksum of its own in the file, which every reader compares.
"""

import errno
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from operator import and_
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import DamagedDatasetError

RESTORE = "restore it from a copy, or make the dataset again with kafkascope analyze --overwrite"
BATCH_ROWS = 65_536
MADE_OF, TIMES = b"kafkascope.made_of", b"kafkascope.times"
"""Keys in a file's footer for DatasetFile.made_of and times, as JSON."""
_MAGIC = b"PAR1"
_TAIL_BYTES = 64 << 10
"""Bytes that are read from the end of a file at once: most footers are shorter."""
_OF_THE_PROCESS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
"""Errors of the process, which do not depend on the file."""
_MARKERS = ("parquet", "crc", "thrift", "zstd", "corrupt", "unexpected end", "page", "dictionary", "decompress")
"""Parts of pyarrow's messages about the content of a file. Such errors have no error number, like those about failing
stores."""


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A Parquet file of a table. path: relative to the dataset; footer_crc32: checksum of the footer and the eight
    bytes after it, None where it is not known; made_of: the inputs of its rows, where a later run may keep the file;
    times: the first and the last ts_ns, None where a row has none."""

    path: str
    rows: int
    bytes: int
    footer_crc32: int | None = None
    made_of: tuple[str, ...] = ()
    times: tuple[int, int] | None = None

    def plain(self) -> dict[str, object]:
        """Returns the entry of the manifest. (A dataset that grows each hour has thousands of files, and
        dataclasses.asdict would copy each value.)"""
        return {name: getattr(self, name) for name in self.__match_args__}


def footer_crc32(end: bytes) -> int | None:
    """Returns the checksum of the footer at the end of a file; None where these bytes do not end with a
    whole footer."""
    n_bytes = footer_bytes(end)
    return None if n_bytes is None or n_bytes > len(end) else zlib.crc32(end[len(end) - n_bytes :])


def footer_bytes(end: bytes) -> int | None:
    """Returns the size of the footer, with its length field and the magic number; None where the file is
    not Parquet."""
    if len(end) < 8 or end[-4:] != _MAGIC:
        return None
    return int.from_bytes(end[-8:-4], "little") + 8


def written_file(local: Path, relative: str) -> DatasetFile:
    """Returns the entry of a local file that was just written. Raises OSError, pyarrow's exceptions."""
    import pyarrow.parquet as pq

    footer, n_bytes = pq.read_metadata(local), local.stat().st_size
    made_of, times = (tuple(json.loads((footer.metadata or {}).get(key, b"[]"))) for key in (MADE_OF, TIMES))
    with local.open("rb") as file:
        return DatasetFile(relative, footer.num_rows, n_bytes, _footer_of(file, n_bytes), made_of, times or None)


def _footer_of(file: Any, n_bytes: int) -> int | None:
    """Returns the checksum of the footer of an open file of that length; None where it is not Parquet."""
    file.seek(max(0, n_bytes - _TAIL_BYTES))
    end = file.read(_TAIL_BYTES)
    length = footer_bytes(end)
    if length is not None and len(end) < length <= n_bytes:
        file.seek(n_bytes - length)
        end = file.read(length)
    return footer_crc32(end)


def check_file(storage: Storage, file: DatasetFile) -> None:
    """Compares a file with its entry: kind, size and footer. Raises DamagedDatasetError, which names the file;
    UsageError where the store cannot be read."""
    name = storage.uri_of(file.path)
    try:
        n_bytes, found = _local_size_and_footer(storage, file) if storage.is_local else _size_and_footer(storage, file)
    except FileNotFoundError as error:
        raise DamagedDatasetError(f"{name}: the file is gone; {RESTORE}") from error
    if n_bytes != file.bytes:
        why = f"it has {n_bytes:,} bytes, not {file.bytes:,}"
        raise DamagedDatasetError(f"{name}: the Parquet file is damaged: {why}; {RESTORE}")
    if file.footer_crc32 is not None and found != file.footer_crc32:
        raise DamagedDatasetError(f"{name}: the Parquet file is damaged; {RESTORE}")


def _local_size_and_footer(storage: Storage, file: DatasetFile) -> tuple[int, int | None]:
    name = storage.uri_of(file.path)
    try:
        opened = os.open(Path(storage.path) / file.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(opened, "rb", buffering=0) as source:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                raise DamagedDatasetError(f"{name}: is not a file; {RESTORE}")
            return about.st_size, _footer_of(source, about.st_size)
    except FileNotFoundError:
        raise
    except IsADirectoryError as error:
        raise DamagedDatasetError(f"{name}: is not a file; {RESTORE}") from error
    except OSError as error:
        if error.errno in _OF_THE_PROCESS:
            raise
        raise unreadable(storage, file.path, error) from error


def _size_and_footer(storage: Storage, file: DatasetFile) -> tuple[int, int | None]:
    with (
        storage.failures(file.path, missing=True),
        storage.filesystem.open_input_file(storage.inside(file.path)) as source,
    ):
        n_bytes = source.size()
        return n_bytes, _footer_of(source, n_bytes)


@contextmanager
def open_parquet(storage: Storage, file: DatasetFile) -> Iterator[Any]:
    """Opens a file of a dataset as pyarrow's ParquetFile, which compares the checksums of the pages. A failure because
    of the file in the block becomes a DamagedDatasetError that names it; UsageError where the store cannot be read."""
    import pyarrow.parquet as pq

    check_file(storage, file)
    with (
        naming_damage(storage, file.path),
        storage.open_file(file.path) as source,
        pq.ParquetFile(source, page_checksum_verification=True) as opened,
    ):
        yield opened


@contextmanager
def naming_damage(storage: Storage, path: str) -> Iterator[None]:
    """Turns exceptions of pyarrow in the block into an error that names the file. Raises DamagedDatasetError where the
    content of the file is wrong, or a disk cannot be read; UsageError where a store failed."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if is_damage(storage, error):
            raise unreadable(storage, path, error) from error
        with storage.failures(path):
            raise


def unreadable(storage: Storage, path: str, error: Exception) -> DamagedDatasetError:
    """Returns the error for a file that cannot be read; error: the cause."""
    name = storage.uri_of(path)
    if isinstance(error, FileNotFoundError):
        return DamagedDatasetError(f"{name}: the file is gone; {RESTORE}")
    if isinstance(error, OSError) and error.errno:
        return DamagedDatasetError(f"{name}: cannot be read: {error.strerror or os.strerror(error.errno)}; {RESTORE}")
    return DamagedDatasetError(f"{name}: the Parquet file is damaged; {RESTORE}")


def is_damage(storage: Storage, error: Exception) -> bool:
    """Whether pyarrow failed because of the content of a file, or a local disk, rather than a store."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _OF_THE_PROCESS):
        return False
    if isinstance(error, FileNotFoundError | pa.ArrowInvalid) or not isinstance(error, OSError):
        return True
    if storage.is_local:
        return True
    text = str(error).lower()
    return "aws error" not in text and any(marker in text for marker in _MARKERS)


@cache
def _parquet_format() -> Any:
    """Returns pyarrow.dataset's format of our files, whose readers compare the checksums of the pages."""
    import pyarrow.dataset as ds

    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)


Constants = Callable[[str], Mapping[str, pa.Scalar]]
"""Function of a file's path that returns the values of the columns that the file does not have, because they are the
same in all of its rows."""


def arrow_dataset(
    storage: Storage, files: Sequence[DatasetFile], schema: pa.Schema | None, constants: Constants
) -> Any:
    """Returns one or more files as a pyarrow dataset. A file is not opened where a filter on `ts`, `ts_ns` or a
    constant column excludes all of its rows. schema: None for the schema of the first file. Raises OSError, pyarrow's
    exceptions.
    """
    import pyarrow.dataset as ds

    paths = [storage.inside(file.path) for file in files]
    form, system = _parquet_format(), storage.filesystem
    schema = schema or form.inspect(paths[0], system)
    known = [_known_of(schema, file, constants(file.path)) for file in files]
    fragments = [form.make_fragment(path, system, each) for path, each in zip(paths, known, strict=True)]
    return ds.FileSystemDataset(fragments, schema, form, system)


def _known_of(schema: pa.Schema, file: DatasetFile, constants: Mapping[str, pa.Scalar]) -> Any:
    """Returns a condition that all rows of a file meet, as a pyarrow expression; None where nothing is known."""
    import pyarrow.dataset as ds

    known = [ds.field(name) == value for name, value in constants.items()]
    for name, (first, last) in _times_of(schema, file).items():
        known += [ds.field(name) >= first, ds.field(name) <= last]
    return reduce(and_, known) if known else None


def _times_of(schema: pa.Schema, file: DatasetFile) -> Mapping[str, tuple[Any, Any]]:
    """Returns the first and the last time of the rows of a file, by column."""
    if file.times is None:
        return {}
    first, last = file.times
    if "ts" not in schema.names:
        return {"ts_ns": (first, last)}
    first_us, last_us = (pa.scalar(time // 1000, pa.int64()).cast(schema.field("ts").type) for time in file.times)
    return {"ts_ns": (first, last), "ts": (first_us, last_us)}


def batches_of(
    opened: Any, columns: Sequence[str] | None = None, row_groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the batches of these columns and row groups of a file (all: None) from open_parquet. Raises ArrowInvalid
    also where there are fewer rows than the footer says: pyarrow ends a column early whose pages it does not recognise.
    """
    chosen = range(opened.num_row_groups) if row_groups is None else row_groups
    missing = sum(opened.metadata.row_group(number).num_rows for number in chosen)
    for batch in opened.iter_batches(BATCH_ROWS, row_groups=list(chosen), columns=columns, use_threads=False):
        missing -= batch.num_rows
        yield batch
    if missing:
        raise pa.ArrowInvalid(f"{missing} rows are missing")


def check_pages(storage: Storage, file: DatasetFile) -> None:
    """Reads a whole file. Raises DamagedDatasetError, UsageError."""
    with open_parquet(storage, file) as opened:
        for _ in batches_of(opened):
            pass


WRITE_OPTIONS = {"compression": "zstd", "store_schema": False, "write_page_checksum": True}
"""Options of every writer of a table (pyarrow.parquet.ParquetWriter)."""


def write_parquet(table: pa.Table, where: Any) -> None:
    """Writes a table as one file, with the metadata of its schema. where: a path, or a file object."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(where, table.schema, **WRITE_OPTIONS) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata or {})
