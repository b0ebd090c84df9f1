"""Rows of `clusters`."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.dictionary import ServerEndpoints
from kafkascope_analyzer.dataset.tables import CLUSTERS
from kafkascope_analyzer.dataset.timestamps import microseconds
from kafkascope_analyzer.resolve.cluster.membership import BY_ID, ClusterName, Membership, address_order, address_text
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.framing.layout import KAFKA, TLS

_COLUMNS = ["client_ip", "server_ip", "server_port", "protocol", "first_ns", "last_ns"]


@dataclass(frozen=True, slots=True)
class _Row:
    cluster: str
    cluster_id: str | None
    known_by: str
    servers: list[str]
    n_clients: int
    n_connections: int
    first_ns: int | None
    last_ns: int | None

    @classmethod
    def of(cls, named: ClusterName, connections: pa.Table) -> "_Row":
        """Returns the row of a cluster with these connections."""
        broker = connections.filter(pc.is_in(connections["protocol"], pa.array([KAFKA, TLS], pa.int8())))
        return cls(
            named.name,
            named.name if named.known_by == BY_ID else None,
            named.known_by,
            [address_text(end) for end in sorted(ServerEndpoints(broker).distinct, key=address_order)],
            pc.count_distinct(connections["client_ip"]).as_py(),
            connections.num_rows,
            pc.min(connections["first_ns"]).as_py(),
            pc.max(connections["last_ns"]).as_py(),
        )


def clusters_table(membership: Membership) -> pa.Table:
    """Returns one row for each cluster, from the spilled connections of all buckets."""
    spills = membership.of_connection
    found = [rows for spill in spills for rows in read_spill(spill, "connections", _COLUMNS)]
    if not found:
        return _table(())
    connections = pa.concat_tables(found).combine_chunks()
    numbers = np.concatenate(list(spills.values()))
    parts = (connections.filter(pa.array(numbers == number)) for number in range(len(membership.clusters)))
    return _table(map(_Row.of, membership.clusters, parts))


def _table(rows: Iterable[_Row]) -> pa.Table:
    names = [field.name for field in fields(_Row)]
    values = zip(*map(astuple, rows), strict=True)
    columns = dict(zip(names, map(list, values), strict=False))
    arrays = {name: pa.array(columns.get(name, []), CLUSTERS.schema.field(name).type) for name in names}
    arrays |= {"first_ts": microseconds(arrays["first_ns"]), "last_ts": microseconds(arrays["last_ns"])}
    return pa.table([arrays[name] for name in CLUSTERS.schema.names], CLUSTERS.schema)
