"""Which connections bootstrapped a client: those it opened before it knew the cluster, and asked about the cluster on.

A client is an address and a client id here. Its life begins anew when all its connections were gone.
"""

import pyarrow as pa

BOOTSTRAP_SCHEMA = pa.schema(
    [
        ("conn_id", pa.string()),
        ("client_ip", pa.string()),
        ("client_id", pa.string()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("asked_ns", pa.int64()),
        ("told_ns", pa.int64()),
        ("seen_from_start", pa.bool_()),
    ]
)
"""Per connection: first and last segment, first Metadata, FindCoordinator or DescribeCluster request, first
successful Metadata answer.
"""


def bootstrap_connections(connections: pa.Table) -> set[str]:
    """conn_ids of the connections that bootstrapped a client. connections: BOOTSTRAP_SCHEMA, in any order."""
    order = [(name, "ascending") for name in ("client_ip", "client_id", "first_ns", "conn_id")]
    found: set[str] = set()
    client, alive_until, told_ns = None, 0, None
    for row in connections.sort_by(order).to_pylist():
        key = (row["client_ip"], row["client_id"])
        if key != client or row["first_ns"] > alive_until:
            client, alive_until, told_ns = key, row["last_ns"], None
        alive_until = max(alive_until, row["last_ns"])
        if row["asked_ns"] is not None and row["seen_from_start"] and (told_ns is None or row["first_ns"] < told_ns):
            found.add(row["conn_id"])
        if row["told_ns"] is not None:
            told_ns = row["told_ns"] if told_ns is None else min(told_ns, row["told_ns"])
    return found
