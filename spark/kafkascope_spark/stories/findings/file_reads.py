"""`FileReads`: saves the results of reads per file of a table for the next run. With `--append`, ingest keeps the files
of earlier captures, and the result of a read in such a file does not change, so a run reads only new files.

The result for a file is the groups that a read makes of its rows, before their condition: a few values for each
connection or topic-partition; or some columns of the rows that it selects, if these are few. Each run saves its results
in a Parquet file in the dataset, whose rows name the file, the cluster whose rows were read, and the read by its SQL.
Results of another release are not used.
"""

from contextlib import suppress
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import SAVED_READS_FOLDER, DatasetFile
from kafkascope_analyzer.dataset.parquet_files import open_parquet
from kafkascope_analyzer.dataset.story_files import story_file
from kafkascope_parsers.errors import DamagedDatasetError
from kafkascope_spark.stories.findings.read import Columns, Groups

_RELEASE = b"kafkascope.release"
"""Key of the release that wrote a saved file, in the file's footer."""
_HAS_ROWS = "has_rows"
_WRONG = (KeyError, pa.ArrowException)
"""Errors that are raised if a saved file has unexpected columns, as the dataset may come from a stranger."""
_ROWS_OF_GROUP = 32
"""Least number of rows of a file per saved group or row: with fewer, loading these would take as long as reading the
rows of the file."""
MOST_SAVED = 1 << 22
"""Largest number of saved rows, about 200 MB in memory: results of further files are not saved."""


class Place(NamedTuple):
    """The rows that a read was applied to. in_file: path of the file; of_cluster: cluster of the rows, empty for all
    clusters."""

    in_file: str
    of_cluster: str


Result = Groups | Columns
"""Groups or columns of the rows that a read selects, as they are saved for later appends."""
_Rows = dict[tuple[str, ...], pa.Table]
"""Results by place and read."""


class FileReads:
    """Results of reads in files: those of earlier runs, and those that this run adds. is_of_other_release: whether
    there are results of another release, which are not used."""

    def __init__(self) -> None:
        self._known: _Rows = {}
        self._new: _Rows = {}
        self._saved: dict[DatasetFile, frozenset[str]] = {}
        """Files with saved results of earlier runs -> the table files that the results are about."""
        self.is_of_other_release = False

    @classmethod
    def of(cls, dataset: Dataset) -> "FileReads":
        """Loads the results of earlier runs in a dataset. Damaged files are ignored. Raises UsageError where the store
        cannot be read."""
        found = cls()
        for entry in dataset.manifest.saved_reads:
            with suppress(DamagedDatasetError, *_WRONG), open_parquet(dataset.storage, entry) as opened:
                release = (opened.schema_arrow.metadata or {}).get(_RELEASE)
                if release == version("kafkascope").encode():
                    rows = _by_place(opened.read())
                    found._known |= rows
                    found._saved[entry] = frozenset(key[0] for key in rows)
                else:
                    found.is_of_other_release = True
        return found

    def found(self, place: Place, read: Result) -> pa.Table | None:
        """Returns the saved result of a read in a file; None if there is none."""
        key = (*place, str(read))
        rows = self._known.get(key, self._new.get(key))
        if rows is None:
            return None
        schema = read.schema
        with suppress(*_WRONG):
            there = rows.filter(rows[_HAS_ROWS])
            return pa.table([there[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
        return None

    def note(self, place: Place, read: Result, found: pa.Table, n_rows: int) -> None:
        """Adds the result of a read in a file, unless it is large compared with n_rows, the number of rows of the file,
        or has lists, whose types differ from table to table."""
        if found.num_rows > max(n_rows // _ROWS_OF_GROUP, 1) or any(
            pa.types.is_nested(each) for each in found.schema.types
        ):
            return
        rows = found if found.num_rows else pa.table([pa.nulls(1, field.type) for field in found.schema], found.schema)
        has_rows = pa.repeat(found.num_rows > 0, rows.num_rows)
        self._new[(*place, str(read))] = rows.append_column(_HAS_ROWS, has_rows)

    def save(self, dataset: Dataset, run_id: str) -> tuple[DatasetFile, ...]:
        """Writes the results of this run into the dataset. Returns the entries for the manifest, including those of
        earlier runs whose table files still exist. Raises UsageError."""
        there = {file.path for listed in dataset.manifest.files.values() for file in listed}
        saved = tuple(entry for entry, files in self._saved.items() if not there.isdisjoint(files))
        parts = [_named(key, self._new[key]) for key in sorted(self._new) if key[0] in there]
        if not parts or sum(each.num_rows for each in (*parts, *self._known.values())) > MOST_SAVED:
            return saved
        rows = _coded(pa.concat_tables(parts, promote_options="permissive"))
        rows = rows.replace_schema_metadata({_RELEASE: version("kafkascope").encode()})
        return (*saved, dataset.write_file(story_file(SAVED_READS_FOLDER, run_id, 0), rows))


_KEY = (*Place._fields, "of_read")
"""Columns that identify the result to which a row belongs."""


def _named(key: tuple[str, ...], rows: pa.Table) -> pa.Table:
    for name, value in zip(_KEY, key, strict=True):
        rows = rows.append_column(name, _coded_array(pa.array([value]), rows.num_rows))
    return rows


def _coded_array(value: pa.Array, n: int) -> pa.DictionaryArray:
    """Returns the value n times, dictionary-encoded."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), n), value)


def _coded(rows: pa.Table) -> pa.Table:
    """Returns the rows with dictionary-encoded texts, because the same connections and topics are in many files and
    results."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_string(field.type):
            rows = rows.set_column(number, field.name, rows[field.name].dictionary_encode())
    return rows.unify_dictionaries()


def _by_place(rows: pa.Table) -> _Rows:
    """Returns the rows by place and read; rows of one result are consecutive."""
    if not rows.num_rows:
        return {}
    columns = [rows[name].dictionary_encode().unify_dictionaries().combine_chunks() for name in _KEY]
    keys = pa.table(columns, list(_KEY))
    changes = np.any([np.diff(keys[name].chunk(0).indices.to_numpy()) != 0 for name in _KEY], axis=0)
    starts = [0, *(np.flatnonzero(changes) + 1).tolist()]
    ends = [*starts[1:], rows.num_rows]
    return {
        tuple(key.values()): rows.slice(start, end - start).drop_columns(list(_KEY))
        for key, start, end in zip(keys.take(pa.array(starts)).to_pylist(), starts, ends, strict=True)
    }
