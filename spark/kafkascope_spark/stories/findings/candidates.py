"""`Candidates`: a test of the rows of a detector's reads before its query, which saves Spark queries that find
nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_spark.stories.findings.conditions import count
from kafkascope_spark.stories.findings.read import Groups, Read, source_columns

Tables = Mapping[str, pa.Table]
"""Columns of the rows or groups that a read selects, by the name of the read."""
COUNT = count()
N_ROWS = str(COUNT)
"""Name of the column with the number of rows of a group, which is also the expression for the condition of a read."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """A test of the rows that a detector reads."""

    columns: Mapping[str, tuple[str, ...]]
    """The columns that the test needs, by the name of the read."""
    exist: Callable[[Tables], bool]
    """Returns whether there can be a finding. Called only if each read has rows."""
    then: "Candidates | None" = None
    """A more exact test, for which more rows are read; only if this test holds."""

    def check(self, reads: Mapping[str, Read]) -> None:
        """Raises TypeError if the detector's reads lack one of the columns."""
        for name, columns in self.columns.items():
            read = reads.get(name)
            if read is None:
                raise TypeError(f"candidates read {name}, which their detector does not")
            known = read.group_columns() if isinstance(read, Groups) else source_columns(read.source)
            missing = sorted(set(columns).difference(known))
            if missing:
                raise TypeError(f"candidates need of {name} the columns {missing}, which it does not have")
        if self.then is not None:
            self.then.check(reads)


def rows_of(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of these columns."""
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def with_client(rows: pa.Table, clients: pa.Table) -> pa.Table:
    """Returns the rows whose conn_id belongs to a client, with its client_instance_id. clients: table with
    client_instance_id and conn_ids."""
    owners = [
        (conn, client) for client, conns in rows_of(clients, "client_instance_id", "conn_ids") for conn in conns or ()
    ]
    conn_ids, client_ids = zip(*owners, strict=True) if owners else ((), ())
    owned = pa.table(
        {"conn_id": pa.array(conn_ids, pa.string()), "client_instance_id": pa.array(client_ids, pa.string())}
    )
    return rows.join(owned, "conn_id", join_type="inner", use_threads=False)


def most_rows(groups: pa.Table, connections: pa.Table, *per: str) -> int:
    """Returns the largest total number of rows of groups with the same values of `per`. groups: table with conn_id and
    N_ROWS; groups of connections that are not in `connections` do not count; per: columns of either table."""
    known = groups.join(connections, "conn_id", join_type="inner", use_threads=False)
    sums = known.group_by(list(per), use_threads=False).aggregate([(N_ROWS, "sum")])
    return int(pc.max(sums.column(f"{N_ROWS}_sum")).as_py() or 0)
