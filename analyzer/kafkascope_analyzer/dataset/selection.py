"""Chooses the rows of a dataset's tables that are read: those of one cluster, and of these the ones that concern a
restriction."""

from typing import TYPE_CHECKING, Any, Protocol

from kafkascope_analyzer.dataset.concerned import Concerned, Tables, values_of
from kafkascope_analyzer.dataset.contract import CLUSTER
from kafkascope_analyzer.dataset.manifest import STORIES
from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_analyzer.dataset.tables import CONNECTIONS, INGEST_TABLES
from kafkascope_analyzer.dataset.tables.columns import CONN

if TYPE_CHECKING:
    import pyarrow as pa

_INGEST_TABLES = {table.name: table for table in INGEST_TABLES}


class Selectable(Protocol):
    """The parts of a dataset that a selection needs to look up ids of connections and names."""

    @property
    def whole(self) -> Tables:
        """The tables with all of their rows."""

    @property
    def unrestricted(self) -> Tables:
        """The tables with all rows of the cluster."""


class Selection:
    """The rows of one cluster, or of all where cluster is None, that concern a restriction; restriction: None for all
    of them.

    The results of look-ups are kept: the ids of the cluster's connections, and those that concern the restriction.
    """

    def __init__(self, cluster: str | None = None) -> None:
        self.cluster = cluster
        self.restriction: Restriction | None = None
        self.unrestricted = self
        """Returns this selection without its restriction."""
        self._connections: pa.Array | None = None
        self._concerned: Concerned | None = None

    def concerning(self, restriction: Restriction) -> "Selection":
        """Returns this selection with another restriction."""
        if restriction.is_empty:
            return self.unrestricted
        found = Selection(self.cluster)
        found.restriction, found.unrestricted = restriction, self.unrestricted
        return found

    def condition(self, dataset: Selectable, table: str) -> Any:
        """Returns the pyarrow expression for the rows of a table; None where all are read. dataset: the dataset with
        this selection. Raises UsageError."""
        if self.restriction is None:
            return self._of_cluster(dataset, table)
        if self._concerned is None:
            self._concerned = Concerned(dataset.unrestricted, self.restriction)
        of_cluster, concerned = self.unrestricted.condition(dataset, table), self._concerned.condition(table)
        return of_cluster if concerned is None else concerned if of_cluster is None else of_cluster & concerned

    def _of_cluster(self, dataset: Selectable, table: str) -> Any:
        import pyarrow as pa
        import pyarrow.dataset as ds

        column = None if self.cluster is None else cluster_column(table)
        if column is None:
            return None
        if column == CLUSTER.name:
            return ds.field(column).isin(pa.array([self.cluster]))
        if self._connections is None:
            only = self._of_cluster(dataset, CONNECTIONS.name)
            self._connections = values_of(dataset.whole, CONNECTIONS.name, CONN.name, only)
        return ds.field(column).isin(self._connections)


def cluster_column(table: str) -> str | None:
    """Returns the column that determines the cluster of a row: the cluster, or the connection where the table has no
    cluster, as with messages; None for a table whose rows belong to no cluster."""
    if table.startswith(f"{STORIES}/"):
        return CLUSTER.name
    names = _INGEST_TABLES[table].schema.names if table in _INGEST_TABLES else [CONN.name]
    return next((column.name for column in (CLUSTER, CONN) if column.name in names), None)
