"""`SavedCounts`: the counts of the requests in files that a later run keeps, in a Parquet file beside the tables.

Each row has the file of requests that was counted, and the name of the count. The footer lists which files were
counted, as a file may have no row. Counts of another release are not used, nor those whose slots began at another time.
"""

import io
import json
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import COUNTS_FILE
from kafkascope_analyzer.dataset.parquet_files import write_parquet
from kafkascope_analyzer.report.model.request_counts.count import SLOT, Count
from kafkascope_analyzer.report.model.request_counts.slots import Slots
from kafkascope_parsers.errors import UsageError

_ABOUT = b"kafkascope.counts"
"""Key of the footer: the release, the begin and the length of the slots, and the files of each count, as JSON."""
_IN_FILE, _OF_COUNT = "in_file", "of_count"
_WRONG = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, pa.ArrowException)
"""Errors that are raised if the file is damaged or has unexpected contents, as the dataset may come from a stranger."""
MOST_BYTES = 256 << 20
"""Size in memory up to which counts are read and saved."""

Files = dict[str, str]
"""Path of a file of requests -> text that changes if the count of the file may change although its rows do not."""


@dataclass(frozen=True, slots=True)
class _OfFiles:
    """A count by file. files: the files that were counted; rows: the columns of the count, and the file."""

    files: Files
    rows: pa.Table


class SavedCounts:
    """Counts of files of requests: those of earlier runs, and those that this run adds."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._former: pa.Table | None = None
        self._former_files: dict[str, Files] = {}
        self._n_in_slot = 1
        """Number of slots of the former counts that are one slot now."""
        self._by_count: dict[str, _OfFiles] = {}
        """Counts that this run used or made, by name."""
        self._has_new = False

    @classmethod
    def of(cls, dataset: Dataset, slots: Slots) -> "SavedCounts":
        """Loads the counts that are saved in a dataset, if they can be used. slots: slots of the whole capture."""
        found = cls(slots)
        with suppress(UsageError, *_WRONG), pq.ParquetFile(pa.BufferReader(_content(dataset))) as opened:
            about = json.loads(opened.schema_arrow.metadata[_ABOUT])
            n_in_slot, rest = divmod(slots.length_ns, int(about["slot_ns"]))
            fits = about["release"] == version("kafkascope") and about["start_ns"] == slots.start_ns and not rest
            if fits and n_in_slot and _size(opened.metadata) <= MOST_BYTES:
                found._former_files = {str(name): dict(files) for name, files in about["files"].items()}
                found._former, found._n_in_slot = opened.read(), n_in_slot
        return found

    def found(self, count: Count, files: Files) -> tuple[pa.Table, frozenset[str]]:
        """Returns the saved rows of a count for those of the files that have any, and the paths of these files."""
        former = self._former_files.get(count.name, {})
        known = {path: state for path, state in files.items() if former.get(path) == state}
        rows = None
        with suppress(*_WRONG):
            rows = self._former_rows(count, list(known))
        if rows is None:
            known, rows = {}, _with_file(count.schema.empty_table(), "")
        self._by_count[count.name] = _OfFiles(known, rows)
        return rows.select(count.schema.names), frozenset(known)

    def _former_rows(self, count: Count, paths: list[str]) -> pa.Table | None:
        """Returns the former rows of a count in these files, with the slots of this run."""
        if self._former is None:
            return None
        is_wanted = pc.and_(
            pc.equal(self._former[_OF_COUNT], count.name),
            pc.is_in(self._former[_IN_FILE], pa.array(paths, pa.string())),
        )
        schema = count.schema.append(pa.field(_IN_FILE, pa.string()))
        rows = self._former.select([*schema.names, _OF_COUNT]).filter(is_wanted).select(schema.names).cast(schema)
        if SLOT not in count.keys or self._n_in_slot == 1:
            return rows
        rows = rows.set_column(schema.get_field_index(SLOT), SLOT, pc.divide(rows[SLOT], self._n_in_slot))
        numbers = [(name, function) for name, (function, _) in count.numbers.items()]
        added = rows.group_by([*count.keys, _IN_FILE], use_threads=False).aggregate(numbers)
        named = {f"{name}_{function}": name for name, function in numbers}
        return added.rename_columns([named.get(name, name) for name in added.column_names]).select(schema.names)

    def note(self, count: Count, path: str, state: str, rows: pa.Table) -> None:
        """Adds the count of a file."""
        known = self._by_count[count.name]
        both = pa.concat_tables([known.rows, _with_file(rows, path)])
        self._by_count[count.name] = _OfFiles({**known.files, path: state}, both)
        self._has_new = True

    def content(self) -> bytes | None:
        """Returns the content of the file with all counts of this run; None if there is nothing new, or too much."""
        parts = [
            each.rows.append_column(_OF_COUNT, pa.repeat(pa.scalar(name), each.rows.num_rows))
            for name, each in self._by_count.items()
        ]
        if not self._has_new or sum(part.nbytes for part in parts) > MOST_BYTES:
            return None
        about = {
            "release": version("kafkascope"),
            "start_ns": self._slots.start_ns,
            "slot_ns": self._slots.length_ns,
            "files": {name: each.files for name, each in self._by_count.items()},
        }
        rows = pa.concat_tables(parts, promote_options="permissive")
        sink = io.BytesIO()
        write_parquet(rows.replace_schema_metadata({_ABOUT: json.dumps(about)}), sink)
        return sink.getvalue()


def _content(dataset: Dataset) -> bytes:
    """Returns the content of the file; nothing where there is none."""
    try:
        return dataset.storage.read_bytes(COUNTS_FILE)
    except FileNotFoundError:
        return b""


def _size(footer: pq.FileMetaData) -> int:
    return sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))


def _with_file(rows: pa.Table, path: str) -> pa.Table:
    return rows.append_column(_IN_FILE, pa.repeat(pa.scalar(path, pa.string()), rows.num_rows))
