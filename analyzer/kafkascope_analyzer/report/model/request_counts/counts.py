"""`ReportTables`: the tables that sections of the report query, with counts of the requests.

The counts of a file of `requests` that a later run keeps are saved in the dataset (saved), so that the report of an
append counts only the requests of new files. The counts of all files are added up when a section asks for them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.kept_tables import KeptTables
from kafkascope_analyzer.dataset.manifest import COUNTS_FILE
from kafkascope_analyzer.dataset.parquet_files import DatasetFile
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.model.latency import OF_BROKERS_SQL
from kafkascope_analyzer.report.model.request_counts.count import Count
from kafkascope_analyzer.report.model.request_counts.saved import SavedCounts
from kafkascope_analyzer.report.model.request_counts.slots import Slots
from kafkascope_analyzer.sql.database import Database, WorkMemory


class ReportTables(Database):
    """The tables of a dataset, and counts of its requests. Arguments and errors as in Database."""

    def __init__(self, dataset: Dataset, tables: list[Table], memory: WorkMemory) -> None:
        super().__init__(dataset, tables=tables, memory=memory)
        self.counts = RequestCounts(self)


class RequestCounts:
    """The counts of a dataset's requests. database: the open tables of the dataset."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[str, str] = {}
        """Name of a count -> the table with its rows, as queries call it."""
        self._parts: dict[str, str] = {}
        """Path of a file, empty for those that no later run keeps -> the table with its requests."""

    @cached_property
    def slots(self) -> Slots:
        """Slots of the capture's time."""
        return Slots.of(self._database.dataset)

    @cached_property
    def saved(self) -> SavedCounts:
        """Counts that are saved, or may be."""
        return SavedCounts.of(self._database.dataset, self.slots)

    def of(self, count: Count) -> str:
        """Returns SQL for the table with keys and numbers of a count. Raises UsageError where the requests cannot be
        read."""
        name = f"request_counts_{count.name}"
        if name not in self._counted:
            self._database.add(name, self._rows(count))
            self._counted[name] = count.added(name) if self._kept else name
        return self._counted[name]

    def keep(self) -> None:
        """Leaves the counts of this run for the next one, if its dataset can take files (KeptTables)."""
        dataset = self._database.dataset
        if isinstance(dataset, KeptTables) and (content := self.saved.content()) is not None:
            dataset.for_next_run[COUNTS_FILE] = content

    @cached_property
    def _kept(self) -> tuple[DatasetFile, ...]:
        """Files of requests that a later run may keep; none where only some of their rows are read."""
        if self._database.dataset.selection(REQUESTS.name) is not None:
            return ()
        return tuple(file for file in self._database.dataset.manifest.files.get(REQUESTS.name, ()) if file.made_of)

    def _rows(self, count: Count) -> pa.Table:
        """Returns the rows of a count, by file."""
        if not self._kept:
            return self._counted_in(count, REQUESTS.name)
        states = {file.path: self._state(count, file) for file in self._kept}
        rows, known = self.saved.found(count, states)
        parts = [rows]
        for file in self._kept:
            if file.path not in known:
                parts.append(self._counted_in(count, self._part(file.path, [file])))
                self.saved.note(count, file.path, states[file.path], parts[-1])
        rest = [file for file in self._database.dataset.manifest.files[REQUESTS.name] if not file.made_of]
        if rest:
            parts.append(self._counted_in(count, self._part("", rest)))
        return pa.concat_tables(parts)

    def _counted_in(self, count: Count, requests: str) -> pa.Table:
        """Returns the rows of a count of the requests in a table."""
        query = count.query.format(requests=requests, slot=self.slots.counted_sql)
        schema, *batches = self._database.arrow(query)
        return pa.Table.from_batches(batches, schema).select(count.schema.names).cast(count.schema)

    def _part(self, path: str, files: Sequence[DatasetFile]) -> str:
        """Returns the name of the table with only the requests of these files. path: name of the part."""
        if path not in self._parts:
            name, manifest = f"{REQUESTS.name}_{len(self._parts)}", self._database.dataset.manifest
            part = manifest.with_files({**manifest.files, REQUESTS.name: tuple(files)})
            self._database.add(name, replace(self._database.dataset, manifest=part).arrow(REQUESTS))
            self._parts[path] = name
        return self._parts[path]

    def _state(self, count: Count, file: DatasetFile) -> str:
        """Returns a text that changes if the count of a file may change although its rows do not: if other connections
        that began before its last request are those of brokers."""
        if not count.of_clients:
            return ""
        conn_ids = sorted(i for i, first_ns in self._of_brokers if file.times is None or first_ns <= file.times[1])
        return hashlib.sha256("".join(conn_ids).encode()).hexdigest()[:16]

    @cached_property
    def _of_brokers(self) -> list[tuple[str, int]]:
        """Connections of brokers, each with the time of its first packet."""
        return [(str(conn_id), int(first_ns)) for conn_id, first_ns in self._database.query(OF_BROKERS_SQL)[1]]
