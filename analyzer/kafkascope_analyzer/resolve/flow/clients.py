"""Finds the group that reads on each connection. A client is a member of a group if it commits, joins or sends
heartbeats for that group on its connections to the coordinator.

Each bucket has spilled the client ids of connections that fetch, and of connections with requests for a group
(scan.group_clients). Between the passes both are joined by the address and client id of the client.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.group_clients import CONSUMERS, GROUP_CLIENTS
from kafkascope_analyzer.scan.spill import read_spill


def readers(connections: Mapping[Path, pa.Table]) -> NDArray[np.int64]:
    """Returns a number for the reader on each connection of all buckets, one bucket after the other. All members of a
    group have the same number; each connection of a client that has no group, or several, has its own. The number is
    that of the reader's first connection (conn_keys). connections: with client_ip, by the directory of a bucket's
    spill."""
    groups: dict[tuple[str, str], set[str]] = {}
    for spill, known in connections.items():
        for ip, client_id, group in _clients(spill, GROUP_CLIENTS, known):
            groups.setdefault((ip, client_id), set()).add(group)
    keys = [conn_keys(np.arange(known.num_rows), k, len(connections)) for k, known in enumerate(connections.values())]
    members: dict[str, list[tuple[int, int]]] = {}
    for number, (spill, known) in enumerate(connections.items()):
        for rows in read_spill(spill, CONSUMERS):
            ips = known["client_ip"].take(rows["conn"]).fill_null("").to_pylist()
            ids = rows["client_id"].fill_null("").to_pylist()
            for conn, client in zip(rows["conn"].to_pylist(), zip(ips, ids, strict=True), strict=True):
                if len(groups.get(client, ())) == 1:
                    members.setdefault(next(iter(groups[client])), []).append((number, conn))
    for conns in members.values():
        first = min(int(keys[number][conn]) for number, conn in conns)
        for number, conn in conns:
            keys[number][conn] = first
    return np.concatenate([np.empty(0, np.int64), *keys])


def conn_keys(conn: NDArray[np.int64], bucket: int, n_buckets: int) -> NDArray[np.int64]:
    """Returns numbers of connections of all buckets that do not change when connections are added. conn: numbers in the
    bucket of number `bucket`, of n_buckets."""
    return conn * n_buckets + bucket


def _clients(spill: Path, name: str, known: pa.Table) -> list[tuple[str, str, str]]:
    """Returns address, client id and group of each client of a bucket."""
    found: set[tuple[str, str, str]] = set()
    for rows in read_spill(spill, name):
        ips = pc.fill_null(known["client_ip"].take(rows["conn"]), "")
        columns = {"ip": ips, "client_id": rows["client_id"].fill_null(""), "group_id": rows["group_id"]}
        clients = pa.table(columns).group_by(list(columns), use_threads=False).aggregate([])
        found |= set(zip(*(clients[name].to_pylist() for name in columns), strict=True))
    return sorted(found)
