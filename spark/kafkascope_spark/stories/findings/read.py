"""`Read`: the rows of a table that a detector's query selects from, and from which its precondition follows."""

import re
from dataclasses import dataclass

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables.events import KINDS

_NESTED = re.compile(r"<.*>")


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of one kind, as `JoinGroup/request`."""

    name: str
    columns: str
    """The fields that queries use, as a Spark DDL."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one kind, as `usage`: the fields of the kind's struct, and conn_id."""

    kind: str


Source = Table | Messages | Events
"""Where rows come from."""


@dataclass(frozen=True, slots=True)
class Read:
    """Rows of a table, or groups of them.

    The predicates are evaluated by Spark in the query and by DuckDB in the precondition (preconditions.py), so they use
    only SQL that means the same in both: comparisons, in, like, coalesce, contains, and the macros defined there.
    """

    source: Source
    where: str = "true"
    """A predicate on a row."""
    per: str = ""
    """Columns by which the selected rows are grouped, comma-separated; empty: they are not."""
    aggregates: str = ""
    """What is selected of each group besides its columns, comma-separated (Spark SQL)."""
    having: str = ""
    """A predicate on a group; without `per`, on all selected rows together, which the query has to check itself."""

    def query(self, table: str) -> str:
        """The Spark SQL that selects the rows or groups. table: the name of the source in the statement."""
        if not self.per:
            return f"select * from {table} where {self.where}"
        columns = f"{self.per}, {self.aggregates}" if self.aggregates else self.per
        return f"select {columns} from {table} where {self.where} group by {self.per} having {self.having or 'true'}"


def source_columns(source: Source) -> list[str]:
    """The names of the columns of a table, of the fields of messages that queries use, or of events of a kind."""
    if isinstance(source, Table):
        return list(source.schema.names)
    if isinstance(source, Events):
        return ["conn_id", *KINDS[source.kind].names]
    return re.findall(r"(?:^|, )(\w+) ", _NESTED.sub("", source.columns))
