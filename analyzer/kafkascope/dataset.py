"""`Dataset`: an open dataset: its tables, queries over them, and its report."""

from functools import cached_property
from os import PathLike
from types import TracebackType
from typing import Self

from kafkascope.rows import Rows, Table
from kafkascope_analyzer.dataset.dataset import Dataset as StoredDataset
from kafkascope_analyzer.report.model.clusters import ClusterReports, cluster_named, report_of
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import question


def open_dataset(uri: str | PathLike[str], cluster: str | None) -> "Dataset":
    """The dataset at a path or URI, or what it has of a cluster. Raises UsageError."""
    stored = StoredDataset.open(str(uri))
    return Dataset(stored if cluster is None else stored.of_cluster(cluster_named(stored, cluster)))


class Dataset:
    """A dataset, as it was when it was opened. `dataset["requests"]` is a table, or a view over tables.

    One thread at a time may use it.
    """

    def __init__(self, stored: StoredDataset) -> None:
        self._stored = stored

    def __repr__(self) -> str:
        return f"<kafkascope dataset {self}>"

    def __str__(self) -> str:
        return str(self._stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database that answers queries, where one was asked."""
        if "_database" in self.__dict__:
            self._database.close()
            del self._database

    @property
    def uri(self) -> str:
        """The URI of the dataset."""
        return self._stored.uri

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables, of its messages (`messages.Metadata_response`) and of the views over them."""
        return self._database.names

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of its clusters."""
        return self._stored.clusters

    def __getitem__(self, table: str) -> Table:
        """A table, messages or a view, by one of the names in `tables`. Raises UsageError, which names a table that is
        alike."""
        return Table(self._database, table)

    def sql(self, query: str) -> Rows:
        """The rows of one SELECT in DuckDB's SQL over `tables`. Raises UsageError."""
        return Rows(self._database, query)

    def question(self, name: str) -> Rows:
        """The rows of a saved question, which `kafkascope sql --list` lists. Raises UsageError."""
        return self.sql(question(name).text)

    @cached_property
    def report(self) -> Report | ClusterReports:
        """The content of report.json as typed objects; for a dataset with several clusters, the reports of each
        (`reports`). Raises UsageError where a table cannot be read."""
        return report_of(self._stored)

    @cached_property
    def _database(self) -> Database:
        return Database(self._stored)
